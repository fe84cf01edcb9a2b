-- Spark and Hive put the text of a variable in place of its name: quote it.
CREATE TEMPORARY VIEW orders AS SELECT 1 AS id, 10 AS amount UNION ALL SELECT 2, 32;
SELECT '${day}' AS day, sum(amount) AS total FROM orders;

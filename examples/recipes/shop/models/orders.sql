SELECT 1 AS id, 'Lima' AS city, 10 AS amount UNION ALL SELECT 2, 'Oslo', 32

CREATE TABLE IF NOT EXISTS event AS
WITH RECURSIVE moment (at) AS (
    SELECT datetime('2026-03-28') UNION ALL
    SELECT CASE at WHEN '2026-03-30 23:50:00' THEN datetime('2026-10-24') ELSE datetime(at, '+10 minutes') END
    FROM moment WHERE at < '2026-10-26 23:50:00'
)
SELECT at, abs(random() % 1000) AS cents FROM moment

WITH wanted AS (
    SELECT at FROM event
    WHERE (at >= '2026-03-28 22:00' AND at < '2026-03-29 21:00') OR (at >= '2026-10-24 21:00' AND at < '2026-10-25 22:00')
)
SELECT (SELECT count(*) FROM hour) AS hours, (SELECT sum(events) FROM hour) AS events,
       (SELECT count(*) FROM wanted WHERE at NOT IN (SELECT at FROM loaded)) AS missing,
       (SELECT count(*) - count(DISTINCT at) FROM loaded) AS twice

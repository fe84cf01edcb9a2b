INSERT OR REPLACE INTO hour
SELECT datetime(${since}), datetime(${until}), count(*), coalesce(sum(cents), 0)
FROM loaded WHERE at >= datetime(${since}) AND at < datetime(${until})

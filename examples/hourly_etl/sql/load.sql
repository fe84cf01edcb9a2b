DELETE FROM loaded WHERE at >= datetime(${since}) AND at < datetime(${until});
INSERT INTO loaded SELECT at, cents FROM event WHERE at >= datetime(${since}) AND at < datetime(${until})

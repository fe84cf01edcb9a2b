CREATE TABLE IF NOT EXISTS loaded (at text, cents integer);
CREATE TABLE IF NOT EXISTS hour (since text PRIMARY KEY, until text, events integer, cents integer)

-- What testing from outside found: nothing that one row, one node or one person does stops the others.

-- The times of a cluster are one truth: a node whose settings name others does not start.
CREATE TABLE cluster (
    only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),
    timing   jsonb CHECK (jsonb_typeof(timing) = 'object')
);
COMMENT ON TABLE cluster IS 'One row: what is the same for all nodes. Read when a node starts, never while it works.';
COMMENT ON COLUMN cluster.timing IS 'Seconds by name: the times by which all nodes live (docs/settings.md). Null before the first node; changed by shoal db timing.';
INSERT INTO cluster DEFAULT VALUES;

-- old nodes: may run
-- Schedules that a workflow's file lists are told apart from those that people added.
ALTER TABLE schedule ADD COLUMN from_file boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN schedule.from_file IS 'Whether the workflow''s file lists it: shoal workflow apply changes and removes those, and no others.';
INSERT INTO schema_version (version, name, old_nodes_may_run) VALUES (6, 'schedules_of_files', true);

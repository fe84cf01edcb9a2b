-- old nodes: may run
-- Schedules that a workflow's file lists are told apart from those that people added.
ALTER TABLE schedule ADD COLUMN from_file boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN schedule.from_file IS 'Whether the workflow''s file lists it: shoal workflow apply changes and removes those, and no others.';
-- The words of the glossary. Triggers of one event run in the order of their names, and this one keeps its place.
ALTER FUNCTION reckon_schedule_anew() RENAME TO compute_schedule_again;
ALTER TRIGGER schedule_is_reckoned_anew ON schedule RENAME TO schedule_is_computed_again;
COMMENT ON COLUMN schedule.next_fire_at IS 'The fire time that comes next; null = not computed yet (a new or changed row), or there is a problem.';
COMMENT ON COLUMN schedule.problem IS 'Why it does not fire any more (a broken crontab or zone, no time left), in a sentence; null = it does.';
COMMENT ON COLUMN command.time_zone IS 'In which time expressions are computed; null = that of the workflow.';
INSERT INTO schema_version (version, name, old_nodes_may_run) VALUES (6, 'schedules_of_files', true);

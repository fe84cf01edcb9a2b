-- old nodes: may run
-- The runs of a workflow that was deleted are kept for as long as the others of its project.
CREATE TABLE deleted_workflow (
    code       bigint PRIMARY KEY,
    project    text NOT NULL,
    name       text NOT NULL,
    deleted_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
COMMENT ON TABLE deleted_workflow IS 'Of which project a workflow was that is deleted: its runs are kept for as long as the others of that project. Written by a trigger.';

CREATE FUNCTION remember_workflow() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    INSERT INTO deleted_workflow (code, project, name) VALUES (OLD.code, OLD.project, OLD.name)
    ON CONFLICT (code) DO UPDATE
        SET project = excluded.project, name = excluded.name, deleted_at = excluded.deleted_at;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION remember_workflow() FROM PUBLIC;
-- It writes only the table of this schema, whatever the caller has made in others.
DO $$ BEGIN EXECUTE format('ALTER FUNCTION remember_workflow() SET search_path TO %I, pg_temp', current_schema()); END $$;
CREATE TRIGGER workflow_definition_is_remembered AFTER DELETE ON workflow_definition FOR EACH ROW
    WHEN (NOT OLD.is_trial) EXECUTE FUNCTION remember_workflow();

INSERT INTO schema_version (version, name, old_nodes_may_run) VALUES (24, 'deleted_workflows', true);

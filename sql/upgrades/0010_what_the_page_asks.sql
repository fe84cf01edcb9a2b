-- old nodes: may run
-- What the web page asks for: receipts of failovers, saved views, trials of tasks.
-- The index first, since it takes long in a long history: only commands wait meanwhile, and no worker. It may be made
-- before, with CREATE INDEX CONCURRENTLY: docs/cluster.md, "Upgrades".
LOCK TABLE command_history IN SHARE MODE;
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_index WHERE NOT indisvalid AND indrelid = 'command_history'::regclass) THEN
        RAISE EXCEPTION 'CREATE INDEX CONCURRENTLY did not finish an index of command_history; drop it and make it again';
    END IF;
END $$;
CREATE INDEX IF NOT EXISTS command_history_recover ON command_history (handled_at)
    WHERE type = 'RECOVER_TOLERANCE_FAULT_PROCESS';

CREATE TABLE saved_view (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY CHECK (id > 0),
    person     text NOT NULL CHECK (person <> ''),
    project    text CHECK (project <> ''),
    list       text NOT NULL CHECK (list <> ''),
    name       text NOT NULL CHECK (name <> ''),
    query      jsonb NOT NULL CHECK (jsonb_typeof(query) = 'object'),
    revision   integer NOT NULL DEFAULT 1 CHECK (revision > 0),
    created_by text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT saved_view_size CHECK (octet_length(query::text) <= 16384)
);
COMMENT ON TABLE saved_view IS 'A named filter of a list of the web page: what a person wants to see again.';
COMMENT ON COLUMN saved_view.person IS 'Who made it: the key of a caller, as in workflow_draft.';
COMMENT ON COLUMN saved_view.project IS 'Whose members see it too; null = only who made it.';
COMMENT ON COLUMN saved_view.list IS 'Of which list, such as workflow-instances.';
COMMENT ON COLUMN saved_view.query IS 'Names of filters and their values, as they stand in an address.';
COMMENT ON COLUMN saved_view.revision IS 'One more with each change: who changes it names the one that he saw.';
-- Statements: the views of a person, and those of a project; no two of one name.
CREATE UNIQUE INDEX saved_view_own ON saved_view (person, list, name) WHERE project IS NULL;
CREATE UNIQUE INDEX saved_view_shared ON saved_view (project, list, name) WHERE project IS NOT NULL;

-- Last, since all that starts a run waits for it.
ALTER TABLE workflow_definition ADD COLUMN is_trial boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN workflow_definition.is_trial IS 'Made to try one task: in no list of workflows, and deleted soon after its run has ended.';
-- Statements: those of a project; those that are old.
CREATE INDEX workflow_definition_trial ON workflow_definition (project, created_at) WHERE is_trial;

INSERT INTO schema_version (version, name, old_nodes_may_run) VALUES (10, 'what_the_page_asks', true);

-- old nodes: may run
-- What people watch and edit: the progress of tasks, drafts, layouts, slot changes, who asked what of a run.
-- First, since it may take long in a long history: only commands wait meanwhile, and no worker.
ALTER TABLE command_history ADD COLUMN created_by text;
COMMENT ON COLUMN command_history.created_by IS 'Who asked for it; null = written before that was recorded.';
CREATE INDEX command_history_run ON command_history (workflow_instance_id)
    WHERE type NOT IN ('START_PROCESS', 'SCHEDULER', 'COMPLEMENT_DATA', 'START_CURRENT_TASK_PROCESS');
ALTER TABLE task_instance
    ADD COLUMN progress_done double precision,
    ADD COLUMN progress_total double precision,
    ADD COLUMN progress_text text,
    ADD COLUMN progress_at timestamptz;
COMMENT ON COLUMN task_instance.progress_done IS 'What the task itself reported last: this much of progress_total, or percent if that is null. Null = nothing.';
COMMENT ON COLUMN task_instance.progress_at IS 'When that was written.';

CREATE TABLE workflow_draft (
    person       text NOT NULL CHECK (person <> ''),
    project      text NOT NULL CHECK (project <> ''),
    name         text NOT NULL CHECK (name <> ''),
    content      text NOT NULL CONSTRAINT workflow_draft_size CHECK (octet_length(content) <= 1048576),
    base_version integer CHECK (base_version > 0),
    revision     integer NOT NULL DEFAULT 1 CHECK (revision > 0),
    created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (person, project, name)
);
COMMENT ON TABLE workflow_draft IS 'What a person has written of a workflow and not published: nothing runs it.';
COMMENT ON COLUMN workflow_draft.content IS 'YAML, as in a file (docs/workflows.md); it need not be right until it is published.';
COMMENT ON COLUMN workflow_draft.base_version IS 'The version from which it began; null = there was no such workflow.';
COMMENT ON COLUMN workflow_draft.revision IS 'One more with each change: who changes it names the one that he saw.';

ALTER TABLE workflow_version ADD COLUMN layout jsonb CHECK (jsonb_typeof(layout) = 'object');
COMMENT ON TABLE workflow_version IS 'The content of one version of a workflow. Never changes once written, its layout excepted.';
COMMENT ON COLUMN workflow_version.layout IS 'Where its tasks and notes stand on a canvas: no part of its meaning, so a change of it makes no version.';
CREATE OR REPLACE TRIGGER workflow_version_is_immutable BEFORE UPDATE OF workflow_code, version, spec, created_at, created_by ON workflow_version
    FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TABLE slot_change (
    number  bigint PRIMARY KEY CHECK (number > 0),
    at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    members jsonb NOT NULL CHECK (jsonb_typeof(members) = 'array'),
    changes jsonb NOT NULL CHECK (jsonb_typeof(changes) = 'array')
);
COMMENT ON TABLE slot_change IS 'How the masters with slots changed in the last 24 hours, once for all of them. No master reads it to decide.';
COMMENT ON COLUMN slot_change.members IS 'Who has a slot from then on, first slot first: epoch, name, slot.';
COMMENT ON COLUMN slot_change.changes IS 'Who came or went: epoch, name and reason, JOINED, BACK, LEFT, FENCED or BUSY.';
CREATE INDEX slot_change_at ON slot_change (at);

INSERT INTO schema_version (version, name, old_nodes_may_run) VALUES (8, 'what_people_watch', true);

-- old nodes: may run
-- The YAML of a version as it was written, so that its comments survive. Old programs leave it null.
ALTER TABLE workflow_version ADD COLUMN source_text text;
COMMENT ON COLUMN workflow_version.source_text IS 'Its YAML as it was written, with comments; its secrets sealed. Shown where it is read as the same spec; null = YAML is made from the spec.';
COMMENT ON TABLE workflow_version IS 'The content of one version of a workflow. Never changes once written, its layout and its text excepted.';

INSERT INTO schema_version (version, name, old_nodes_may_run) VALUES (13, 'text_of_a_version', true);

-- old nodes: may run
-- STUB: replaced by the upgrade that adds users.
INSERT INTO schema_version (version, name, old_nodes_may_run) VALUES (7, 'users', true);

-- old nodes: may run
-- Runs join the trace of the request that started them. A master of the former version makes runs that join none.
ALTER TABLE command ADD COLUMN traceparent text;
COMMENT ON COLUMN command.traceparent IS 'W3C trace context of who asked: the run that it starts is part of that trace. Null, or no trace context: the run has a trace of its own.';
ALTER TABLE error_command ADD COLUMN traceparent text;
ALTER TABLE workflow_instance ADD COLUMN traceparent text;
COMMENT ON COLUMN workflow_instance.traceparent IS 'That of the command that started it; null = it has a trace of its own.';

INSERT INTO schema_version (version, name, old_nodes_may_run) VALUES (20, 'traces', true);

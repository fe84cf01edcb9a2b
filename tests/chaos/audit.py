"""The database's own record of every write of a run of chaos: a witness that no node can influence.

Sessions of a node are named after it (`shoal-master-17`), so a trigger can tell who writes, whether that node was
already fenced, and whether the transaction held the node's row, its licence to write. The origins of commands of
schedules and sub-workflows are kept too: their own rows are deleted when they are handled.
"""

from __future__ import annotations

import psycopg

_KEPT = """
CREATE SCHEMA chaos;

CREATE TABLE chaos.change (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind       text NOT NULL,
    row_id     bigint NOT NULL,
    workflow   bigint,
    before     text,
    after      text NOT NULL,
    epoch      bigint,
    node_state text,
    at         timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE TABLE chaos.fire (schedule_id bigint NOT NULL, schedule_time timestamptz NOT NULL);
CREATE TABLE chaos.child_command (command_id bigint PRIMARY KEY);
CREATE TABLE chaos.unlicensed (
    table_name text NOT NULL,
    operation  text NOT NULL,
    epoch      bigint NOT NULL,
    statement  text NOT NULL,
    at         timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE FUNCTION chaos.writer() RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT substring(current_setting('application_name') FROM '^shoal-(?:master|worker)-(\\d+)$')::bigint
$$;
CREATE FUNCTION chaos.keep_instance() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO chaos.change (kind, row_id, workflow, before, after, epoch, node_state)
    VALUES ('workflow', NEW.id, NEW.workflow_code, CASE WHEN TG_OP = 'UPDATE' THEN OLD.state END, NEW.state,
            chaos.writer(), (SELECT state FROM public.node WHERE id = chaos.writer()));
    RETURN NULL;
END $$;
CREATE FUNCTION chaos.keep_task() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO chaos.change (kind, row_id, before, after, epoch, node_state)
    VALUES ('task', NEW.id, CASE WHEN TG_OP = 'UPDATE' THEN OLD.state END, NEW.state,
            chaos.writer(), (SELECT state FROM public.node WHERE id = chaos.writer()));
    RETURN NULL;
END $$;
CREATE FUNCTION chaos.keep_command() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO chaos.change (kind, row_id, workflow, after, epoch, node_state)
    VALUES ('command', NEW.command_id, NEW.workflow_instance_id, NEW.outcome,
            chaos.writer(), (SELECT state FROM public.node WHERE id = chaos.writer()));
    RETURN NULL;
END $$;
CREATE FUNCTION chaos.keep_fire() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO chaos.fire VALUES (NEW.schedule_id, NEW.schedule_time);
    RETURN NULL;
END $$;
CREATE FUNCTION chaos.keep_child_command() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO chaos.child_command VALUES (NEW.id);
    RETURN NULL;
END $$;
-- Who locks a row stands in its xmax: a transaction, or a list of several ("multixact") with what each holds. Who ended
-- its own life in this transaction stands in xmin.
CREATE FUNCTION chaos.is_licensed(of_node bigint) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    writer xid;
    locker xid;
BEGIN
    SELECT xmin, xmax INTO writer, locker FROM public.node WHERE id = of_node;
    IF pg_current_xact_id()::xid IN (writer, locker) THEN
        RETURN true;
    END IF;
    RETURN EXISTS (SELECT FROM pg_get_multixact_members(locker) m WHERE m.xid = pg_current_xact_id()::xid);
EXCEPTION WHEN OTHERS THEN
    RETURN false;  -- no list of that number: one transaction, and not this one
END $$;
CREATE FUNCTION chaos.ask_for_licence() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF chaos.writer() IS NOT NULL AND NOT chaos.is_licensed(chaos.writer()) THEN
        INSERT INTO chaos.unlicensed (table_name, operation, epoch, statement)
        VALUES (TG_TABLE_NAME, TG_OP, chaos.writer(), current_query());
    END IF;
    RETURN NULL;
END $$;
DO $$
DECLARE
    name text;
BEGIN
    -- Beats and the row of a node itself are compare-and-set on their own: whoever is fenced hits none.
    FOR name IN SELECT tablename FROM pg_tables
                WHERE schemaname = 'public' AND tablename NOT IN ('node', 'node_beat', 'registry_lease') LOOP
        EXECUTE format('CREATE TRIGGER chaos_asks BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON public.%I '
                       'FOR EACH STATEMENT EXECUTE FUNCTION chaos.ask_for_licence()', name);
    END LOOP;
END $$;
CREATE TRIGGER chaos_keeps AFTER INSERT OR UPDATE ON workflow_instance
    FOR EACH ROW EXECUTE FUNCTION chaos.keep_instance();
CREATE TRIGGER chaos_keeps AFTER INSERT OR UPDATE ON task_instance FOR EACH ROW EXECUTE FUNCTION chaos.keep_task();
CREATE TRIGGER chaos_keeps AFTER INSERT ON command_history FOR EACH ROW EXECUTE FUNCTION chaos.keep_command();
CREATE TRIGGER chaos_keeps_fires AFTER INSERT ON command FOR EACH ROW WHEN (NEW.type = 'SCHEDULER')
    EXECUTE FUNCTION chaos.keep_fire();
CREATE TRIGGER chaos_keeps_children AFTER INSERT ON command FOR EACH ROW WHEN (NEW.parent IS NOT NULL)
    EXECUTE FUNCTION chaos.keep_child_command();
"""


def install(connection: psycopg.Connection[tuple[object, ...]]) -> None:
    """Have the database keep all that from now on."""
    connection.execute(_KEPT)

-- old nodes: may run
-- Resource pools. A worker of the former version cannot begin a task that needs resources, and a master of the former version
-- refuses a workflow with such a task: write it into one when all nodes are new.
-- Of a large history make the columns and the index of task_instance before: docs/cluster.md, "Upgrades".
LOCK TABLE task_instance IN ACCESS EXCLUSIVE MODE;
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_index WHERE NOT indisvalid AND indrelid = 'task_instance'::regclass) THEN
        RAISE EXCEPTION 'CREATE INDEX CONCURRENTLY did not finish an index of task_instance; drop it and make it again';
    END IF;
END $$;
ALTER TABLE task_instance ADD COLUMN IF NOT EXISTS is_plain boolean NOT NULL DEFAULT true;
ALTER TABLE task_instance ADD COLUMN resources jsonb;
COMMENT ON COLUMN task_instance.is_plain IS 'false = the claim of what needs nothing but a place passes it by, since something else decides when it may begin.';
COMMENT ON COLUMN task_instance.resources IS 'JSON object: the resource pools of which it needs resources, and how many of each; null = of none.';
-- Also found by the claim of former workers, which has to sort then.
CREATE INDEX IF NOT EXISTS task_instance_queued ON task_instance (worker_group, is_plain, workflow_priority, workflow_instance_id, task_priority, id)
    WHERE state = 'QUEUED';
DROP INDEX task_instance_queue;
ALTER INDEX task_instance_queued RENAME TO task_instance_queue;

CREATE TABLE resource_pool (
    code           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY CHECK (code > 0),
    name           text NOT NULL CONSTRAINT resource_pool_name UNIQUE CHECK (name <> ''),
    description    text NOT NULL DEFAULT '',
    counted        integer CHECK (counted >= 0),
    validity_check jsonb CONSTRAINT resource_pool_check CHECK (
        jsonb_typeof(validity_check) = 'object' AND coalesce(jsonb_typeof(validity_check -> 'every_s'), 'number') = 'number'
        AND coalesce(jsonb_typeof(validity_check -> 'timeout_s'), 'number') = 'number'),
    version        integer NOT NULL DEFAULT 1 CHECK (version > 0),
    changed_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
    changed_by     text NOT NULL DEFAULT session_user
);
-- A task finds what it holds in a variable: two pools must not have the same.
CREATE UNIQUE INDEX resource_pool_variable ON resource_pool (upper(regexp_replace(name, '[^A-Za-z0-9]', '_', 'g') COLLATE "C"));
COMMENT ON TABLE resource_pool IS 'A set of scarce things, of which a running attempt holds some (docs/pools.md). Whoever gives out of it holds its row.';
COMMENT ON COLUMN resource_pool.counted IS 'Of a pool that is only a number: how many it has, whose names are 1, 2, 3 ...; null = they have names of their own.';
COMMENT ON COLUMN resource_pool.validity_check IS 'JSON object: url or script, timeout_s and every_s: how a resource is checked before it is given; null = not at all.';
COMMENT ON COLUMN resource_pool.version IS 'Raised by each change: whoever changes it says which version was seen.';

CREATE TABLE pool_resource (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY CHECK (id > 0),
    pool_code       bigint NOT NULL REFERENCES resource_pool (code),
    name            text NOT NULL CHECK (name <> ''),
    data            jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(data) = 'object'),
    place           integer NOT NULL DEFAULT 0,
    removed         boolean NOT NULL DEFAULT false,
    task_instance_id bigint,
    worker_id       bigint,
    taken_at        timestamptz,
    free_since      timestamptz NOT NULL DEFAULT '-infinity',
    set_aside_at    timestamptz,
    set_aside_why   text,
    set_aside_by    text,
    checked_at      timestamptz,
    checking_by     bigint,
    checking_since  timestamptz,
    CONSTRAINT pool_resource_name UNIQUE (pool_code, name),
    CONSTRAINT pool_resource_holder CHECK ((task_instance_id IS NULL) = (worker_id IS NULL) AND (task_instance_id IS NULL) = (taken_at IS NULL)),
    CONSTRAINT pool_resource_checker CHECK ((checking_by IS NULL) = (checking_since IS NULL) AND (checking_by IS NULL OR task_instance_id IS NULL)),
    CONSTRAINT pool_resource_set_aside CHECK ((set_aside_at IS NULL) = (set_aside_why IS NULL) AND (set_aside_by IS NULL OR set_aside_at IS NOT NULL))
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);
COMMENT ON TABLE pool_resource IS 'One resource of a pool, and who holds it: one attempt on one worker, a check of it, or nobody.';
COMMENT ON COLUMN pool_resource.data IS 'JSON object: what the task that holds it finds of it.';
COMMENT ON COLUMN pool_resource.place IS 'Its place in the pool''s file, from 0.';
COMMENT ON COLUMN pool_resource.removed IS 'It is in the pool no more: nobody gets it, and the row is deleted when nobody holds it.';
COMMENT ON COLUMN pool_resource.task_instance_id IS 'The attempt that holds it, from the claim until that has ended or its worker''s life has; null = free.';
COMMENT ON COLUMN pool_resource.worker_id IS 'The epoch of the worker that runs that attempt: the lease lasts as long as this life, whose beats extend it.';
COMMENT ON COLUMN pool_resource.free_since IS 'When it was last given back: the one that has been free for longest is given next.';
COMMENT ON COLUMN pool_resource.set_aside_at IS 'Since when nobody gets it, whoever holds it now; null = it is given.';
COMMENT ON COLUMN pool_resource.set_aside_why IS 'Why, in a sentence.';
COMMENT ON COLUMN pool_resource.set_aside_by IS 'The person who did; null = its check, and a check that passes takes it back.';
COMMENT ON COLUMN pool_resource.checked_at IS 'When its last check ended; null = it was never checked, or is to be checked again.';
COMMENT ON COLUMN pool_resource.checking_by IS 'The epoch of the worker that checks it; nobody gets it meanwhile.';
-- Statement: what an attempt holds.
CREATE INDEX pool_resource_holder ON pool_resource (task_instance_id) WHERE task_instance_id IS NOT NULL;
-- Statement: what a worker holds for its attempts.
CREATE INDEX pool_resource_worker ON pool_resource (worker_id) WHERE worker_id IS NOT NULL;
-- Statement: what is free.
CREATE INDEX pool_resource_free ON pool_resource (pool_code, free_since, id)
    WHERE task_instance_id IS NULL AND set_aside_at IS NULL AND checking_by IS NULL AND NOT removed;

CREATE TABLE pool_line (
    pool_name            text NOT NULL,
    workflow_priority    priority_level NOT NULL,
    workflow_instance_id bigint NOT NULL,
    task_priority        priority_level NOT NULL,
    task_instance_id     bigint NOT NULL,
    needed               integer NOT NULL CHECK (needed > 0),
    needs                jsonb NOT NULL,
    worker_group         text NOT NULL,
    PRIMARY KEY (pool_name, workflow_priority, workflow_instance_id, task_priority, task_instance_id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_analyze_scale_factor = 0,
        autovacuum_analyze_threshold = 10000);
COMMENT ON TABLE pool_line IS 'The queued attempts that wait for resources of a pool, which need not exist, in their order. Written by triggers of task_instance.';
COMMENT ON COLUMN pool_line.needed IS 'How many it needs of this pool.';
COMMENT ON COLUMN pool_line.needs IS 'JSON object: of which pools it needs how many.';
-- Statement: in which lines attempts of a worker group wait.
CREATE INDEX pool_line_group ON pool_line (worker_group, pool_name);

-- The claims of workers that wait for a pool are woken by a channel of their own, so that others are not.
CREATE FUNCTION wake_pool_line(pool_names text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('shoal_pool', next.worker_group)
    FROM (SELECT DISTINCT l.worker_group
          FROM unnest(pool_names) AS pool (name)
          CROSS JOIN LATERAL (SELECT worker_group FROM pool_line WHERE pool_name = pool.name
                              ORDER BY workflow_priority, workflow_instance_id, task_priority, task_instance_id
                              LIMIT 50) AS l) AS next;
END $$;

CREATE FUNCTION free_resources(attempts bigint[], of_worker bigint) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    pools bigint[];
BEGIN
    WITH freed AS (
        UPDATE pool_resource SET task_instance_id = NULL, worker_id = NULL, taken_at = NULL, free_since = clock_timestamp()
        WHERE task_instance_id = ANY(attempts) AND coalesce(worker_id = of_worker, false)
        RETURNING pool_code
    )
    SELECT array_agg(pool_code) INTO pools FROM freed;
    IF pools IS NULL THEN
        RETURN 0;
    END IF;
    DELETE FROM pool_resource WHERE pool_code = ANY(pools) AND removed AND task_instance_id IS NULL AND checking_by IS NULL;
    PERFORM wake_pool_line(ARRAY(SELECT name FROM resource_pool WHERE code = ANY(pools)));
    RETURN cardinality(pools);
END $$;
COMMENT ON FUNCTION free_resources IS 'Gives back what a worker held for these attempts, which run there no more, and wakes who may get it. Returns how many resources.';

-- What waits for resources has its place in their lines while it is queued, whoever queues it; it begins only with all of
-- its leases, whoever claims it, a worker that knows nothing of them too; and what its worker can run no more holds none.
-- Of an attempt whose worker lives the resources are given back by that worker, which knows when its process has ended.
CREATE FUNCTION keep_resources() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    IF NEW.resources IS NOT NULL AND (
            NEW.is_plain OR jsonb_typeof(NEW.resources) <> 'object' OR NEW.resources = '{}'
            OR jsonb_path_exists(NEW.resources, '$.* ? (!(@.type() == "number" && @ >= 1 && @ <= 10000 && @.floor() == @))')) THEN
        RAISE EXCEPTION 'the resources of an attempt are a JSON object such as {"proxies": 1}, and it is not plain, not %', NEW.resources
            USING ERRCODE = 'check_violation';
    END IF;
    IF TG_OP = 'UPDATE' THEN
        IF NEW.state IN ('DISPATCH', 'RUNNING_EXECUTION') AND OLD.state NOT IN ('DISPATCH', 'RUNNING_EXECUTION') THEN
            IF EXISTS (
                SELECT FROM jsonb_each_text(NEW.resources) AS need (pool_name, number)
                WHERE (SELECT count(*) FROM pool_resource r JOIN resource_pool p ON p.code = r.pool_code
                       WHERE r.task_instance_id = NEW.id AND r.worker_id = NEW.worker_id AND p.name = need.pool_name)
                      < need.number::integer) THEN
                RETURN NULL;
            END IF;
        END IF;
        IF OLD.state = 'QUEUED' THEN
            DELETE FROM pool_line l USING jsonb_object_keys(OLD.resources) AS pool (name)
            WHERE l.pool_name = pool.name AND l.workflow_priority = OLD.workflow_priority
              AND l.workflow_instance_id = OLD.workflow_instance_id AND l.task_priority = OLD.task_priority
              AND l.task_instance_id = OLD.id;
        END IF;
        IF OLD.state IN ('DISPATCH', 'RUNNING_EXECUTION') AND NEW.state NOT IN ('DISPATCH', 'RUNNING_EXECUTION')
                AND NOT EXISTS (SELECT FROM node WHERE id = OLD.worker_id AND kind = 'WORKER'
                                                       AND state IN ('ALIVE', 'LEAVING')) THEN
            PERFORM free_resources(ARRAY[OLD.id], OLD.worker_id);
        END IF;
    END IF;
    IF NEW.state = 'QUEUED' THEN
        INSERT INTO pool_line (pool_name, workflow_priority, workflow_instance_id, task_priority, task_instance_id, needed,
                               needs, worker_group)
        SELECT need.pool_name, NEW.workflow_priority, NEW.workflow_instance_id, NEW.task_priority, NEW.id,
               need.number::integer, NEW.resources, NEW.worker_group
        FROM jsonb_each_text(NEW.resources) AS need (pool_name, number)
        ORDER BY need.pool_name
        ON CONFLICT DO NOTHING;
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION keep_resources() FROM PUBLIC;
-- It reads and writes only tables of this schema, whatever the caller has made in others.
DO $$ BEGIN EXECUTE format('ALTER FUNCTION keep_resources() SET search_path TO %I, pg_temp', current_schema()); END $$;
CREATE TRIGGER task_instance_keeps_resources BEFORE UPDATE OF state, is_plain, resources, worker_group, workflow_priority,
    task_priority ON task_instance FOR EACH ROW
    WHEN (OLD.resources IS NOT NULL OR NEW.resources IS NOT NULL) EXECUTE FUNCTION keep_resources();
CREATE TRIGGER task_instance_waits_for_resources AFTER INSERT ON task_instance FOR EACH ROW
    WHEN (NEW.resources IS NOT NULL) EXECUTE FUNCTION keep_resources();

INSERT INTO schema_version (version, name, old_nodes_may_run) VALUES (16, 'resource_pools', true);

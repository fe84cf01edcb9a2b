-- old nodes: may run
-- What waits for a pool is read by kind: however many wait for something else, whoever can begin is found and woken,
-- also when what was reserved for another is free since that was stopped or paused.
-- Of expressions, so that only what means it uses it: with the statistics of an empty line all indexes seem equal.
CREATE INDEX pool_line_kind ON pool_line ((pool_name || ''), (worker_group || ''), jsonb_hash_extended(needs, 0),
    workflow_priority, workflow_instance_id, task_priority, task_instance_id);

CREATE OR REPLACE FUNCTION wake_pool_line(pool_names text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('shoal_pool', waits.worker_group)
    FROM (WITH RECURSIVE waiting (pool_name, worker_group) AS (
              SELECT pool.name, (SELECT l.worker_group || '' FROM pool_line l WHERE l.pool_name || '' = pool.name
                                 ORDER BY l.pool_name || '', l.worker_group || '' LIMIT 1)
              FROM unnest(pool_names) AS pool (name)
              UNION ALL
              SELECT w.pool_name, (SELECT l.worker_group || '' FROM pool_line l              -- index: pool_line_kind
                                   WHERE l.pool_name || '' = w.pool_name AND l.worker_group || '' > w.worker_group
                                   ORDER BY l.pool_name || '', l.worker_group || '' LIMIT 1)
              FROM waiting w WHERE w.worker_group IS NOT NULL
          )
          SELECT DISTINCT worker_group FROM waiting WHERE worker_group IS NOT NULL) AS waits;
END $$;

-- What an attempt that was stopped or paused had reserved is for those behind it, if any is free. Once in a transaction: it
-- may stop thousands, and all are woken when it commits.
CREATE FUNCTION wake_behind(pool text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    done text := coalesce(current_setting('shoal.lines_woken', true), '');
BEGIN
    IF strpos(done, '/' || pool || '/') > 0 THEN
        RETURN;
    END IF;
    PERFORM set_config('shoal.lines_woken', done || '/' || pool || '/', true);
    IF EXISTS (SELECT FROM resource_pool p JOIN pool_resource r ON r.pool_code = p.code
               WHERE p.name = pool AND r.task_instance_id IS NULL AND r.set_aside_at IS NULL AND r.checking_by IS NULL
                 AND NOT r.removed) THEN
        PERFORM wake_pool_line(ARRAY[pool]);
    END IF;
END $$;

CREATE OR REPLACE FUNCTION keep_resources() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    pool text;
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
            -- One at a time: of a set that seems long the planner would read the whole index.
            FOR pool IN SELECT jsonb_object_keys(OLD.resources) LOOP
                DELETE FROM pool_line l
                WHERE l.pool_name = pool AND l.workflow_priority = OLD.workflow_priority
                  AND l.workflow_instance_id = OLD.workflow_instance_id AND l.task_priority = OLD.task_priority
                  AND l.task_instance_id = OLD.id;
                IF NEW.state NOT IN ('QUEUED', 'DISPATCH', 'RUNNING_EXECUTION') THEN
                    PERFORM wake_behind(pool);
                END IF;
            END LOOP;
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

INSERT INTO schema_version (version, name, old_nodes_may_run) VALUES (23, 'lines_by_kind', true);

-- What testing from outside found: nothing that one row, one node or one person does stops the others.

-- What is to be driven and has no owner is found and handed on, whoever wrote so; what waits in line has none either.
CREATE INDEX workflow_instance_ownerless ON workflow_instance (master_id)
    WHERE master_id <= 0 AND state IN ('RUNNING_EXECUTION', 'READY_PAUSE', 'READY_STOP', 'FAILOVER');

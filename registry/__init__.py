"""Who is alive: one small protocol, kept by ZooKeeper (`zookeeper.py`) or by PostgreSQL (`postgres.py`)."""

"""Which nodes are alive: a protocol, implemented with ZooKeeper (`zookeeper.py`) or PostgreSQL (`postgres.py`)."""

"""What a master knows of the other nodes: its slot, which have failed, and the failover of their runs and tasks."""

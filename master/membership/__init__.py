"""What a master knows of the other nodes: its slot, who has failed, and the failover of their runs and tasks."""

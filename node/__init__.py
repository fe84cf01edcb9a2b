"""The life of a process in the cluster: its epoch, its beats, its permission to write, and the load of its machine."""

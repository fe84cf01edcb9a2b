"""What a process needs before it begins: settings, keys, logging, the address of a local cluster."""

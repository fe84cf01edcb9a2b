"""Scripts in bash and Python: what a parameter's value may be where it stands in one."""

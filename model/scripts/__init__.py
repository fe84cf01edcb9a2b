"""Scripts in bash and Python: which values a parameter may have at its place in one."""

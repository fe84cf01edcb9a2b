"""What the doctor checks: nodes, servers, tables, logs."""

"""Commands from the table: claimed by slot, checked one by one, and turned into runs."""

"""The schema, its upgrades and the seed scripts, as plain SQL that a person can read and run with psql."""

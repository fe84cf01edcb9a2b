"""Mails that a task sends: PYTHON tasks with Python's own `smtplib`."""

from __future__ import annotations

import re
from typing import Any

from importers.airflow.flow import Args, shown
from importers.airflow.values import Dotted, Unknown
from model.errors import Refused

_SCRIPT = """\
import smtplib
from email.message import EmailMessage

mail = EmailMessage()
{headers}
mail.set_content({text}, subtype="html")
{files}with smtplib.SMTP({host}) as server:
    server.send_message(mail, to_addrs={receivers})
"""
_FILES = """\
for path in {paths}:
    with open(path, "rb") as file:
        name = path.rpartition("/")[2]
        mail.add_attachment(file.read(), maintype="application", subtype="octet-stream", filename=name)
"""


def email(args: Args) -> None:
    """The mail, by a server that a start or the project must name."""
    connection = args.text("conn_id", "smtp_default") or "smtp_default"
    server = args.connection(connection, "host")
    to, copied, blind = (_addresses(args, name) for name in ("to", "cc", "bcc"))
    if not to:
        raise Refused("who gets it is not known before it runs")
    written = args.text("from_email") or f"${{{args.connection(connection, 'from_email')}}}"
    headers = {"Subject": args.text("subject"), "From": written, "To": ", ".join(to), "Cc": ", ".join(copied)}
    headers |= {str(key): str(value) for key, value in args.mapping("custom_headers").items()}
    args.draft.type = "PYTHON"
    files = args.texts("files")
    script = _SCRIPT.format(
        headers="\n".join(f"mail[{name!r}] = {value!r}" for name, value in headers.items() if value),
        text=repr(args.text("html_content")),
        files=_FILES.format(paths=repr(files)) if files else "",
        host=f"'${{{server}}}'",
        receivers=repr([*to, *copied, *blind]),
    )
    args.draft.params = {"script": script}
    sentence = f'the server is the parameter "{server}" (HOST:PORT); if it asks for a password or TLS, add login()'
    args.changed("conn_id", f"{sentence} or starttls() to the script")
    args.irrelevant("mime_charset", "mime_subtype", "conn_id", "auth_type")


def _addresses(args: Args, name: str) -> list[str]:
    given: Any = args.raw(name, [])
    if isinstance(given, Unknown | Dotted):
        raise Refused(f"{name} = {shown(given)} is not known before it runs")
    listed = given if isinstance(given, list | tuple) else re.split(r"\s*[,;]\s*", str(given))
    return [args.written(name, each).strip() for each in listed if str(each).strip()]

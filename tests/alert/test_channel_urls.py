"""Which URLs a channel may have, what of them is shown, and what is masked."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import pytest

from alert.letter import READY, Letter, Receipt
from model.alerts.channels import KINDS, MASK, parse_channel_url
from model.alerts.templates import check_template, filled
from model.errors import Refused
from tests.every import every


@every(
    "url",
    [
        *("syslog://localhost", "rsyslog://localhost", "dbus://", "glib://", "macosx://", "windows://", "gnome://"),
        *(
            "file:///etc/passwd",
            "exec://rm",
            "blink1://",
            "growl://localhost",
            "amqp://localhost/q",
            "irc://localhost/c",
        ),
        *(
            "http://example.org",
            "https://example.org",
            "json://",
            "://x",
            "json",
            "",
            "json://host:0/",
            "json://h:99999/",
        ),
        *(
            "json://host/?attach=/etc/passwd",
            "slack://a/b/c?template=file:///x",
            "mailto://h?pgpkey=/k",
            "json://h?redirect=yes",
            "json://h?a=b;attach=/etc/passwd",
            "json://h?a=b;%61ttach=/etc/passwd",
            "json://h/#?attach=/etc/passwd",
            "json://h?a=b#;attach=/etc/passwd",
        ),
        *("mailtos://u:p@w@host?to=a@b.c", "json://ho\nst/", "json://host/\x00"),
    ],
)
def test_a_channel_cannot_start_a_program_or_read_a_file(url: str) -> None:
    with pytest.raises(Refused) as refused:
        parse_channel_url(url)
    assert "passwd" not in str(refused.value)


def test_the_library_knows_each_scheme_that_is_allowed() -> None:
    code = (
        "import json\nfrom apprise.manager_plugins import NotificationManager\n"
        "known = NotificationManager()\nknown.load_modules()\nprint(json.dumps(sorted(known.schemas())))"
    )
    known = json.loads(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
    assert set(known) >= KINDS


@every(
    ("url", "shown"),
    [
        (
            "mailtos://ada:s3c@mail.example:587?to=a@b.c&from=x@y.z",
            "mailtos://ada:***@mail.example:587?to=a@b.c&from=x@y.z",
        ),
        ("MAILTO://mail.example?to=a@b.c&pass=geheim", "mailto://mail.example?to=a@b.c&pass=***"),
        ("json://u:p@10.0.0.1:8080/hook/T0KEN?k=v", "json://u:***@10.0.0.1:8080/***?k=***"),
        ("json://[::1]:8080/", "json://[::1]:8080"),
        ("slack://T1/A1/xyz/#general", "slack://***"),
        ("gotify://host/token", "gotify://host/***"),
    ],
)
def test_a_url_is_shown_without_what_may_be_a_secret(url: str, shown: str) -> None:
    parsed = parse_channel_url(url)
    assert parsed.shown == shown
    assert parsed.text.partition("://")[2] not in repr(parsed) or MASK not in shown


def test_secrets_are_masked_in_whatever_form_they_come() -> None:
    url = parse_channel_url("jsons://ada:p%40ss@host/a-very-long-token?key=k1")
    said = "could not post to host/a-very-long-token as ada with p@ss (p%40ss), key k1"
    assert url.masked(said) == f"could not post to host/{MASK} as ada with {MASK} ({MASK}), key {MASK}"


def test_a_courier_starts_no_program() -> None:
    code = (
        "import subprocess\nfrom alert.allowed_addresses import Places\nPlaces().guard()\n"
        "for run in (lambda: subprocess.run(['true']), lambda: __import__('os').system('true')):\n"
        "    try:\n        run()\n        print('ran')\n    except OSError as error:\n        print(error)\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.splitlines() == ["it would start a program, which no channel may"] * 2


def test_a_courier_ends_itself_when_its_time_is_over_though_its_sender_is_frozen() -> None:
    """The channel is a name server's silence or worse: nothing is read from it, and no time-out of a library helps."""
    courier = subprocess.Popen(
        [sys.executable, "-m", "alert.courier"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert courier.stdin is not None
    assert courier.stdout is not None
    assert courier.stdout.readline() == READY
    late = Letter("json://127.0.0.1:1/", "s", "t", "", "info", ("*",), time.monotonic() - 1)
    courier.stdin.write(late.to_line())
    courier.stdin.flush()
    assert Receipt.from_line(courier.stdout.readline()).reason == "it came too late to be sent"
    import socket

    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"json://127.0.0.1:{silent.getsockname()[1]}/"
        courier.stdin.write(Letter(url, "s", "t", "", "info", ("*",), time.monotonic() + 1.5).to_line())
        courier.stdin.flush()
        assert courier.wait(30) == -14, "SIGALRM"


def test_values_of_a_template_are_never_templates() -> None:
    values = {"subject": "${kind} $$", "facts.a": "x"}
    assert filled("$${a} ${subject}${facts.a}${facts.b}", values, "it") == "${a} ${kind} $$x"
    for wrong in ("${", "${subject", "${nothing}", "${facts.}", "${}"):
        with pytest.raises(Refused):
            check_template(wrong, "it")

"""Secrets in a stream, cut anywhere, and in all the forms in which programs write them."""

from __future__ import annotations

import base64
import html
import json
import re
import shlex
import subprocess
import textwrap
from collections.abc import Callable
from urllib.parse import quote, quote_plus
from xml.etree import ElementTree
from xml.sax.saxutils import escape, quoteattr

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.every import every
from worker.secrets.masking import Masking
from worker.tasks.inserted import mark
from worker.tasks.python_values import python_script

SECRETS = ("abcabd", "abcabdabcabd", "bdabca", "aaaaaaa")


def fed(masking: Masking, *pieces: bytes) -> bytes:
    return b"".join([*(masking.feed(piece) for piece in pieces), masking.finish()])


@given(st.lists(st.text("abcd", max_size=20)))
def test_the_pieces_of_a_stream_make_no_difference(pieces: list[str]) -> None:
    data = [piece.encode() for piece in pieces]
    assert fed(Masking(SECRETS), *data) == fed(Masking(SECRETS), b"".join(data))


@given(st.lists(st.sampled_from([*SECRETS, "a", "b", "x\n"])))
def test_byte_by_byte_no_secret_comes_through(words: list[str]) -> None:
    text = "".join(words).encode()
    shown = fed(Masking(SECRETS), *(text[i : i + 1] for i in range(len(text))))
    assert not any(secret.encode() in shown for secret in SECRETS)


def test_what_cannot_become_a_secret_is_shown_at_once() -> None:
    masking = Masking(["correct horse"])
    assert masking.feed(b"nothing of it\n") == b"nothing of it\n"
    assert masking.feed(b"it is corr") == b"it is "
    assert masking.feed(b"osion") == b"corrosion"


@pytest.mark.parametrize("shape", ["p&ss w/rd", "p%26ss%20w%2Frd", base64.b64encode(b"p&ss w/rd").decode()])
def test_a_secret_is_known_in_a_url_and_in_a_header_too(shape: str) -> None:
    assert fed(Masking(["p&ss w/rd"]), f"<{shape}>".encode()) == b"<******>"


def test_a_short_secret_is_left_because_it_is_in_every_word() -> None:
    assert fed(Masking(["e", ""]), b"every word") == b"every word"


def in_bash(script: str, secret: str, *, locale: str = "C.UTF-8") -> str:
    command = ["bash", "-c", script, "bash", secret]
    shown = subprocess.run(command, env={"LC_ALL": locale, "PATH": "/usr/bin:/bin"}, capture_output=True, check=True)
    return (shown.stdout + shown.stderr).decode()


def gnu_quoted(secret: str) -> str:
    """Quote a name as GNU programs do in their messages."""
    env = {"LC_ALL": "C", "PATH": "/usr/bin:/bin"}
    said = subprocess.run(["cat", f"{secret}/."], env=env, capture_output=True, check=False).stderr.decode()
    return said.removeprefix("cat: ").removesuffix(": No such file or directory\n").replace("/.", "")


FORMS: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "in a script that a value was put into": lambda secret: python_script(mark("s", secret), {}),
    "repr": repr,
    "ascii": ascii,
    "repr of bytes": lambda secret: repr(secret.encode()),
    "repr of a repr": lambda secret: repr([repr(secret)]),
    "JSON": json.dumps,
    "JSON in UTF-8": lambda secret: json.dumps(secret, ensure_ascii=False),
    "JSON in JSON": lambda secret: json.dumps(json.dumps({"it": secret})),
    "JSON for a page": lambda secret: json.dumps(secret).replace("<", "\\u003C").replace("/", "\\/"),
    "in a path": quote,
    "in a URL": lambda secret: quote(secret, safe=""),
    "in small letters in a URL": lambda secret: re.sub("%..", lambda found: found[0].lower(), quote(secret, safe="")),
    "in a form": quote_plus,
    "HTML": html.escape,
    "XML": escape,
    "an attribute of XML": quoteattr,
    "characters of XML": lambda secret: secret.encode("ascii", "xmlcharrefreplace").decode(),
    "quoted for a shell": lambda secret: "x " + shlex.quote(f"a={secret}"),
    "in SQL": lambda secret: "'" + secret.replace("'", "''") + "'",
    "in CSV": lambda secret: '"' + secret.replace('"', '""') + '"',
    "printf %q": lambda secret: in_bash('printf "%q\\n" "$1"', secret),
    "printf %q of ASCII": lambda secret: in_bash('printf "%q\\n" "$1"', secret, locale="C"),
    "@Q": lambda secret: in_bash('echo "${1@Q}"', secret),
    "declare -p": lambda secret: in_bash("v=$1; declare -p v", secret),
    "a trace of bash": lambda secret: in_bash('set -x; v=$1; : "$v"', secret),
    "a comparison in a trace of bash": lambda secret: in_bash('v=$1; set -x; [[ abc == "$v" ]] || :', secret),
    "quoted twice in a URL": lambda secret: quote(quote(secret, safe=""), safe=""),
    "an attribute of ElementTree": lambda secret: ElementTree.tostring(ElementTree.Element("a", b=secret)).decode(),
    "quoted by ls": lambda secret: gnu_quoted(secret),
    "hex": lambda secret: secret.encode().hex(),
    "HEX": lambda secret: secret.encode().hex().upper(),
    "base64": lambda secret: base64.b64encode(secret.encode()).decode(),
    "base64 without its padding": lambda secret: base64.urlsafe_b64encode(secret.encode()).decode().rstrip("="),
    "base64 after one byte": lambda secret: base64.b64encode(f":{secret}".encode()).decode(),
    "base64 after two": lambda secret: base64.b64encode(f"u:{secret}".encode()).decode(),
    "base64 between others": lambda secret: base64.b64encode(f"user:{secret}@host".encode()).decode(),
    "base64 in a URL": lambda secret: quote(base64.b64encode(f"u:{secret}".encode()).decode(), safe=""),
    "base64 in lines": lambda secret: "\n".join(
        textwrap.wrap(base64.b64encode(f"a user and a password:{secret}".encode()).decode(), 12)
    ),
}
AWKWARD = (
    "it's-My-Pa55word",
    "p&ss w/rd<",
    'two "quotes", {braces} and a $(shell)',
    "back\\slash\\\\and\\x27",
    "tab\there and bell\a",
    "größe ünd €uro 😀",
    "'\"\\'\"\\'",
    "?!*(){}[]|;<>&~`#",
    "+/+/=x==",
)


def left_of(secret: str, form: str) -> str:
    """What is shown beside the mask, without quotes around it."""
    written = FORMS[form](secret).encode()
    shown = fed(Masking([secret]), *(written[at : at + 7] for at in range(0, len(written), 7))).decode()
    assert "******" in shown
    return re.sub(r"[\\s\\\\'\"$]", "", shown)


@every("form", [form for form in FORMS if not form.startswith("base64")])
@every("secret", AWKWARD)
def test_nothing_of_a_secret_is_shown_in_any_form_that_a_program_writes(secret: str, form: str) -> None:
    assert left_of(secret, form) == left_of("Plain0Secret", form)


@every("form", [form for form in FORMS if form.startswith("base64")])
@every("secret", AWKWARD)
def test_in_base64_no_digit_is_shown_that_is_the_secrets_alone(secret: str, form: str) -> None:
    around = 2  # digits that share their bits with what stands before and after it
    for shown in left_of(secret, form).split("******"):
        assert len(shown.rstrip("=")) <= len(base64.b64encode(b"a user and a password:")) + around


@pytest.mark.parametrize(
    "secret",
    [
        "-----BEGIN-----\nMIIabcdef\nshort\n  an indented line\n-----END-----\n",
        "a-token-in-a-block\n",
        "\r\nCR-and-LF\r\n",
        r"-----BEGIN-----\nMIIabcdef\n-----END-----\n",
    ],
)
def test_each_line_of_a_secret_is_masked_by_itself(secret: str) -> None:
    for line in (each.strip() for each in secret.replace("\\n", "\n").splitlines() if len(each.strip()) >= 6):
        assert fed(Masking([secret]), f"using {line} now".encode()) == b"using ****** now"


def test_a_secret_of_several_lines_is_masked_on_one_line_too() -> None:
    secret = "ab\n   cd\nef\n"
    assert fed(Masking([secret]), b"<ab cd ef>", repr(secret).encode()) == b"<******>'******\\n'"


awkward_texts = st.text("ab'\"\\\n x7", max_size=12)


@given(awkward_texts, st.lists(awkward_texts, max_size=3), st.data())
def test_pieces_make_no_difference_however_a_secret_is_escaped(
    secret: str, around: list[str], data: st.DataObject
) -> None:
    form: Callable[[str], str] = data.draw(st.sampled_from([str, repr, json.dumps, shlex.quote, quote]))
    stream = form(secret).join([*around, ""]).encode()
    size = data.draw(st.integers(1, 9))
    pieces = [stream[at : at + size] for at in range(0, len(stream), size)]
    assert fed(Masking([secret]), *pieces) == fed(Masking([secret]), stream)

"""Where alerts are sent: the URL of a channel, its allowed schemes, and the parts that may be shown.

The schemes are those of the library apprise that only send over the network. Schemes that start a program or write to
the desktop, the system log or a local file are left out, and so are options that read a file: a person who may save a
channel must not get the rights of the process that sends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from model.errors import Refused
from model.near import nearest
from model.parameters.parameters import is_storable

URL_BYTES_MAX = 8_000
MASK = "***"
CHANNEL_PURPOSE = "alert channel"
"""The purpose for which a channel's URL is encrypted, followed by the channel's name."""

_MAIL = ("mailto", "mailtos")
_SERVERS = (
    *_MAIL,
    *("json", "jsons", "xml", "xmls", "form", "forms"),
    *("apprise", "apprises", "bark", "barks", "gotify", "gotifys", "matrix", "matrixs", "mmost", "mmosts"),
    *("ncloud", "nclouds", "nctalk", "nctalks", "ntfys", "rocket", "rockets", "signal", "signals"),
    *("synology", "synologys", "goalert", "goalerts", "workflow", "workflows"),
)
"""Schemes whose URL names a server, which is no secret. Those that end with s use TLS."""

_SERVICES = (
    *("azure", "o365", "betterstack", "brevo", "cliq", "dingtalk", "discord", "feishu", "flock", "gchat", "github"),
    *("ifttt", "ilert", "incidentio", "jira", "lark", "line", "mailgun", "mailersend", "msgbird", "nexmo", "ntfy"),
    *("opsgenie", "pagerduty", "pagertree", "pbul", "postmark", "pover", "pushplus", "resend", "revolt", "ringc"),
    *("schan", "sendgrid", "ses", "signl4", "slack", "smtp2go", "sns", "sparkpost", "spike", "splunk", "spugpush"),
    *("squadcast", "telnyx", "tgram", "threema", "twilio", "twist", "viber", "victorops", "vonage", "wechat"),
    *("webex", "wecom", "wecombot", "wxpusher", "wxteams", "xmatters", "zoom", "zulip"),
)
"""Schemes with a known server; the rest of the URL may be secret."""

KINDS = frozenset({*_SERVERS, *_SERVICES})

_WEB = {"http", "https"}
_SHOWN_OPTIONS = {"to", "cc", "bcc", "from", "name", "mode", "smtp", "method", "verify", "format"}
_READ_FILES = re.compile(r"attach|template|keyfile|pgp|redirect|\bpem|include|storage|store", re.IGNORECASE)
"""Options that read a file of the sending machine, or make it follow a redirect."""

_SECRET_OPTION = re.compile(r"pass|pwd|secret|token|key", re.IGNORECASE)
_SECRET_PIECE = re.compile(r"[/:@&=,;?#+\s]+")
_PIECE_CHARACTERS_MIN = 4
"""Shorter pieces of a path are no secrets; masking them would garble every sentence."""
_TOKEN_CHARACTERS_MIN = 12
"""A shorter piece may be an everyday word, and is masked only where it is a whole word."""


@dataclass(frozen=True)
class ChannelUrl:
    """A valid URL of a channel."""

    kind: str
    text: str

    def __repr__(self) -> str:
        return f"ChannelUrl({self.shown})"

    @property
    def is_mail(self) -> bool:
        """Whether messages go by mail, which may be HTML."""
        return self.kind in _MAIL

    @cached_property
    def shown(self) -> str:
        """The URL for display, without what is or may be a secret."""
        if self.kind not in _SERVERS:
            return f"{self.kind}://{MASK}"
        parts = urlsplit(self.text)
        user = f"{parts.username}:{MASK}@" if parts.username and parts.password else ""
        user = user or (f"{parts.username if self.is_mail else MASK}@" if parts.username else "")
        host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else (parts.hostname or "")
        port = f":{parts.port}" if parts.port else ""
        path = "" if parts.path in ("", "/") else f"/{MASK}"
        options = "&".join(
            f"{name}={quote(value, safe='@,') if name.lower() in _SHOWN_OPTIONS else MASK}"
            for name, value in _options(parts.query)
        )
        return f"{self.kind}://{user}{host}{port}{path}{'?' if options else ''}{options}"

    @cached_property
    def secrets(self) -> tuple[str, ...]:
        """The parts that must never be shown, longest first."""
        found = {form for secret in self._secrets() for form in (secret, unquote(secret), quote(secret, safe=""))}
        return tuple(sorted((each for each in found if each), key=len, reverse=True))

    def masked(self, text: str) -> str:
        """Mask these secrets in a text."""
        for secret in self.secrets:
            text = _pattern(secret, is_piece=secret not in self._whole).sub(MASK, text)
        return text

    @cached_property
    def _whole(self) -> frozenset[str]:
        """Secrets that are masked even inside a longer word."""
        password = urlsplit(self.text).password or ""
        return frozenset({password, unquote(password)})

    def _secrets(self) -> Iterator[str]:
        yield self.text
        parts = urlsplit(self.text)
        yield parts.password or ""
        is_server = self.kind in _SERVERS
        rest = [parts.path] if is_server else [parts.netloc, parts.path, parts.fragment]
        if not self.is_mail and not parts.password:
            rest.append(parts.username or "")
        for name, value in _options(parts.query):
            if _SECRET_OPTION.search(name):
                yield value
            elif not (is_server and name.lower() in _SHOWN_OPTIONS):
                rest.append(value)
        for each in rest:
            yield from (piece for piece in _SECRET_PIECE.split(each) if len(piece) >= _PIECE_CHARACTERS_MIN)


def _options(query: str) -> list[tuple[str, str]]:
    """Split the options as the sending library does: at `&` and at semicolons, and `#` begins nothing."""
    return parse_qsl(query.replace(";", "&"), keep_blank_values=True)


def _pattern(secret: str, *, is_piece: bool) -> re.Pattern[str]:
    if is_piece and len(secret) < _TOKEN_CHARACTERS_MIN:
        return re.compile(rf"(?<![A-Za-z0-9]){re.escape(secret)}(?![A-Za-z0-9])")
    return re.compile(re.escape(secret))


def parse_channel_url(text: str) -> ChannelUrl:
    """A channel's URL. Raises `Refused`; no message contains a part of the URL that could be secret."""
    text = text.strip()
    if not is_storable(text) or any(ord(each) < 32 for each in text):
        raise Refused("the channel's URL is not one line of text")
    if len(text.encode()) > URL_BYTES_MAX:
        raise Refused(f"the channel's URL is longer than {URL_BYTES_MAX} bytes")
    scheme, found, rest = text.partition("://")
    if not found or not re.fullmatch(r"[A-Za-z0-9]{1,20}", scheme) or not rest:
        raise Refused(
            "the channel's URL cannot be read; write it as mailtos://user:password@host?to=ops@example.org, "
            "slack://..., or json://host/path for a webhook"
        )
    kind = scheme.lower()
    if kind not in KINDS:
        raise Refused(_unknown(kind))
    try:
        parts = urlsplit(f"{kind}://{rest}")
        has_host = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        has_host = False
    if not has_host:
        raise Refused("the channel's URL has no valid host and port; write @, : and / in a password as %40, %3A, %2F")
    if "@" in (parts.password or "") or "@" in (parts.username or ""):
        raise Refused("the channel's URL has an @ too many; write one in a name or password as %40, and a / as %2F")
    for name, _ in _options(rest.partition("?")[2]):
        if _READ_FILES.search(name):
            raise Refused(
                f'the channel\'s URL has the option "{name[:40]}", which Shoal does not allow: it reads a file of the '
                f"machine that sends, or follows redirects; remove it"
            )
    return ChannelUrl(kind, f"{kind}://{rest}")


def _unknown(kind: str) -> str:
    if kind in _WEB:
        return f"{kind}:// is no channel; a webhook is {'jsons' if kind == 'https' else 'json'}://host/path"
    near = nearest(kind, KINDS)
    cure = f'did you mean "{near}"?' if near else "docs/guides/alerts.md lists them"
    return f'a channel cannot have the scheme "{kind}"; {cure}'

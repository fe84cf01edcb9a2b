"""A client of one bucket of S3-compatible storage, through obstore, and what may be said of its errors."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from obstore.store import S3Config, S3Store

DEFAULT_REGION = "us-east-1"
CONNECT_S_MAX = 5.0
RETRIES_MAX = 1
"""Of one request, within its time; the caller pauses between its own retries."""
_CODE = re.compile(r"<Code>([A-Za-z0-9.]{1,60})</Code>")
_STATUS = re.compile(r"status code: ([0-9]{3}\b[A-Za-z -]{0,40})")


def open_bucket(
    bucket: str,
    prefix: str = "",
    *,
    endpoint: str | None,
    region: str | None,
    key: tuple[str, str] | None,
    within_s: float,
) -> S3Store:
    """A client, which has asked nothing yet.

    Args:
        prefix: what all keys begin with.
        endpoint: the address of the storage; None: Amazon's.
        key: its id and its secret; None: as Amazon's own tools find them.
        within_s: how long a request may take.
    Raises:
        ImportError: obstore is not installed.
        obstore.exceptions.BaseError: the settings are none for it.
    """
    from obstore.store import S3Store

    config: S3Config = {"region": region or DEFAULT_REGION}
    if endpoint is not None:
        config["endpoint"] = endpoint
    if key is not None:
        config["access_key_id"], config["secret_access_key"] = key
    return S3Store(
        bucket,
        prefix=prefix or None,
        config=config,
        client_options={
            "timeout": timedelta(seconds=within_s),
            "connect_timeout": timedelta(seconds=min(within_s, CONNECT_S_MAX)),
            "allow_http": (endpoint or "").startswith("http://"),
        },
        retry_config={"max_retries": RETRIES_MAX, "retry_timeout": timedelta(seconds=within_s)},
    )


def code_in(error: BaseException) -> str | None:
    """The code of an answer of S3, such as NoSuchBucket. The rest of it may have secrets, such as the id of a key."""
    found = _CODE.search(str(error))
    return found[1] if found else None


def said(error: BaseException) -> str:
    """What an error says, without what the storage has written."""
    code = code_in(error)
    if code is not None:
        return f"refused it ({code})"
    if status := _STATUS.search(str(error)):
        return f"answered {status[1].strip()}"
    return "does not answer"

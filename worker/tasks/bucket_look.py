"""Looks into a bucket of S3-compatible storage; a data source has its address and key."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from sqlalchemy import URL

from logstore.bucket import code_in, open_bucket, said
from model.errors import Refused, Unavailable
from worker.attempts.extras import how_to_install

if TYPE_CHECKING:
    from obstore.store import S3Store

REQUEST_S_MAX = 20.0
_DENIED = {"AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch"}
_MAGIC = re.compile(r"[*?\[]")


def found_in(url: URL, key: str, pattern: str | None, name: str) -> str | None:
    """The key of an existing object; the first one that the storage lists, if a pattern is given. It blocks.

    Args:
        url: of the data source.
        key: of the object, if `pattern` is None.
        pattern: as for a path: no `*` reaches beyond a slash.
        name: of the data source.
    Raises:
        Refused: the data source's key has no permission, the bucket does not exist, or obstore is not installed.
        Unavailable: the storage does not answer.
    """
    with _errors(name, url.database or ""):
        import obstore

        store = _opened(url)
        if pattern is None:
            try:
                return obstore.head(store, key)["path"]
            except FileNotFoundError:
                return None
        folder, _, _ = _MAGIC.split(pattern, maxsplit=1)[0].rpartition("/")
        for listed in obstore.list(store, folder or None):
            for each in listed:
                if _matches(each["path"], pattern):
                    return each["path"]
        return None


def ask_for_one(url: URL, name: str) -> None:
    """List the first object of the bucket, to test the permission. Blocks and raises as `found_in`."""
    with _errors(name, url.database or ""):
        import obstore

        next(iter(obstore.list(_opened(url))), None)


def _opened(url: URL) -> S3Store:
    place = f"{url.host}:{url.port}" if url.port else f"{url.host}"
    region = url.query.get("region")
    return open_bucket(
        url.database or "",
        endpoint=f"{'http' if url.query.get('tls') == 'off' else 'https'}://{place}",
        region=region if isinstance(region, str) else None,
        key=(url.username or "", url.password or ""),
        within_s=REQUEST_S_MAX,
    )


def _matches(key: str, pattern: str) -> bool:
    names, patterns = key.split("/"), pattern.split("/")
    return len(names) == len(patterns) and all(map(fnmatchcase, names, patterns))


@contextmanager
def _errors(name: str, bucket: str) -> Iterator[None]:
    """Reduce errors to their codes: texts of obstore contain what the storage answered, such as the id of a key."""
    where = f"data source {name}"
    try:
        from obstore import exceptions
    except ImportError:
        raise Refused(
            f"{where} is S3-compatible storage, which needs obstore; install it: {how_to_install('s3')}"
        ) from None
    try:
        yield
    except exceptions.BaseError as error:
        code = code_in(error)
        if code == "NoSuchBucket":
            raise Refused(f"{where} has no bucket {bucket}; make it") from None
        denied = exceptions.PermissionDeniedError, exceptions.UnauthenticatedError
        if isinstance(error, denied) or code in _DENIED:
            raise Refused(
                f"{where} does not let us in ({code or type(error).__name__}); its key needs the rights to read and "
                f"list the bucket {bucket}"
            ) from None
        raise Unavailable(f"{where} {said(error)}") from None

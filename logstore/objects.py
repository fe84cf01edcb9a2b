"""A log store in S3-compatible storage, through obstore (`pip install 'shoal[s3]'`).

Small logs are one PUT, large ones a multipart upload: S3 shows neither before it is complete. What a killed process
left of an upload takes room until the bucket's own rule removes it (docs/guides/logs.md).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from logstore.bucket import code_in, open_bucket, said
from logstore.protocol import MARK, PART_BYTES, Advanced
from logstore.settings import LogStoreSettings
from model.errors import Denied, NotFound, Refused, Unavailable

if TYPE_CHECKING:
    from obstore.store import S3Store

_FULL = {"QuotaExceeded", "XMinioStorageFull", "InsufficientStorage", "EntityTooLarge", "ServiceQuotaExceededException"}


class ObjectStore:
    """See `LogStore`."""

    def __init__(self, bucket: str, prefix: str, settings: LogStoreSettings) -> None:
        """Raises `Refused` if obstore is not installed or the settings are none for it."""
        try:
            from obstore import exceptions
        except ImportError:
            raise Refused(
                "log_store.url names S3-compatible storage, which needs obstore; install it with the extra s3: "
                "pip install 'shoal[s3]'"
            ) from None
        self._place = f"s3://{bucket}/{prefix}".rstrip("/") + (f" at {settings.endpoint}" if settings.endpoint else "")
        self._base_error = exceptions.BaseError
        self._denied = (exceptions.PermissionDeniedError, exceptions.UnauthenticatedError)
        self._settings = settings
        self._open = partial(
            open_bucket,
            bucket,
            prefix,
            endpoint=settings.endpoint,
            region=settings.region or os.environ.get("AWS_REGION"),
            within_s=settings.timeout.total_seconds(),
        )
        self._key = self._key_now()
        try:
            self._opened = self._open(key=self._key)
        except exceptions.BaseError as error:
            raise Refused(f"the log store {self._place} cannot be used: {type(error).__name__}") from None

    @property
    def _store(self) -> S3Store:
        """With the key that its files have now."""
        if (now := self._key_now()) != self._key:
            self._key, self._opened = now, self._open(key=now)
        return self._opened

    def _key_now(self) -> tuple[str, str] | None:
        name, secret = self._settings.access_key_id, self._settings.secret_access_key
        return None if name is None or secret is None else (name.get_secret_value(), secret.get_secret_value())

    @property
    def place(self) -> str:
        return self._place

    def put(self, key: str, fd: int, begin: int, end: int, advanced: Advanced) -> None:
        import obstore

        with self._errors(key):
            if end - begin <= PART_BYTES:
                data = os.pread(fd, end - begin, begin)
                if len(data) < end - begin:
                    raise Unavailable("the log became shorter while it was copied")
                obstore.put(self._store, key, data, use_multipart=False)
            else:
                parts = _parts(fd, begin, end, advanced)
                obstore.put(self._store, key, parts, use_multipart=True, chunk_size=PART_BYTES, max_concurrency=1)

    def size(self, key: str) -> int:
        import obstore

        with self._errors(key):
            return obstore.head(self._store, key)["size"]

    def read(self, key: str, offset: int, limit: int) -> bytes:
        import obstore

        with self._errors(key):
            return bytes(obstore.get_range(self._store, key, start=offset, end=offset + limit))

    def keys_after(self, after: str, limit: int) -> Sequence[str]:
        import obstore

        with self._errors(""):
            for part in obstore.list(self._store, offset=after or None, chunk_size=limit):
                return sorted(each["path"] for each in part)
        return []

    def delete(self, keys: Sequence[str]) -> None:
        import obstore

        with self._errors(""):
            if keys:
                obstore.delete(self._store, list(keys))

    def mark(self) -> str | None:
        import obstore

        try:
            with self._errors(MARK):
                return bytes(obstore.get(self._store, MARK).bytes()).decode(errors="replace").strip()
        except NotFound:
            return None

    def set_mark(self, mark: str) -> str:
        """See `LogStore`. Where the storage cannot put only what is missing, the last who does has put it."""
        import obstore
        from obstore.exceptions import AlreadyExistsError, NotSupportedError

        with self._errors(MARK):
            try:
                obstore.put(self._store, MARK, f"{mark}\n".encode(), mode="create")
            except AlreadyExistsError:
                pass
            except NotSupportedError:
                obstore.put(self._store, MARK, f"{mark}\n".encode())
        return self.mark() or mark

    @contextmanager
    def _errors(self, key: str) -> Iterator[None]:
        """The texts of obstore contain what the server answered, such as the id of a key: only codes leave here."""
        try:
            yield
        except FileNotFoundError as error:
            if (code := code_in(error)) not in (None, "NoSuchKey"):
                raise Unavailable(f"the log store {self._place} has no such bucket ({code}); make it") from None
            raise NotFound(f"the log store {self._place} has no {key}") from None
        except self._denied as error:
            raise Denied(
                f"the log store {self._place} does not let us in ({code_in(error) or type(error).__name__}); "
                f"check log_store.access_key_id, its secret and its rights"
            ) from None
        except self._base_error as error:
            raise Unavailable(f"the log store {self._place} {_said(error)}") from None


def _said(error: BaseException) -> str:
    code = code_in(error)
    return f"is full ({code}); make room there" if code in _FULL else said(error)


def _parts(fd: int, begin: int, end: int, advanced: Advanced) -> Iterator[bytes]:
    while begin < end:
        data = os.pread(fd, min(PART_BYTES, end - begin), begin)
        if not data:
            raise Unavailable("the log became shorter while it was copied")
        begin += len(data)
        yield data
        advanced()

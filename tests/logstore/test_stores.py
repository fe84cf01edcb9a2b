"""Properties of every log store, in a shared folder and on a real S3-compatible server."""

from __future__ import annotations

import errno
import json
import os
import random
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from logstore import handed_files, value_files
from logstore.folder import FolderStore
from logstore.opening import open_store
from logstore.protocol import MARK, PART_BYTES, LogStore
from logstore.settings import LogStoreSettings
from model.errors import Denied, NotFound, Refused, Unavailable
from model.files.handed_files import HandedFile, handed_file
from model.parameters.large_values import LargeValue
from tests.every import every
from tests.servers.s3 import KEY, SECRET, S3Server

NAMES = [
    "20260101/1/2/3.log",
    "20260101/1/2/30.log",
    "20260101/1/20/4.log",
    "20260101/10/2/5.log",
    "20260102/1/2/6.log",
]


def settings_of(server: S3Server, bucket: str, **given: Any) -> LogStoreSettings:
    found = {"url": f"s3://{bucket}/a/b", "endpoint": server.endpoint, "timeout": 3}
    keys = {"access_key_id": KEY, "secret_access_key": SECRET}
    return LogStoreSettings.model_validate({**found, **keys, **given})


@pytest.fixture(params=["folder", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> LogStore:
    if request.param == "folder":
        (tmp_path / "shared").mkdir()
        settings = LogStoreSettings(url=(tmp_path / "shared").as_uri())
    else:
        settings = settings_of(request.getfixturevalue("s3_server"), request.getfixturevalue("bucket"))
    found = open_store(settings)
    assert found is not None
    return found


@pytest.fixture
def put(store: LogStore, tmp_path: Path) -> Callable[..., None]:
    def put(key: str, data: bytes, begin: int = 0) -> None:
        file = tmp_path / "source"
        file.write_bytes(data)
        with file.open("rb") as opened:
            store.put(key, opened.fileno(), begin, len(data), lambda: None)

    return put


def test_a_copy_is_there_as_a_whole_and_read_from_anywhere(store: LogStore, put: Callable[..., None]) -> None:
    put(NAMES[0], b"0123456789")
    assert store.size(NAMES[0]) == 10
    assert store.read(NAMES[0], 0, 10) == b"0123456789"
    assert store.read(NAMES[0], 3, 2) == b"34"
    put(NAMES[0], b"0123456789new", begin=8)
    assert store.read(NAMES[0], 0, 5) == b"89new", "in place of the former one"
    large = os.urandom(2 * PART_BYTES + 7)
    put(NAMES[1], large)
    assert store.size(NAMES[1]) == len(large)
    assert store.read(NAMES[1], PART_BYTES - 5, 10) == large[PART_BYTES - 5 : PART_BYTES + 5]


def test_what_is_not_there_is_not_found(store: LogStore, put: Callable[..., None]) -> None:
    put(NAMES[0], b"x")
    for name in NAMES[1:]:
        with pytest.raises(NotFound, match="has no 2026"):
            store.size(name)
        with pytest.raises(NotFound, match="has no 2026"):
            store.read(name, 0, 1)
    store.delete(NAMES)
    store.delete(NAMES)
    with pytest.raises(NotFound):
        store.size(NAMES[0])


def test_keys_come_in_order_a_page_at_a_time(store: LogStore, put: Callable[..., None]) -> None:
    assert store.keys_after("", 10) == []
    store.set_mark("m")
    for name in reversed(NAMES):
        put(name, b"x")
    found, after = [], ""
    while page := store.keys_after(after, 2):
        assert len(page) <= 2
        found += [each for each in page if each != MARK]
        after = page[-1]
    assert found == sorted(NAMES)
    assert [key for key in store.keys_after(NAMES[1], 10) if key != MARK] == sorted(NAMES)[
        sorted(NAMES).index(NAMES[1]) + 1 :
    ]


def test_a_mark_is_put_once(store: LogStore) -> None:
    assert store.mark() is None
    assert store.set_mark("first") == "first"
    assert store.set_mark("second") == "first"
    assert store.mark() == "first"


def test_a_log_that_gets_shorter_while_it_is_copied_leaves_no_copy(store: LogStore, tmp_path: Path) -> None:
    file = tmp_path / "source"
    for size in (10, PART_BYTES + 10):
        file.write_bytes(b"x" * size)
        with file.open("rb") as opened, pytest.raises(Unavailable):
            store.put(NAMES[0], opened.fileno(), 0, size + 10, lambda: None)
        with pytest.raises(NotFound):
            store.size(NAMES[0])
    assert store.keys_after("", 10) == []


# ---------------------------------------------------------------------------------------------------- a folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "shared"
    root.mkdir()
    return root


def _put(folder: Path, tmp_path: Path, key: str = NAMES[0], data: bytes = b"said") -> None:
    (tmp_path / "source").write_bytes(data)
    with (tmp_path / "source").open("rb") as opened:
        FolderStore(folder).put(key, opened.fileno(), 0, len(data), lambda: None)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EIO, errno.ESTALE])
@pytest.mark.parametrize("call", ["write", "fsync", "rename", "mkdir", "open"])
def test_whatever_a_disk_refuses_is_one_sentence_and_leaves_nothing(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, number: int
) -> None:
    def fails(*_given: object, **_named: object) -> None:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patched:
        (tmp_path / "source").write_bytes(b"said")
        with (tmp_path / "source").open("rb") as opened:
            patched.setattr(f"logstore.folder.os.{call}", fails)
            said = {errno.ENOSPC: "is full", errno.EDQUOT: "is full", errno.EROFS: "is read-only"}
            said[errno.EACCES] = "does not let us in"
            with pytest.raises(Unavailable, match=said.get(number, "cannot be used")) as raised:
                FolderStore(folder).put(NAMES[0], opened.fileno(), 0, 4, lambda: None)
    assert str(raised.value).startswith(f"the log store {folder.as_uri()} ")
    assert not [each for each in folder.rglob("*") if each.is_file()]
    _put(folder, tmp_path)
    assert FolderStore(folder).read(NAMES[0], 0, 9) == b"said"


def test_a_folder_that_is_away_is_not_made(tmp_path: Path) -> None:
    away = tmp_path / "away"
    store = FolderStore(away)
    with pytest.raises(Unavailable, match="is not there: its folder does not exist on this machine"):
        _put(away, tmp_path)
    for call in (
        lambda: store.size(NAMES[0]),
        store.mark,
        lambda: store.keys_after("", 1),
        lambda: store.set_mark("m"),
    ):
        with pytest.raises(Unavailable, match="is not there"):
            call()
    assert not away.exists()


def test_links_in_a_folder_are_not_followed(folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (outside / "1" / "2").mkdir(parents=True)
    (outside / "1" / "2" / "3.log").write_text("secret")
    (folder / "20260101").symlink_to(outside)
    store = FolderStore(folder)
    with pytest.raises(Unavailable):
        _put(folder, tmp_path)
    with pytest.raises((NotFound, Unavailable)):
        store.read(NAMES[0], 0, 10)
    assert store.keys_after("", 10) == []
    (folder / "20260101").unlink()
    (folder / "20260101" / "1" / "2").mkdir(parents=True)
    (folder / NAMES[0]).symlink_to(outside / "1" / "2" / "3.log")
    with pytest.raises((NotFound, Unavailable)):
        store.read(NAMES[0], 0, 10)
    _put(folder, tmp_path)
    assert (outside / "1" / "2" / "3.log").read_text() == "secret"


def test_what_a_killed_process_left_of_a_copy_goes_a_day_later(folder: Path, tmp_path: Path) -> None:
    _put(folder, tmp_path)
    old, young = (folder / NAMES[0]).with_name(".4.log.aa.part"), (folder / NAMES[0]).with_name(".5.log.bb.part")
    old.write_text("half")
    young.write_text("half")
    os.utime(old, (1, 1))
    assert FolderStore(folder).keys_after("", 10) == [NAMES[0]]
    assert sorted(each.name for each in old.parent.iterdir()) == [".5.log.bb.part", "3.log"]


def test_empty_folders_go_with_their_last_copy(folder: Path, tmp_path: Path) -> None:
    _put(folder, tmp_path)
    _put(folder, tmp_path, NAMES[1])
    FolderStore(folder).delete([NAMES[0]])
    assert (folder / NAMES[1]).exists()
    FolderStore(folder).delete([NAMES[1]])
    assert list(folder.iterdir()) == []


# ---------------------------------------------------------------------------------------------------- objects


@pytest.fixture
def paused(s3_server: S3Server) -> Iterator[S3Server]:
    s3_server.pause()
    yield s3_server
    s3_server.resume()


def test_a_server_that_hangs_is_not_waited_for(paused: S3Server) -> None:
    store = open_store(settings_of(paused, "any-bucket", timeout=0.3))
    assert store is not None
    with pytest.raises(Unavailable, match="does not answer"):
        store.size(NAMES[0])


def test_a_bucket_that_is_missing_is_said_with_its_code(s3_server: S3Server, tmp_path: Path) -> None:
    store = open_store(settings_of(s3_server, "no-such-bucket"))
    assert store is not None
    (tmp_path / "source").write_bytes(b"said")
    with (
        (tmp_path / "source").open("rb") as opened,
        pytest.raises(Unavailable, match="no such bucket \\(NoSuchBucket\\)"),
    ):
        store.put(NAMES[0], opened.fileno(), 0, 4, lambda: None)


class _Refusing:
    """A server that answers everything alike, with the id of the key in it, as Amazon's does."""

    def __init__(self, status: str, code: str) -> None:
        import http.server

        number = int(status)
        body = f"<Error><Code>{code}</Code><Message>no</Message><AWSAccessKeyId>{KEY}</AWSAccessKeyId></Error>".encode()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_PUT(self) -> None:
                self.rfile.read(int(self.headers.get("content-length", 0)))
                self.send_response(number)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_PUT  # noqa: N815

            def log_message(self, *_given: object) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.endpoint = f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.mark.parametrize(
    ("status", "code", "kind", "said"),
    [
        ("403", "SignatureDoesNotMatch", Denied, "does not let us in (SignatureDoesNotMatch)"),
        ("403", "AccessDenied", Denied, "does not let us in (AccessDenied)"),
        ("507", "XMinioStorageFull", Unavailable, "is full (XMinioStorageFull)"),
        ("503", "SlowDown", Unavailable, "refused it (SlowDown)"),
        ("400", "EntityTooLarge", Unavailable, "is full (EntityTooLarge)"),
    ],
)
def test_what_a_server_refuses_is_said_without_the_key(
    tmp_path: Path, status: str, code: str, kind: type[Exception], said: str
) -> None:
    server = _Refusing(status, code)
    try:
        url = {"url": "s3://bucket/a", "endpoint": server.endpoint, "timeout": 3}
        store = open_store(LogStoreSettings.model_validate({**url, "access_key_id": KEY, "secret_access_key": SECRET}))
        assert store is not None
        (tmp_path / "source").write_bytes(b"said")
        with (tmp_path / "source").open("rb") as opened, pytest.raises(kind) as raised:
            store.put(NAMES[0], opened.fileno(), 0, 4, lambda: None)
    finally:
        server.close()
    assert said in str(raised.value)
    assert KEY not in repr(raised.value)
    assert raised.value.__cause__ is None
    assert raised.value.__suppress_context__


# --------------------------------------------------------------------------------------------------- settings


@every(
    ("given", "said"),
    [
        ({"url": "/mnt/logs"}, "it must be file:///FOLDER or s3://BUCKET/PREFIX"),
        ({"url": "file://host/mnt"}, "it must be file"),
        ({"url": "file:mnt"}, "must be absolute"),
        ({"url": "file:///mnt/../etc"}, "without .."),
        ({"url": "file:///mnt/%2e%2e/etc"}, "without .."),
        ({"url": "s3://key:geheim@bucket/logs"}, "must not contain a password"),
        ({"url": "s3://Bucket/logs"}, "its bucket must have"),
        ({"url": "s3://bucket/a/../b"}, "its prefix must have"),
        ({"url": "s3://bucket/a?geheim=1"}, "without \\? and #"),
        ({"url": "gs://bucket"}, "it must be file"),
        ({"endpoint": "http://key:geheim@host"}, "must not contain a password"),
        ({"endpoint": "ftp://host"}, "http://HOST:PORT"),
        ({"access_key_id": "geheim"}, "belong together"),
        ({"secret_access_key": "geheim"}, "belong together"),
        ({"timeout": 0}, "greater than"),
        ({"bucket": "geheim"}, "Extra inputs"),
    ],
)
def test_wrong_settings_are_refused_without_their_secrets(given: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said) as raised:
        LogStoreSettings.model_validate(given)
    assert "geheim" not in str(raised.value)


def test_no_setting_is_no_store() -> None:
    assert open_store(LogStoreSettings()) is None


def test_a_store_whose_library_is_missing_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "obstore", None)
    with pytest.raises(Refused, match="pip install 'shoal\\[s3\\]'"):
        open_store(LogStoreSettings(url="s3://bucket/logs"))


def test_a_value_is_read_as_it_was_kept_or_says_what_became_of_it(store: LogStore, put: Callable[..., None]) -> None:
    key, text = "20260101/1/2/3.0.value", json.dumps([{"name": "it's \u00e9", "n": n} for n in range(200_000)])

    def made() -> LargeValue:
        return value_files.put(store, lambda: None, key, "load it", "rows", text, is_text=False)

    value = made()
    assert (value.is_json, value.size) == (True, len(text))
    assert value_files.read(store, lambda: None, value) == text
    assert key in store.keys_after("", 100)
    for damaged in (text[:-1], text.replace("199999", "299999"), ""):
        put(key, damaged.encode())
        with pytest.raises(Refused, match=r'"rows" of task "load it" .*3\.0\.value .*changed.*; run "load it" again'):
            value_files.read(store, lambda: None, value)
    store.delete([key])
    with pytest.raises(Refused, match='is missing; run "load it" again'):
        value_files.read(store, lambda: None, value)
    text_like_json = value_files.put(store, lambda: None, key, "a", "t", "[1]", is_text=True)
    assert not text_like_json.is_json


def test_a_file_is_fetched_as_it_was_handed_on_or_says_what_became_of_it(
    store: LogStore, put: Callable[..., None], tmp_path: Path
) -> None:
    key, content = "20260101/1/2/3.0.file", random.Random(7).randbytes(9_000_000)
    (tmp_path / "left").write_bytes(content)

    def fetched(file: HandedFile) -> bytes:
        with (tmp_path / "got").open("wb", buffering=0) as target:
            handed_files.fetch(store, lambda: None, file, target.fileno())
        return (tmp_path / "got").read_bytes()

    with (tmp_path / "left").open("rb") as left:
        size, digest = handed_files.put(store, lambda: None, key, left.fileno())
    file = HandedFile(key, "a b.csv", size, digest, "load it")
    assert handed_file(file.written) == file
    assert fetched(file) == content
    assert key in store.keys_after("", 100)
    for damaged in (content[:-1], content[:-1] + b"x" if content[-1:] != b"x" else b"y", b""):
        put(key, damaged)
        with pytest.raises(Refused, match=r'"a b.csv" of task "load it" .*3\.0\.file .*changed.*; run "load it" again'):
            fetched(file)
    store.delete([key])
    with pytest.raises(Refused, match='is missing; run "load it" again'):
        fetched(file)

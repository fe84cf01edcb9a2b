"""The file by which the other verbs find a running `shoal up`."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from pathlib import Path

from shoal.config.whereabouts import FILE_NAME, read_whereabouts, remove_whereabouts, write_whereabouts

URL = "postgresql+psycopg://shoal:secret@/shoal?host=/x"


def test_what_was_written_is_found_until_it_is_removed(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_text("something of others")
    write_whereabouts(tmp_path, URL)
    found = read_whereabouts(tmp_path)
    assert found is not None
    assert found.database_url == URL
    assert "secret" not in repr(found)
    remove_whereabouts(tmp_path)
    assert read_whereabouts(tmp_path) is None
    remove_whereabouts(tmp_path)


def test_only_its_user_may_read_it(tmp_path: Path) -> None:
    write_whereabouts(tmp_path, URL)
    assert stat.S_IMODE((tmp_path / FILE_NAME).stat().st_mode) == 0o600


def test_what_a_killed_process_left_is_not_believed(tmp_path: Path) -> None:
    script = "import sys, pathlib, shoal.config.whereabouts as w; w.write_whereabouts(pathlib.Path(sys.argv[1]), 'x')"
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True)
    assert (tmp_path / FILE_NAME).exists()
    assert read_whereabouts(tmp_path) is None


def test_what_nobody_can_read_is_no_answer(tmp_path: Path) -> None:
    for content in ("", "[]", "{", json.dumps({"database_url": 1, "process": {"pid": 1}})):
        (tmp_path / FILE_NAME).write_text(content)
        assert read_whereabouts(tmp_path) is None
    assert read_whereabouts(tmp_path / "nix") is None

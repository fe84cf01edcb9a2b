"""`worker/attempts/extras.py`: the command that works where the worker was installed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from worker.attempts import extras


def test_in_a_clone_it_is_make_setup(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "Makefile").touch()
    monkeypatch.setattr(extras, "CLONE", tmp_path)
    monkeypatch.setattr(sys, "prefix", str(tmp_path / ".venv"))
    assert extras.how_to_install("duckdb").startswith(f"`make setup EXTRAS=duckdb` in {tmp_path}, where this worker")


def test_elsewhere_it_is_pip(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(extras, "CLONE", tmp_path)
    said = 'pip install "shoal[duckdb]" in the environment of this worker'
    assert extras.how_to_install("duckdb") == said
    monkeypatch.setattr(sys, "prefix", str(tmp_path / ".venv"))
    assert extras.how_to_install("duckdb") == said

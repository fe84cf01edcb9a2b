"""`make setup`: which extras it takes, and what it says next. What it installs is not tried here: it takes minutes."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib

from tests.test_repository import ROOT

MAKEFILE = (ROOT / "Makefile").read_text("utf-8")


def would(*arguments: str) -> subprocess.CompletedProcess[str]:
    """What `make` would do, or why it would not."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    return subprocess.run(
        ["make", "-n", *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


def test_the_extras_of_the_package_are_those_that_setup_takes() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    known = re.search(r"(?m)^KNOWN_EXTRAS := (.*)$", MAKEFILE)
    assert known is not None
    assert set(known[1].split()) == set(extras) - {"build", "dev", "local"}


def test_setup_installs_several_extras_at_the_versions_of_the_lock() -> None:
    done = would("setup", "EXTRAS=duckdb,mysql")
    assert done.returncode == 0, done.stderr
    assert "install --no-build-isolation --editable '.[duckdb,mysql]' -c .venv/versions.txt" in done.stdout


def test_an_extra_that_is_none_is_refused_with_those_there_are() -> None:
    done = would("setup", "EXTRAS=mysql,nix")
    assert done.returncode == 2
    assert 'there is no extra "nix"; there are: duckdb mysql k8s oidc otel s3 spark' in done.stderr


def test_setup_ends_with_the_next_step() -> None:
    assert f'export PATH="{ROOT}/.venv/bin:$PATH"' in would("setup").stdout
    assert would("setup").stdout.rstrip().endswith("'  shoal up'")

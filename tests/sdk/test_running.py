"""Flows that are deployed to a cluster and run there: by `shoal-sdk`, by `Client` and by `AsyncClient`."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from shoal_sdk import AsyncClient, RunFailed
from shoal_sdk.deploying import Source, deployed, rendered
from shoal_sdk.exchange import pages
from tests.sdk import sales
from tests.sdk.conftest import Shoal

SALES = Path(sales.__file__)
EXPECTED = {"rows": 2, "all": "Lima: 4 letters; Oslo: 4 letters"}


async def test_a_flow_goes_from_a_file_to_a_typed_result(shoal: Shoal, tmp_path: Path) -> None:
    shutil.copy(SALES, tmp_path / "sales.py")
    assert "new      of_file/daily_sales" in shoal.sdk("deploy", "sales.py", "--project", "of_file", folder=tmp_path)
    said = shoal.sdk("run", "sales.py", "weekly", "--project", "of_file", folder=tmp_path)
    assert 'SUCCESS: "2 bad rows of 1"' in said
    with shoal.client() as client:
        run = client.run(sales.daily_sales.given(on="2026-01-30", table="bad"), key="once", project="of_file")
        assert run.state == "SUCCESS"
        assert run.result == EXPECTED
        assert (
            client.start(sales.daily_sales.given(on="2026-01-30", table="bad"), key="once", project="of_file").id
            == run.id
        )
        log = list(run.task("notify").log(follow=True))
        assert '#{setValue(result={"text": "500 bad rows of 2"})}' in log
        (line,) = [line for line in run.task("extract").log() if "setValue" in line]
        assert line == '#{setValue(result={"text": "/srv/in/2026-01-30.csv\\nof ${on}"})}'
        asked = sales.steps.given(url=shoal.url, folder=str(tmp_path))
        (tmp_path / "in.txt").write_text("there")
        assert client.run(asked, project="of_file").result == f"200 {tmp_path}/in.txt ['LIMA', 'OSLO']"
    async with AsyncClient(shoal.url, shoal.token) as other:
        again = await other.run(sales.daily_sales, project="of_file", on="2026-01-31")
        assert await again.result() == EXPECTED
        published = [line async for line in (await again.task("publish")).log(follow=True)]
    assert published == ["#{setValue(line=sales of 2026-01-31: 2 sales)}"]


def test_modules_beside_a_flow_travel_with_it(shoal: Shoal, tmp_path: Path) -> None:
    package = tmp_path / "shop"
    package.mkdir()
    (package / "__init__.py").write_text('"""A shop."""\n')
    (package / "prices.py").write_text("def price(item: str) -> int:\n    return len(item)\n")
    (package / "flows.py").write_text(
        "from shoal_sdk import current, flow, task\nfrom shop.prices import price\n\n\n"
        '@task\ndef ask(item: str) -> int:\n    assert current().attempt == "1"\n    return price(item)\n\n\n'
        '@flow(code="inline")\ndef shop(item: str = "tea") -> int:\n    return ask(item)\n'
    )
    said = shoal.sdk("deploy", "shop", "--project", "shop", folder=tmp_path, code=1)
    assert "flows.py, line 2" in said
    assert 'write @flow(code="bundle")' in said
    # As long as before and of the same second: what Python compiled before must not be what is deployed.
    written = (package / "flows.py").stat()
    (package / "flows.py").write_text((package / "flows.py").read_text().replace('"inline"', '"bundle"'))
    os.utime(package / "flows.py", ns=(written.st_atime_ns, written.st_mtime_ns))
    assert "4 files would be saved" in shoal.sdk("deploy", "shop", "--project", "shop", "--dry-run", folder=tmp_path)
    assert "new      shop/shop" in shoal.sdk("deploy", "shop", "--project", "shop", folder=tmp_path)
    assert "SUCCESS: 6" in shoal.sdk(
        "run", "shop/flows.py", "--project", "shop", "--param", "item=coffee", folder=tmp_path
    )
    assert "same     shop/shop" in shoal.sdk("deploy", "shop", "--project", "shop", folder=tmp_path)


def test_a_result_that_is_too_large_fails_its_task_with_a_cure(shoal: Shoal) -> None:
    with shoal.client() as client:
        client.carry_out(deployed([rendered(sales.large, "large")], Source("tests")))
        run = client.run(sales.large, project="large")
        with pytest.raises(RunFailed, match="is FAILURE"):
            assert run.result
        log = "\n".join(run.task("too_much").log())
    assert "ResultTooLarge: the result of too_much has 0.1 MB, and a result has at most 64 KiB, with a log store" in log


def test_a_deployment_replaces_and_deletes_only_what_is_its_own(shoal: Shoal, tmp_path: Path) -> None:
    source = "from shoal_sdk import flow, shell\n\n\n@flow\ndef first() -> None:\n    shell('say', 'echo first')\n"
    (tmp_path / "first.py").write_text(source)
    (tmp_path / "second.py").write_text(source.replace("first", "second"))
    words = ("deploy", ".", "--project", "own", "--origin", "shop")
    shoal.sdk(*words, folder=tmp_path)
    (tmp_path / "hand.yaml").write_text("{name: by_hand, project: own, tasks: [{name: a, type: FAKE}]}")
    shoal.cluster.shoal("workflow", "apply", str(tmp_path / "hand.yaml"))
    # One flow is wrong for the server: nothing is saved of the other, which changed.
    (tmp_path / "first.py").write_text(source.replace("echo first", "echo 1"))
    (tmp_path / "wrong.py").write_text(
        source.replace("first", "wrong").replace("@flow", '@flow(time_zone="Mars/Base")')
    )
    said = shoal.sdk(*words, folder=tmp_path, code=1)
    assert "Mars/Base" in said
    assert "Traceback" not in said
    stored = shoal.cluster.shoal("workflow", "export", "first", "--project", "own")
    assert "echo first" in stored
    assert "sdk:shop" in stored
    # Somebody changes a flow on the page: it is not replaced.
    (tmp_path / "wrong.py").unlink()
    (tmp_path / "edited.yaml").write_text(stored.replace("echo first", "echo ONE"))
    shoal.cluster.shoal("workflow", "apply", str(tmp_path / "edited.yaml"))
    said = shoal.sdk(*words, folder=tmp_path, code=1)
    assert 'workflow "first" of project "own" was changed since it was deployed (version 2' in said
    assert "changed  own/first" in shoal.sdk(*words, "--force", folder=tmp_path)
    (tmp_path / "by_hand.py").write_text(source.replace("first", "by_hand"))
    assert "was not made by shoal-sdk" in shoal.sdk(*words, folder=tmp_path, code=1)
    # What is gone here is deleted there, and nothing else.
    (tmp_path / "by_hand.py").unlink()
    (tmp_path / "second.py").unlink()
    assert "deleted  own/second" in shoal.sdk(*words, "--prune", folder=tmp_path)
    with shoal.client() as client:
        left = client.carry_out(pages("/workflow-definitions", project="own"))
    assert sorted(each["name"] for each in left) == ["by_hand", "first"]

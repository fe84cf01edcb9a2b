"""Files that tasks return and get, with their content, also on another worker; and results that are large."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

from shoal_sdk import AsyncClient, File, Refused, SdkError, WrongFlow, flow
from shoal_sdk.deploying import Source, deployed, rendered
from shoal_sdk.errors import NoSuchPart
from shoal_sdk.exchange import get
from shoal_sdk.testing import simulate
from tests.sdk import reports
from tests.sdk.conftest import Shoal


async def test_a_file_goes_from_worker_to_worker_and_to_the_program_with_its_content(
    stored_shoal: Shoal, tmp_path: Path
) -> None:
    flows = [rendered(each, "reports") for each in (reports.daily_report, reports.parts, reports.whole)]
    with stored_shoal.client() as client:
        client.carry_out(deployed(flows, Source("tests")))
        run = client.run(reports.daily_report.given(), project="reports")
        result = run.result
        assert result.rows == 20_000
        line = "sales_of_2026-01-30.csv: 120,002 bytes of text/csv\n"
        assert (result.text.path.name, result.text.content_type) == ("report.txt", "text/plain")
        assert result.text.path.read_text() == line * 5_000
        assert client.run(reports.parts, project="reports").result == 100_000
        listed = client.run(reports.whole, project="reports").result
        assert [(each.path.name, each.path.stat().st_size) for each in listed] == [("1.bin", 10_000), ("2.bin", 20_000)]
        attempts = client.carry_out(get(f"/workflow-instances/{run.id}"))["tasks"]
        (attempt,) = (each for each in attempts if each["name"] == "report")
        path = f"/task-instances/{attempt['id']}/value"
        assert client.carry_out(get(path, name="result.rows")) == "20000"
        assert json.loads(client.carry_out(get(path, name="result")))["text"]["content_type"] == "text/plain"
        with pytest.raises(Refused, match=r'task "report" .* gave no "rows"; it gave result'):
            client.carry_out(get(path, name="rows"))
        # Its file in the log store is another one now: that is said, and no wrong result.
        key = json.loads(attempt["outputs"])["result"].split('"shoal_file": "')[1].split('"')[0]
        file = tmp_path / "store" / key
        file.write_bytes(file.read_bytes().replace(b"sales", b"saleS"))
        with pytest.raises(SdkError, match=r'the file "result.text" of task instance .* was changed on its way'):
            _ = run.result
    async with AsyncClient(stored_shoal.url, stored_shoal.token) as other:
        again = await other.run(reports.whole, project="reports", rows=5_000)
        assert [each.path.stat().st_size for each in await again.result()] == [10_000, 20_000]


async def test_files_are_anywhere_in_results_and_go_through_scripts_and_flows_below(stored_shoal: Shoal) -> None:
    flows = [reports.packs, reports.repacks, reports.unclaimed]
    with stored_shoal.client() as client:
        client.carry_out(deployed([rendered(each, "packs") for each in flows], Source("tests")))
        for each in (reports.packs, reports.repacks):
            found = client.run(each, project="packs").result
            assert found is not None
            assert (found.path.read_text(), found.content_type) == ("x" * 7, "text/plain")
        assert client.run(reports.packs.given(rows=0, size=1), project="packs").result is None
        run = client.run(reports.unclaimed, project="packs")
        assert run.state == "FAILURE"
        assert "TypeError: the result of claim has a File; annotate what it returns, as -> File" in "".join(
            run.task("claim").log()
        )


async def test_a_file_of_another_run_is_read_by_who_may_see_that_run(stored_shoal: Shoal, tmp_path: Path) -> None:
    with stored_shoal.client() as client:
        client.carry_out(deployed([rendered(reports.packs, "packs")], Source("tests")))
        run = client.run(reports.packs.given(size=1), project="packs")
        made = run.task("unpack").id
        outputs = json.loads(client.carry_out(get(f"/task-instances/{made}"))["outputs"])
        given = {"it": outputs["result"]}
        copy = {"name": "a", "type": "FAKE", "params": {"outputs": given}}
        (tmp_path / "copy.yaml").write_text(json.dumps({"name": "copy", "project": "others", "tasks": [copy]}))
        stored_shoal.cluster.shoal("workflow", "apply", str(tmp_path / "copy.yaml"))
        path = f"/task-instances/{client.run('copy', project='others').task('a').id}/value"
        assert client.carry_out(get(path, name="it")) == "x" * 7
    with await stored_shoal.viewer("others") as viewer:
        assert viewer.carry_out(get(path, name="it.size")) == "7"
        with pytest.raises(Refused, match="is of another run, which you may not see"):
            viewer.carry_out(get(path, name="it"))


def test_a_file_outside_of_a_run_is_a_path_and_in_a_flow_it_is_known_only_when_it_runs(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("tea\n")
    assert reports.size_of(File(tmp_path / "a.csv")) == 4
    run = simulate(reports.daily_report, at="2026-01-31 05:00", results={"extract": File(tmp_path / "a.csv", "x/y")})
    assert json.loads(run.values("report")["source"])["content_type"] == "x/y"
    made = reports.Report(File(tmp_path / "a.csv"), 2)
    run = simulate(reports.daily_report, at="2026-01-31 05:00", results={"report": made})
    assert (run.result.rows, run.result.text.path.read_text()) == (2, "tea\n")
    with pytest.raises(WrongFlow, match='the result of "report" is a object, which JSON cannot say'):
        simulate(reports.daily_report, at="2026-01-31 05:00", results={"report": object()})

    @flow
    def has_no_path() -> int:
        return reports.size_of(reports.extract("today", 1).path)  # type: ignore[arg-type]

    with pytest.raises(NoSuchPart, match=r'File has no field "path"; it has name, content_type, size, sha256'):
        has_no_path.spec()

    @flow
    def brings_its_own() -> int:
        return reports.size_of(File(tmp_path / "a.csv"))

    with pytest.raises(WrongFlow, match='the argument "part" is a File, which JSON cannot say'):
        brings_its_own.spec()


def test_models_may_have_files_and_flows_take_none(tmp_path: Path) -> None:
    class Made(BaseModel):
        file: File

    (tmp_path / "a.csv").write_text("tea\n")
    said = Made(file=File(tmp_path / "a.csv", "text/csv")).model_dump(mode="json")
    assert said["file"]["size"] == 4
    assert Made.model_validate(said).file.path.read_text() == "tea\n"
    with pytest.raises(ValidationError, match="it is no file of a task"):
        TypeAdapter(File).validate_python("a.csv")

    @flow
    def takes(source: File) -> int:
        return reports.size_of(source)

    with pytest.raises(WrongFlow, match='the parameter "source" is a File, which tasks alone hand on; give its path'):
        takes.spec()

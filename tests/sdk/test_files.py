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
        line = "sales of 2026-01-30.csv: 120,002 bytes of text/csv\n"
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
        key = json.loads(attempt["outputs"])["result"].split(":")[2]
        file = tmp_path / "store" / key
        file.write_bytes(file.read_bytes().replace(b"report.txt", b"reporT.txt"))
        with pytest.raises(SdkError, match="does not have the checksum of its result"):
            _ = run.result
    async with AsyncClient(stored_shoal.url, stored_shoal.token) as other:
        again = await other.run(reports.whole, project="reports", rows=5_000)
        assert [each.path.stat().st_size for each in await again.result()] == [10_000, 20_000]


def test_a_file_outside_of_a_run_is_a_path_and_in_a_flow_it_is_known_only_when_it_runs(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("tea\n")
    assert reports.size_of(File(tmp_path / "a.csv")) == 4
    run = simulate(reports.daily_report, at="2026-01-31 05:00", results={"extract": File(tmp_path / "a.csv", "x/y")})
    assert json.loads(run.values("report")["source"])["content_type"] == "x/y"

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


def test_a_file_that_was_changed_on_its_way_is_refused_and_models_may_have_files(tmp_path: Path) -> None:
    class Made(BaseModel):
        file: File

    (tmp_path / "a.csv").write_text("tea\n")
    said = Made(file=File(tmp_path / "a.csv", "text/csv")).model_dump(mode="json")
    assert said["file"]["size"] == 4
    assert Made.model_validate(said).file.path.read_text() == "tea\n"
    said["file"]["name"] = "../../b.csv"
    assert Made.model_validate(said).file.path.name == "b.csv"
    with pytest.raises(ValidationError, match="was changed on its way"):
        Made.model_validate({"file": {**said["file"], "base64": "AAAA"}})
    with pytest.raises(ValidationError, match="it is no file of a task"):
        TypeAdapter(File).validate_python("a.csv")

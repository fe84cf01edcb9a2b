"""The clients and a server of another release: its answers have more fields and other states, and lack an operation."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from shoal_sdk import AsyncClient, Refused, RunFailed
from shoal_sdk.deploying import Source, deployed, rendered
from shoal_sdk.exchange import VERSION, change
from shoal_sdk.runs import has_ended
from tests.sdk import sales
from tests.sdk.conftest import Shoal, served

FIND = "/api/v1/workflow-definitions:find"
VERSIONS = f"; the server is of version 0.0.0-test, and this SDK of {VERSION}: use one of that version"


@pytest.fixture
def other(shoal: Shoal, request: pytest.FixtureRequest) -> Iterator[Shoal]:
    """The API of another release beside the same cluster."""
    url = shoal.cluster.environment["SHOAL_DATABASE_URL"]
    with served(shoal.cluster, url, "tests.sdk.other_release", request.param) as made:
        yield made


@pytest.mark.parametrize("other", [""], indirect=True)
async def test_what_a_client_does_not_know_is_ignored(other: Shoal) -> None:
    with other.client() as client:
        flows = [rendered(each, "later") for each in (sales.daily_sales, sales.large)]
        client.carry_out(deployed(flows, Source("later")))
        run = client.start(sales.daily_sales, project="later", on="2026-01-31")
        assert run.result["rows"] == 2
        assert list(run.task("publish").log(follow=True)) == ["#{setValue(line=sales of 2026-01-31: 2 sales)}"]
        failing = client.start(sales.large, project="later").wait(timeout_s=60)
        with pytest.raises(RunFailed, match=f"run {failing.id} of large is FORGOTTEN: ") as failed:
            _ = failing.result
        assert failed.value.state == failing.state == "FORGOTTEN", "a final state that no client knows"
    async with AsyncClient(other.url, other.token) as again:
        assert (await (await again.run(sales.daily_sales, project="later")).result())["rows"] == 2


@pytest.mark.parametrize("other", [FIND], indirect=True)
def test_what_a_server_does_not_have_is_said_with_both_versions(other: Shoal) -> None:
    with other.client() as client:
        with pytest.raises(Refused) as missing:
            client.start(sales.daily_sales, project="later")
        assert str(missing.value) == f"there is nothing at {FIND}{VERSIONS}"
        with pytest.raises(Refused, match="/depth: Extra inputs are not permitted") as field:
            client.carry_out(change("POST", "/workflow-definitions:sync", {"depth": 1}))
        assert str(field.value).endswith(VERSIONS)


def test_the_end_of_a_run_is_known_of_a_server_that_does_not_show_its_time() -> None:
    assert [has_ended({"state": state}) for state in ("STOP", "READY_STOP", "FORGOTTEN")] == [True, False, False]

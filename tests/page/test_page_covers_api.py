"""Whatever the API can do, the page can do: each operation is requested by the page's source, or here with a reason."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from tests.test_repository import ROOT

SOURCE = ROOT / "ui" / "src"
ONLY_BY_API = {
    "get_health": "for who supervises the process; the page shows the same on Now and Cluster",
    "get_readiness": "for load balancers",
    "receive_webhook": "other systems send events to it; the page shows its address",
    "watch_events": "asked for by EventSource, see live/eventSource.ts",
    "sync_workflows": "for those who keep their files in git",
    "get_data_source": "the list has all of it",
    "get_environment": "the list has all of it",
    "get_error_command": "the list has all of it",
    "find_user": "resolves what is typed on the command line",
    "find_run": "resolves what is typed on the command line",
    "find_task_instance": "resolves what is typed on the command line",
    "suggest_names": "completes what is typed on the command line; the page searches by `search`",
    "list_commands": "pages through the whole queue; the page shows its beginning by `get_queue`",
    "get_saved_view": "the list has all of it",
    "change_saved_view": "for programs that keep a view up to date; the page saves another one and deletes the old",
    "find_log": "says at which node a log lies; `read_log` finds it by itself",
    "read_value": "a link of the browser saves it",
    "put_workflow": "for programs without a draft; the page saves a draft and publishes it",
    "check_draft": "the editor checks what is typed, before it is a draft, by `validate_workflows`",
    "diff_workflow_files": "compares files on a disk; the page compares drafts and versions",
    "diff_workflow_versions": "answers lines of text; the page reads both versions and compares their graphs too",
    "get_channel": "the list has all of it",
    "get_alert_group": "the list has all of it",
    "get_alert_rule": "the list has all of it",
    "get_layout": "`export_workflow` answers it within the file",
}
"""Operation -> why the page has no request for it."""


def _operations() -> Iterator[tuple[str, str, str]]:
    document = json.loads((ROOT / "docs" / "reference" / "openapi.json").read_text("utf-8"))
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if "operationId" in operation:
                yield operation["operationId"], method.upper(), path


def _requested() -> set[tuple[str, str]]:
    """Method and path of each request in the source: `api.GET("/api/v1/..."`."""
    request = re.compile(r"""api\.(GET|POST|PUT|PATCH|DELETE)\(\s*["'`]([^"'`]+)["'`]""")
    files = [path for path in SOURCE.rglob("*.ts*") if not path.name.endswith((".test.ts", ".d.ts"))]
    return {found for path in files for found in request.findall(path.read_text("utf-8"))}


def test_the_page_requests_each_operation_or_says_why_not() -> None:
    requested = _requested()
    missing = {name for name, method, path in _operations() if (method, path) not in requested}
    assert missing <= ONLY_BY_API.keys(), f"no file of ui/src requests {sorted(missing - ONLY_BY_API.keys())}"


def test_no_reason_is_left_over() -> None:
    requested = _requested()
    used = {name for name, method, path in _operations() if (method, path) not in requested}
    assert ONLY_BY_API.keys() <= used, f"requested, or gone: {sorted(ONLY_BY_API.keys() - used)}"


def test_each_request_is_one_of_the_api() -> None:
    known = {(method, path) for _, method, path in _operations()}
    assert _requested() <= known

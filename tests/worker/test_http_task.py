"""The task type HTTP against a real server that also answers slowly, hugely, brokenly and elsewhere."""

from __future__ import annotations

import asyncio
import json
from base64 import b64encode
from dataclasses import replace
from typing import Any

import pytest

from model.choices import ParameterType
from model.errors import Refused
from model.runs.states import TaskState
from tests.every import every
from tests.worker.http_server import HttpServer, Seen, http_server, never, says
from tests.worker.scene import Scene
from tests.worker.test_tasks import context
from worker.tasks.catalog import TaskCatalog
from worker.tasks.plugin import TaskResult

OK = {"*": says("200 OK", "fine")}


async def run(scene: Scene, values: dict[str, str] | None = None, **params: Any) -> TaskResult:
    return await TaskCatalog().make("HTTP", json.dumps(params), values or {}).run(context(scene))


async def test_a_request_gives_out_status_and_body(scene: Scene) -> None:
    async with http_server(OK) as server:
        result = await run(scene, url=f"{server.address}/a?b=c")
    assert result == TaskResult.success({"status": "200", "body": "fine"})
    assert server.seen[0].line == "GET /a?b=c HTTP/1.1"
    assert scene.log.text.startswith(f"GET {server.address}/a: 200, 4 bytes in ")


async def test_all_parts_of_a_request_arrive_as_they_were_given(scene: Scene) -> None:
    async with http_server(OK) as server:
        await run(
            scene,
            url=f"{server.address}/a?first=1",
            method="POST",
            headers={"X-Kind": "a b"},
            query={"n": 5, "q": "a&b=c d", "list": ["x", "y"]},
            body={"text": "ünï", "list": [1, None]},
        )
    (seen,) = server.seen
    assert seen.line == "POST /a?first=1&n=5&q=a%26b%3Dc%20d&list=x&list=y HTTP/1.1"
    assert (seen.header("X-Kind"), seen.header("Content-Type")) == ("a b", "application/json")
    assert json.loads(seen.body) == {"text": "ünï", "list": [1, None]}


ANSWER = {"result": {"items": [{"id": 7, "name": "a b"}, {"id": 8}], "none": None, "price": 1.10, "a b": True}}


async def test_paths_into_the_answer_become_values(scene: Scene) -> None:
    body = json.dumps(ANSWER).replace("1.1", "1.10")
    async with http_server({"*": says("200 OK", body)}) as server:
        result = await run(
            scene,
            url=server.address,
            output_body_characters=3,
            outputs={
                "name": "$.result.items[0].name",
                "last": "$.result.items[-1].id",
                "price": "$.result.price",
                "nothing": "$.result.none",
                "quoted": '$.result["a b"]',
                "list": "$.result.items",
            },
        )
    assert result.outputs == {
        "status": "200",
        "body": '{"r',
        "name": "a b",
        "last": "8",
        "price": "1.10",
        "nothing": "",
        "quoted": "true",
        "list": '[{"id": 7, "name": "a b"}, {"id": 8}]',
    }


@pytest.mark.parametrize(
    ("answer", "params", "reason"),
    [
        (says("404 Not Found", "no such"), {}, "it answered 404, expected was 2xx"),
        (says("200 OK"), {"expected_status": [201, "300-399"]}, "it answered 200, expected was 201, 300-399"),
        (says("200 OK", "bad"), {"body_contains": "good"}, "does not contain the text of body_contains"),
        (says("200 OK", "bad"), {"body_not_contains": "bad"}, "contains the text of body_not_contains"),
        (says("200 OK", "text"), {"outputs": {"a": "$.a"}}, "the body is not JSON"),
        (says("200 OK", "[" * 100_000), {"outputs": {"a": "$.a"}}, "the body is not JSON"),
        (says("200 OK", '{"b": 1}'), {"outputs": {"a": "$.a"}}, 'the body has nothing at $.a for "a"'),
        (says("200 OK", '{"a": [1]}'), {"outputs": {"a": "$.a[1]"}}, "nothing at $.a[1]"),
        (says("200 OK", "x" * 5000), {"response_bytes_max": 4999}, "larger than 4999 bytes"),
        (
            says("302 Found", "", "Location: /b"),
            {},
            "it answered 302, expected was 2xx; give the address it redirects to, or in an HTTP task follow_redirects",
        ),
    ],
)
async def test_an_answer_that_is_not_as_expected_is_a_failure_that_says_why(
    scene: Scene, answer: Any, params: dict[str, Any], reason: str
) -> None:
    async with http_server({"*": answer}) as server:
        result = await run(scene, url=f"{server.address}/x", **params)
    assert result.state is TaskState.FAILURE
    assert result.reason.startswith(f"GET {server.address}/x: ")
    assert reason in result.reason


@pytest.mark.parametrize("expected", [[404], ["404"], ["4xx"], ["200-404", 500]])
async def test_a_status_can_be_expected_in_several_ways(scene: Scene, expected: list[int | str]) -> None:
    async with http_server({"*": says("404 Not Found")}) as server:
        result = await run(scene, url=server.address, expected_status=expected)
    assert (result.state, result.outputs["status"]) == (TaskState.SUCCESS, "404")


@pytest.mark.parametrize("encoding", ["punycode", "idna", "base64", "undefined", "no-such"])
async def test_a_body_in_what_is_no_encoding_of_texts_is_read_as_utf_8(scene: Scene, encoding: str) -> None:
    answer = says("200 OK", "grün".encode(), f"Content-Type: text/plain; charset={encoding}")
    async with http_server({"*": answer}) as server:
        result = await run(scene, url=server.address)
    assert (result.state, result.outputs["body"]) == (TaskState.SUCCESS, "grün")


# --------------------------------------------------------------------------------------- servers that behave badly


async def _slowly(_: HttpServer, seen: Seen, writer: asyncio.StreamWriter) -> None:
    """A byte now and then: no single read is late, only the whole."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    while True:
        writer.write(b"x")
        await writer.drain()
        await asyncio.sleep(0.02)


async def _endlessly(_: HttpServer, seen: Seen, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        writer.write(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")
        await writer.drain()


async def _chunked_then_cut(_: HttpServer, seen: Seen, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
    await writer.drain()
    writer.transport.abort()


async def _nonsense(_: HttpServer, seen: Seen, writer: asyncio.StreamWriter) -> None:
    writer.write(b"220 mail.example ESMTP\r\n\r\n")
    await writer.drain()


async def _bad_gzip(_: HttpServer, seen: Seen, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nnope")
    await writer.drain()


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (never, "no complete answer within 0.3 s"),
        (_slowly, "no complete answer within 0.3 s"),
        (_endlessly, "larger than 1048576 bytes"),
        (_chunked_then_cut, "the connection was cut"),
        (_nonsense, "the connection was cut, or the response was not HTTP"),
        (_bad_gzip, "the answer could not be read (DecodingError)"),
    ],
)
async def test_a_bad_server_costs_a_failure_and_no_more(scene: Scene, answer: Any, reason: str) -> None:
    async with http_server({"*": answer}) as server:
        result = await run(scene, url=server.address, timeout_s=0.3 if "0.3" in reason else 100)
        assert result.state is TaskState.FAILURE
        assert reason in result.reason
        async with asyncio.timeout(30):
            await server.gone.wait()


async def test_nobody_listening_is_said(scene: Scene) -> None:
    async with http_server(OK) as server:
        address = server.address
    result = await run(scene, url=address)
    assert "cannot connect" in result.reason


async def test_a_cancellation_closes_the_connection(scene: Scene) -> None:
    async with http_server({"*": _slowly}) as server:
        task = asyncio.ensure_future(run(scene, url=server.address))
        async with asyncio.timeout(30):
            while not server.seen:
                await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await server.gone.wait()


# --------------------------------------------------------------------------------------------------- redirects


async def test_redirects_are_followed_when_that_is_wanted(scene: Scene) -> None:
    answers = {"/a": says("302 Found", "", "Location: /b"), "/b": says("200 OK", "there")}
    async with http_server(answers) as server:
        result = await run(scene, url=f"{server.address}/a", follow_redirects=True, headers={"X-Key": "k"})
    assert result.outputs["body"] == "there"
    assert server.seen[1].header("X-Key") == "k"


async def test_another_origin_gets_neither_headers_nor_body(scene: Scene) -> None:
    async with http_server(OK) as other:
        away = says("307 Temporary Redirect", "", f"Location: {other.address}/b")
        async with http_server({"*": away}) as server:
            headers = {"Authorization": "Bearer hunter22", "X-Key": "hunter22"}
            result = await run(scene, url=server.address, follow_redirects=True, headers=headers)
            assert result.state is TaskState.SUCCESS
            posted = await run(scene, url=server.address, follow_redirects=True, method="POST", body="hunter22")
    assert len(other.seen) == 1
    assert "hunter22" not in str(other.seen)
    assert "it redirects the body to 127.0.0.1" in posted.reason


async def test_a_circle_of_redirects_ends(scene: Scene) -> None:
    async with http_server({"*": says("302 Found", "", "Location: /")}) as server:
        result = await run(scene, url=server.address, follow_redirects=True)
    assert "it redirects more than 10 times" in result.reason
    assert len(server.seen) == 11


# ------------------------------------------------------------------------------------------ values and secrets


async def test_a_value_stays_in_its_place_wherever_it_is_put(scene: Scene) -> None:
    value = 'a/../b?c=d#e&f="g"\\h%41 ü'
    async with http_server(OK) as server:
        await run(
            scene,
            {"v": value, "base": f"{server.address}/api"},
            url="${base}/x/${v}/y?q=${v}&$${v}=1",
            method="POST",
            query={"more": "${v}"},
            body={"text": "<${v}>"},
        )
    encoded = "a%2F..%2Fb%3Fc%3Dd%23e%26f%3D%22g%22%5Ch%2541%20%C3%BC"
    (seen,) = server.seen
    assert seen.target == f"/api/x/{encoded}/y?q={encoded}&${{v}}=1&more={encoded}"
    assert json.loads(seen.body) == {"text": f"<{value}>"}
    assert scene.log.text.startswith("POST ${base}/x/${v}/y: 200")


async def test_a_body_of_parts_takes_json_where_a_value_of_that_type_stands_alone(scene: Scene) -> None:
    values = {"j": '[1.50, {"a": "}"}]', "n": "", "no": "007", "text": '{"a": 1}'}
    types = dict.fromkeys(("j", "n", "no"), ParameterType.JSON)
    body = {
        "all": "${j}",
        "in": ["${j}", "<${j}>"],
        "none": "${n}",
        "no": "${no}",
        "text": "${text}",
        "two": "${n}${n}",
    }
    async with http_server({"*": says("200 OK")}) as server:
        params = json.dumps({"url": server.address, "method": "POST", "body": body})
        await TaskCatalog().make("HTTP", params, values).run(replace(context(scene), types=types))
    sent = server.seen[0].body.decode()
    assert sent.startswith('{"all": [1.50, {"a": "}"}], "in": [[1.50, {"a": "}"}], "<'), "as it was written"
    assert json.loads(sent) == {
        "all": [1.5, {"a": "}"}], "in": [[1.5, {"a": "}"}], f"<{values['j']}>"], "none": None, "no": "007",
        "text": '{"a": 1}', "two": "",
    }  # fmt: skip


@pytest.mark.parametrize("value", ["[1, 2]", ' {"a": [null]}', "true", "null", "-1.50"])
async def test_outside_of_quotes_a_text_body_takes_one_json_value(scene: Scene, value: str) -> None:
    async with http_server({"*": says("200 OK")}) as server:
        await run(scene, {"v": value}, url=server.address, method="POST", body='{"n": ${v}}')
    assert server.seen[0].body.decode() == f'{{"n": {value}}}'


@pytest.mark.parametrize(
    ("body", "headers", "sent"),
    [
        ('{"a": "${v}"}', {}, '{"a": "x\\", \\"b\\": \\"<y>&z"}'),
        ("<a>${v}</a>", {"Content-Type": "application/xml"}, "<a>x&quot;, &quot;b&quot;: &quot;&lt;y&gt;&amp;z</a>"),
        (
            "a=${v}&b=1",
            {"content-type": "application/x-www-form-urlencoded"},
            "a=x%22%2C%20%22b%22%3A%20%22%3Cy%3E%26z&b=1",
        ),
        ("say ${v}", {}, 'say x", "b": "<y>&z'),
    ],
)
async def test_a_text_body_keeps_a_value_inside_by_its_content_type(
    scene: Scene, body: str, headers: dict[str, str], sent: str
) -> None:
    async with http_server(OK) as server:
        await run(scene, {"v": 'x", "b": "<y>&z'}, url=server.address, method="POST", body=body, headers=headers)
    assert server.seen[0].body.decode() == sent


async def test_a_number_can_stand_in_json_without_quotes(scene: Scene) -> None:
    async with http_server(OK) as server:
        await run(scene, {"n": "-1.5e3"}, url=server.address, method="POST", body='{"n": ${n}}')
    assert json.loads(server.seen[0].body) == {"n": -1500}


@pytest.mark.parametrize(
    ("params", "value", "sentence"),
    [
        ({"url": "http://h/x/${v}/y"}, "..", 'a segment of the path is ".."'),
        ({"url": "http://h/x/.${v}"}, ".", 'a segment of the path is ".."'),
        ({"url": "http://h/x/${v}"}, "", 'a segment of the path is ""'),
        ({"url": "http://${v}/x"}, "h@evil", "stands in the host"),
        ({"url": "http://h:${v}/x"}, "80/y", "stands in the host"),
        ({"url": "http://u:${v}@h/"}, "pq", "use user and password"),
        ({"url": "http://h", "user": "${v}", "password": ""}, "a:b", "it contains a colon"),
        ({"url": "${v}/x"}, "file:///etc", "must be an http:// or https:// address"),
        ({"url": "${v}/x"}, "http://h\r\nX: y", "must be an http:// or https:// address"),
        ({"url": "${v}/x"}, "http://h/?q=", "the address itself has no query"),
        ({"url": "${v}.example.com/"}, "http://evil", "must come / or ?"),
        ({"url": "ftp://h/"}, "", "must begin with http://"),
        ({"url": "http:///x"}, "", "and a host"),
        ({"url": "http://h/a b"}, "", "contains a space"),
        ({"url": "http://h", "headers": {"X": "a${v}"}}, "b\r\nY: c", 'the value of "X" contains a line break'),
        ({"url": "http://h", "headers": {"X": "${v}"}}, "ü", "what is not ASCII"),
        ({"url": "http://h", "headers": {"X Y": "1"}}, "", "is not the name of a header"),
        ({"url": "http://h", "headers": {"Content-Length": "1"}}, "", "is set by the request itself"),
        ({"url": "http://h", "body": '{"a": ${v}}'}, '1, "b": 2', "stands outside of quotes"),
        ({"url": "http://h", "body": '{"a": ${v}}'}, "NaN", "stands outside of quotes"),
        ({"url": "http://h", "body": '{"a": ${v}}'}, '[1], "b": [2]', "stands outside of quotes"),
        ({"url": "http://h", "body": '{"a": ${v}}'}, "[Infinity]", "stands outside of quotes"),
        ({"url": "http://h", "body": '{"a": ${v}}'}, '"text"', "stands outside of quotes"),
        ({"url": "http://h", "body": '{"a": "\\${v}"}'}, '"', "there is a backslash before"),
        ({"url": "http://h", "ca_file": "/no/such"}, "", "no certificates can be read there"),
    ],
)
async def test_a_value_that_would_break_out_is_refused(
    scene: Scene, params: dict[str, Any], value: str, sentence: str
) -> None:
    with pytest.raises(Refused) as refused:
        await run(scene, {"v": value}, **params)
    assert sentence in str(refused.value)
    assert not value or value == ".." or value not in str(refused.value) or len(value) < 3


@every(
    ("params", "sentence"),
    [
        ({}, "url: Field required"),
        ({"url": "http://h", "method": "BREW"}, "method: Input should be"),
        ({"url": "http://h", "expected_status": ["2x"]}, "'2x' is not a status"),
        ({"url": "http://h", "expected_status": []}, "expected_status"),
        ({"url": "http://h", "outputs": {"a": "a.b"}}, '"a.b" is not a path'),
        ({"url": "http://h", "outputs": {"a": "$..b"}}, '"$..b" is not a path'),
        ({"url": "http://h", "outputs": {"status": "$.b"}}, "status and body are taken"),
        ({"url": "http://h", "timeout_s": 0}, "timeout_s"),
        ({"url": "http://h", "user": "a"}, "user and password go together"),
        (
            {"url": "http://h", "user": "a", "password": "b", "headers": {"authorization": "c"}},
            "make the header Authorization; remove one of them",
        ),
    ],
)
def test_wrong_fields_are_refused_when_the_definition_is_saved(params: dict[str, Any], sentence: str) -> None:
    with pytest.raises(Refused) as refused:
        TaskCatalog().make("HTTP", json.dumps(params), {})
    assert sentence in str(refused.value)


async def _echo(_: HttpServer, seen: Seen, writer: asyncio.StreamWriter) -> None:
    await says("500 No", f"you sent {seen.headers} {seen.target}")(_, seen, writer)


async def test_a_user_and_a_password_are_sent_and_never_shown(scene: Scene) -> None:
    async with http_server({"*": _echo}) as server:
        await run(scene, {"p": "hunter22"}, url=server.address, user="ada", password="${p}")
    sent = b64encode(b"ada:hunter22").decode()
    assert server.seen[0].header("Authorization") == f"Basic {sent}"
    assert "you sent" in scene.log.text
    assert sent not in scene.log.text


async def test_no_header_or_query_reaches_the_log(scene: Scene) -> None:
    async with http_server({"*": _echo}) as server:
        result = await run(
            scene,
            {"secret": "hunter23"},
            url=f"{server.address}/${{secret}}",
            headers={"Authorization": "Bearer hunter24", "X-Key": "${secret}"},
        )
        assert result.state is TaskState.FAILURE
        await run(scene, url=f"{server.address}/?key=hunter22", expected_status=[500])
    assert server.seen[0].header("Authorization") == "Bearer hunter24"
    assert "you sent" in scene.log.text
    assert "hunter2" not in scene.log.text
    assert "hunter" not in result.reason


async def test_the_workers_own_proxy_and_password_file_are_not_used(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    (scene.cwd / ".netrc").write_text("machine 127.0.0.1 login a password hunter22\n")
    monkeypatch.setenv("NETRC", str(scene.cwd / ".netrc"))
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    async with http_server(OK) as server:
        result = await run(scene, url=server.address)
    assert result.state is TaskState.SUCCESS
    assert server.seen[0].header("Authorization") is None

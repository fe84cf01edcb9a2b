"""What a sender does with alerts and channels; receivers and database are real."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dao.alerts import deliveries, routing
from dao.postgres.pool import AsyncConnection
from tests.alert.conftest import Desk, sending
from tests.alert.receivers import HttpReceiver, MailServer
from tests.eventually import eventually
from tests.servers.postgres import PostgresServer


async def test_an_alert_that_is_written_by_sql_arrives_as_a_mail(desk: Desk, mails: MailServer) -> None:
    await desk.channel("ops", mails.url())
    async with sending(desk):
        await desk.alert('worker "w1" was lost', why="its beat stood still", left=3)
        await eventually(lambda: mails.subjects, within_s=20)
        assert await eventually(desk.results, until=[('worker "w1" was lost', "ops", "SENT", None)])
    (mail,) = mails.mails
    assert mail["Subject"] == '[Shoal] worker "w1" was lost'
    assert mail["To"] == "ops@example.org"
    body = mail.get_content().replace("\r\n", "\n")
    assert 'worker "w1" was lost\n\n' in body
    assert "why: its beat stood still\n" in body
    assert "left: 3\n" in body


async def test_an_alert_of_a_run_links_to_its_attempt_on_the_page(desk: Desk, mails: MailServer) -> None:
    await desk.channel("ops", mails.url())
    async with sending(desk, page_url="https://shoal.example.org/ui/"):
        await desk.run("INSERT INTO alert (kind, severity, subject, facts, workflow_instance_id, task_instance_id) "
                       "VALUES ('APPROVAL', 'INFO', 'it waits', '{\"task\": \"go on?\"}', 42, 88123)")  # fmt: skip
        await eventually(lambda: mails.subjects, within_s=20)
    body = mails.mails[0].get_content().replace("\r\n", "\n")
    assert "link: https://shoal.example.org/ui/runs/42?task=%22go+on%3F%22&attempt=88123\n" in body


async def test_a_channel_that_hangs_or_drips_delays_no_other_one(desk: Desk, web: HttpReceiver) -> None:
    for number in range(3):
        await desk.channel(f"hang{number}", web.url("hang"))
    await desk.channel("drip", web.url("drip"))
    async with sending(desk, timeout=timedelta(seconds=15)):
        await desk.alert("first")
        await eventually(lambda: web.hanging >= 3, within_s=50)
        await desk.channel("good", web.url("hook"))
        for number in range(3):
            await desk.alert(f"alert {number}")
        await eventually(lambda: len(set(web.titles)) == 3, within_s=50)
        assert await desk.states("hang0") == ["WAIT"] * 4, "it still hangs"
    assert "no complete answer within" in await desk.reason("drip")


async def test_what_a_channel_answers_is_kept_as_a_reason_without_a_secret(desk: Desk, web: HttpReceiver) -> None:
    secret = "pa55w0rd-TOKEN"
    await desk.channel("a500", web.url(f"500/{secret}", f"ada:{secret}@"))
    await desk.channel("b302", web.url(f"302/{secret}", f"ada:{secret}@"))
    await desk.channel("c413", web.url(f"refuse/{secret}", f"ada:{secret}@"))
    await desk.channel("dtls", web.url(secret, f"ada:{secret}@").replace("json://", "jsons://"))
    await desk.channel("egone", f"json://ada:{secret}@127.0.0.1:1/{secret}?+X-Key={secret}")
    await desk.channel("fhost", f"json://{secret}.invalid/{secret}")
    await desk.channel("gnone", f"slack://{secret}")
    async with sending(desk):
        await desk.alert("one")
        await eventually(lambda: _all_tried(desk), within_s=30)
    reasons = {name: error for _, name, _, error in await desk.results()}
    assert reasons["a500"] == "it answered 500 Internal Server Error"
    assert reasons["b302"] == (
        "it answered 302 Found, a redirect to elsewhere.invalid, which is not followed: name the last address in the "
        "URL"
    )
    assert reasons["c413"] == "it answered 413 Request Entity Too Large"
    assert reasons["dtls"].startswith("its certificate was refused, or it does not speak TLS")
    assert reasons["egone"] == "cannot connect: Connection refused"
    assert reasons["gnone"].startswith("the URL is not one of slack://")
    assert secret not in str({name: reason for name, reason in reasons.items() if name != "fhost"})
    assert set(await desk.states()) == {"WAIT"}


async def _all_tried(desk: Desk) -> bool:
    return all(error for *_, error in await desk.results())


async def test_of_a_channel_the_oldest_goes_first_though_it_fails(desk: Desk, mails: MailServer) -> None:
    await desk.channel("ops", mails.url())
    mails.refuses = True
    async with sending(desk, group_from=100):
        for number in range(4):
            await desk.alert(f"alert {number}")
        await eventually(lambda: mails.tried >= 2, within_s=20)
        assert mails.subjects == []
        mails.refuses = False
        await eventually(lambda: len(mails.mails) == 4, within_s=30)
    assert mails.subjects == [f"[Shoal] alert {number}" for number in range(4)]
    assert await desk.states() == ["SENT"] * 4
    tries = await desk.run("SELECT tries FROM alert_delivery ORDER BY alert_id")
    assert tries[0][0] > 1
    assert tries[1:] == [(1,), (1,), (1,)], "those behind it were not tried meanwhile"


async def test_many_that_wait_become_one_message_that_lists_them(desk: Desk, mails: MailServer) -> None:
    await desk.channel("ops", mails.url())
    mails.wants = "alert 7 (alert 8)"  # also of one that is on its way
    async with sending(desk):
        await desk.alert("alert 0")
        await eventually(lambda: mails.tried >= 1, within_s=20)
        for number in range(1, 8):
            await desk.alert(f"alert {number}")
        await eventually(desk.states, until=["SENT"] + ["GROUPED"] * 7, within_s=20)
    (mail,) = mails.mails
    assert mail["Subject"] == "[Shoal] 8 alerts, the first: alert 0"
    assert all(f"alert {number} (alert {number + 1})" in mail.get_content() for number in range(8))
    grouped = await desk.run("SELECT grouped_with FROM alert_delivery ORDER BY alert_id")
    assert grouped == [(None,), *[(1,)] * 7]


async def test_the_result_of_a_sql_task_is_a_table_of_its_own(desk: Desk, mails: MailServer) -> None:
    await desk.channel("ops", mails.url())
    for number in range(5):
        await desk.alert(f"alert {number}")
    rows = [["PEK", 12, None], ["<b>SHA", 7, "late"]]
    await desk.alert("flights of today", kind="SQL_RESULT", columns=["airport", "n", "why"], rows=rows, total=9)
    await desk.alert("after")
    async with sending(desk):
        await eventually(lambda: len(mails.mails) == 3, within_s=20)
    assert mails.subjects == [
        "[Shoal] 5 alerts, the first: alert 0",
        "[Shoal] flights of today",
        "[Shoal] after",
    ]
    html = mails.mails[1].get_body(("html",))
    assert html is not None
    content = html.get_content()
    assert "<table" in content
    assert ">PEK</td>" in content
    assert "&lt;b&gt;SHA" in content
    assert ">NULL</td>" in content
    assert "9 rows, the first 2 shown" in content


async def test_what_a_silence_covers_is_kept_and_not_sent(desk: Desk, web: HttpReceiver) -> None:
    await desk.channel("hook", web.url())
    silence = (
        "INSERT INTO alert_silence (starts_at, ends_at, project, kind, reason) "
        "VALUES (clock_timestamp() - interval '1 hour', clock_timestamp() + interval '1 hour', :project, :kind, 'move')"
    )
    await desk.run(silence, project=None, kind="FAILOVER")
    await desk.run(silence, project="etl", kind=None)
    await desk.run(
        "INSERT INTO alert_silence (starts_at, ends_at) VALUES (clock_timestamp() - interval '2 hours', "
        "clock_timestamp() - interval '1 hour')"
    )
    async with sending(desk):
        await desk.alert("silenced")
        await desk.alert("heard", kind="ERROR_COMMANDS")
        await eventually(lambda: web.titles, within_s=20)
    assert web.titles == ["[Shoal] heard"]
    assert await desk.results() == [
        ("silenced", "hook", "SILENCED", "silence 1 covers it"),
        ("heard", "hook", "SENT", None),
    ]
    states = await desk.run("SELECT state, state_reason FROM alert ORDER BY id")
    assert states == [("SILENCED", "silence 1 covers it"), ("EXPANDED", None)]


async def test_an_alert_that_nobody_gets_says_why(desk: Desk, web: HttpReceiver) -> None:
    await desk.channel("hook", web.url(), "data")
    await desk.run("INSERT INTO alert_group (name) VALUES ('empty')")
    await desk.run("UPDATE alert_channel SET enabled = false")
    for group in ("nobody", "empty", "data"):
        await desk.alert("lost", group=group)
    async with sending(desk):
        states = await eventually(lambda: _expanded(desk), within_s=20)
    assert states == [
        ("NOBODY", 'there is no alert group "nobody"'),
        ("NOBODY", 'the alert group "empty" has no channel'),
        ("EXPANDED", None),
    ]
    assert await desk.results() == [("lost", "hook", "SILENCED", "the channel is off")]


async def test_no_alert_of_a_project_goes_to_a_group_that_it_may_not_use(desk: Desk, web: HttpReceiver) -> None:
    """Not even that of a refused command, which named the group, or of a rule that is older than the limit."""
    for group in ("theirs", "ours", "default"):
        await desk.channel(f"{group}-hook", web.url(), group)
    await desk.run("INSERT INTO project (name, alert_groups) VALUES ('etl', '{ours}'), ('free', NULL)")
    alerts = [("etl", "theirs"), ("etl", "ours"), ("etl", "default"), ("free", "theirs"), (None, "theirs")]
    for project, group in alerts:
        id_ = await desk.alert(f"{project} {group}", kind="ERROR_COMMANDS", group=group)
        await desk.run("UPDATE alert SET project = :project WHERE id = :id", project=project, id=id_)
    async with sending(desk):
        states = await eventually(lambda: _expanded(desk), within_s=20)
    assert states == [
        ("NOBODY", 'project "etl" may not use the alert group "theirs"'),
        *[("EXPANDED", None)] * 4,
    ]
    assert [subject for subject, *_ in await desk.results()] == [f"{project} {group}" for project, group in alerts[1:]]


async def _expanded(desk: Desk) -> list[tuple[str, str | None]] | None:
    states = await desk.run("SELECT state, state_reason FROM alert ORDER BY id")
    return None if any(state == "WAIT" for state, _ in states) else states


async def test_after_its_time_an_alert_is_failed_and_the_next_one_goes_on(desk: Desk, web: HttpReceiver) -> None:
    await desk.channel("hook", web.url())
    web.status = 503
    async with sending(desk, retry_for=timedelta(seconds=2), group_from=100):
        await desk.alert("old")
        await eventually(desk.states, until=["FAILED"], within_s=30)
        await desk.alert("new")
        web.status = 204
        await eventually(desk.states, until=["FAILED", "SENT"], within_s=30)
    assert web.titles == ["[Shoal] new"]
    assert await desk.reason("hook") == "it answered 503 Service Unavailable"


async def test_a_message_that_the_receiver_does_not_want_stops_the_others_for_a_while_only(
    desk: Desk, web: HttpReceiver
) -> None:
    """Alone it is refused five times; a message with others is taken apart to find it."""
    await desk.channel("hook", web.url())
    web.refuses_containing = b"poison"
    await desk.alert("poison")
    for number in range(6):
        await desk.alert(f"alert {number}")
    async with sending(desk, retry_first=timedelta(seconds=0.05), retry_max=timedelta(seconds=0.1)):
        await eventually(desk.states, until=["FAILED", "SENT", *["GROUPED"] * 5], within_s=40)
    assert web.titles == ["[Shoal] 6 alerts, the first: alert 0"]


async def test_a_template_with_a_mistake_is_shown_and_the_usual_text_is_sent(desk: Desk, web: HttpReceiver) -> None:
    await desk.channel(
        "good", web.url("good"), subject_template="${severity}: ${subject} $${x}", text_template="${at}!"
    )
    await desk.channel("bad", web.url("bad"), subject_template="${subjct}")
    async with sending(desk):
        await desk.alert("late")
        await eventually(lambda: len(web.posts) == 2, within_s=20)
        await eventually(desk.states, until=["SENT", "SENT"], within_s=20)
    by_path = {post.path: post.json for post in web.posts}
    assert by_path["/good"]["title"] == "WARNING: late ${x}"
    assert by_path["/good"]["message"].endswith("UTC!")
    assert by_path["/bad"]["title"] == "[Shoal] late"
    fault = "the channel's subject_template: there is no value ${subjct}; did you mean ${subject}?"
    assert fault in by_path["/bad"]["message"]
    assert await desk.reason("bad") == fault


async def test_bodies_of_a_megabyte_and_of_nothing_are_sent(desk: Desk, web: HttpReceiver, mails: MailServer) -> None:
    await desk.channel("hook", web.url())
    await desk.channel("ops", mails.url())
    async with sending(desk, group_from=100):
        await desk.alert("large", text="x" * 1_000_000)
        await desk.alert(" \n\x07")
        await desk.alert("wide", **{f"fact{n}": "y" * 10_000 for n in range(200)})
        await eventually(desk.states, until=["SENT"] * 6, within_s=40)
    assert web.titles == ["[Shoal] large", "[Shoal]", "[Shoal] wide"]
    assert all(len(post.body) < 1_100_000 for post in web.posts)


async def test_a_channel_whose_key_is_missing_says_so(desk: Desk, web: HttpReceiver) -> None:
    await desk.channel("hook", web.url())
    await desk.run("UPDATE alert_channel SET key_id = 'other'")
    async with sending(desk):
        await desk.alert("one")
        await eventually(lambda: desk.reason("hook"), within_s=20)
    assert "is encrypted with key other, which this process lacks" in await desk.reason("hook")


async def test_a_test_waits_for_no_older_alert_and_is_tried_once(desk: Desk, web: HttpReceiver) -> None:
    await desk.channel("hook", web.url())
    web.refuses_containing = b"older"
    async with sending(desk, retry_first=timedelta(hours=1), retry_max=timedelta(hours=1)):
        await desk.alert("older")
        await eventually(lambda: desk.reason("hook"), within_s=20)
        await desk.run("UPDATE alert_channel SET enabled = false")
        await desk.alert("a test", kind="TEST", channel="hook")
        await eventually(desk.states, until=["WAIT", "SENT"], within_s=20)
        web.status = 500
        await desk.alert("a failing test", kind="TEST", channel="hook")
        await eventually(desk.states, until=["WAIT", "SENT", "FAILED"], within_s=20)
        await desk.alert("a test of none", kind="TEST", channel="none")
        await eventually(
            lambda: desk.run("SELECT state, state_reason FROM alert WHERE id = 4"),
            until=[("NOBODY", "there is no such channel")],
        )
    assert web.titles == ["[Shoal] a test"]


async def test_what_a_sender_that_died_had_claimed_is_sent_by_another_when_the_claim_lapses(
    desk: Desk, web: HttpReceiver
) -> None:
    await desk.channel("hook", web.url())
    await desk.alert("one")
    await desk.run(
        "UPDATE alert_channel SET claimed_by = 'the dead', claimed_until = clock_timestamp() + interval '3 seconds'"
    )
    async with sending(desk):
        await eventually(desk.states, until=["SENT"], within_s=30)
    (early,) = await desk.run(
        "SELECT d.sent_at < a.created_at + interval '2 seconds' FROM alert_delivery d JOIN alert a ON a.id = d.alert_id"
    )
    assert early == (False,), "before that it was another's"
    assert await desk.run("SELECT claimed_by FROM alert_channel") == [(None,)]


async def test_a_sender_whose_claim_another_has_writes_nothing(desk: Desk, web: HttpReceiver) -> None:
    await desk.channel("hook", web.url())
    await desk.alert("one")
    async with desk.database.writing() as connection:
        await routing.expand(connection, 10)
        (late,) = await claimed(connection)
    await desk.run("UPDATE alert_channel SET claimed_until = clock_timestamp() - interval '1 second'")
    async with desk.database.writing() as connection:
        (mine,) = await claimed(connection)
    async with desk.database.writing() as connection:
        assert await deliveries.record_sent(connection, late, [1], None) == 0
        assert (
            await deliveries.record_failed(connection, late, [1], "x", deliveries.Retry(pause_s=1, retry_for_s=0)) == []
        )
    assert await desk.states() == ["WAIT"]
    assert await desk.run("SELECT claimed_by FROM alert_channel") == [(mine.claim,)]
    async with desk.database.writing() as connection:
        assert await deliveries.record_sent(connection, mine, [1], None) == 1


@pytest.mark.parametrize("time", ["alert_channel SET claimed_until", "alert_delivery SET next_try_at"])
async def test_a_claim_or_pause_from_before_the_clock_was_set_back_is_over(desk: Desk, time: str) -> None:
    await desk.channel("hook", "json://127.0.0.1:1/")
    await desk.alert("one")
    async with desk.database.writing() as connection:
        await routing.expand(connection, 10)
    await desk.run(f"UPDATE {time} = clock_timestamp() + interval '20 s'")
    async with desk.database.writing() as connection:
        assert await claimed(connection) == []
    await desk.run(f"UPDATE {time} = clock_timestamp() + interval '1 day'")
    async with desk.database.writing() as connection:
        assert len(await claimed(connection)) == 1


async def claimed(connection: AsyncConnection) -> list[deliveries.ClaimedChannel]:
    return await deliveries.claim(connection, deliveries.ClaimTerms("test", 30, 10), 5, has_failed=False)


async def test_where_a_courier_may_connect_is_checked_at_each_connection(desk: Desk, web: HttpReceiver) -> None:
    await desk.channel("hook", web.url().replace("127.0.0.1", "localhost"))
    await desk.channel("meta", "json://169.254.169.254/latest")
    await desk.channel("mapped", "json://[::ffff:169.254.169.254]/latest")
    async with sending(desk, reach=()):
        await desk.alert("inside")
        await eventually(lambda: _all_tried(desk), within_s=30)
    assert web.titles == []
    assert all("is not at a public address" in str(error) for *_, error in await desk.results())
    async with sending(desk):
        await eventually(lambda: web.titles, within_s=30)
    assert "is not at a public address" in await desk.reason("meta")
    assert "is not at a public address" in await desk.reason("mapped")
    await desk.channel("named", web.url().replace("127.0.0.1", "localhost"))
    async with sending(desk, reach=("localhost",)):
        await desk.alert("named")
        await eventually(lambda: web.titles.count("[Shoal] named") == 2, within_s=30)


async def test_a_sender_waits_through_an_outage_of_the_database(
    desk: Desk, web: HttpReceiver, postgres_server: PostgresServer
) -> None:
    await desk.channel("hook", web.url())
    async with sending(desk):
        await desk.alert("before")
        await eventually(lambda: web.titles, within_s=20)
        postgres_server.stop()
        postgres_server.start()
        await eventually(lambda: desk.alert("after"), within_s=30)
        await eventually(lambda: "[Shoal] after" in web.titles, within_s=30)

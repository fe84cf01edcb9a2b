"""What nodes do per second, from their beats."""

from __future__ import annotations

from model.cluster.node_rates import Beat, following, rates_of
from model.cluster.nodes import Counted, Heartbeat, NodeKind
from model.ids import Epoch

ONE, TWO = Epoch(1), Epoch(2)


def test_a_node_that_has_beaten_once_has_no_rate() -> None:
    assert rates_of(following({}, {ONE: Beat(10.0, Counted(started=500))}).values()) is None


def test_rates_are_those_between_the_beats_of_each_node() -> None:
    first = following({}, {ONE: Beat(10.0, Counted(commands=4)), TWO: Beat(9.0, Counted(started=10, ended=8))})
    then = following(
        first,
        {ONE: Beat(12.0, Counted(commands=10)), TWO: Beat(13.0, Counted(started=30, ended=12))},
    )
    rates = rates_of(then.values())
    assert rates is not None
    assert (rates.commands, rates.started, rates.ended) == (3, 5, 1)


def test_a_node_that_has_not_beaten_since_keeps_its_rate() -> None:
    first = following({}, {ONE: Beat(10.0, Counted())})
    then = following(first, {ONE: Beat(12.0, Counted(commands=8))})
    again = following(then, {ONE: Beat(12.05, Counted(commands=8))})
    rates = rates_of(again.values())
    assert rates is not None
    assert rates.commands == 4


def test_a_clock_that_is_set_back_begins_the_rates_again() -> None:
    first = following({}, {ONE: Beat(10.0, Counted())})
    then = following(first, {ONE: Beat(12.0, Counted(commands=8))})
    back = following(then, {ONE: Beat(5.0, Counted(commands=10))})
    assert rates_of(back.values()) is None
    rates = rates_of(following(back, {ONE: Beat(7.0, Counted(commands=14))}).values())
    assert rates is not None
    assert rates.commands == 2


def test_a_node_that_is_gone_counts_no_more_and_a_new_one_not_yet() -> None:
    first = following({}, {ONE: Beat(10.0, Counted())})
    then = following(first, {ONE: Beat(12.0, Counted(commands=8))})
    assert rates_of(following(then, {TWO: Beat(13.0, Counted(commands=100))}).values()) is None


def test_the_lag_is_the_mean_of_both_of_its_parts() -> None:
    first = following({}, {ONE: Beat(0.0, Counted()), TWO: Beat(0.0, Counted())})
    done = {ONE: Beat(5.0, Counted(ends=10, ends_s=0.1)), TWO: Beat(5.0, Counted(waits=4, waits_s=0.08))}
    rates = rates_of(following(first, done).values())
    assert rates is not None
    assert rates.lag_s is not None
    assert abs(rates.lag_s - 0.03) < 1e-9
    idle = rates_of(following(following(first, done), {each: Beat(9.0, done[each].counted) for each in done}).values())
    assert idle is not None
    assert idle.lag_s is None


def test_a_beat_of_a_former_version_counts_nothing_and_a_later_one_is_read() -> None:
    former = {"epoch": 1, "kind": "WORKER", "address": "w"}
    assert Heartbeat.model_validate(former).counted is None
    later = {**former, "counted": {"started": 3, "what_comes_later": 1}}
    assert Heartbeat.model_validate(later).counted == Counted(started=3)
    assert Heartbeat(epoch=ONE, kind=NodeKind.WORKER, address="w").counted is None

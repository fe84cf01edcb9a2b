"""What a task's process finds when it starts, and what the worker learns of its end."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import time
from pathlib import Path

import pytest

from tests.eventually import eventually
from tests.worker.scene import FAMILY, FAMILY_SIZE, MemoryLog, Scene
from worker.launcher.errors import CannotStart, TooLarge


@pytest.mark.parametrize(
    ("script", "code"),
    [("true", 0), ("exit 3", 3), ("exit 255", 255), ("kill -KILL $$", 137), ("kill -TERM $$", 143)],
)
async def test_the_exit_code_is_that_of_the_main_process_or_128_and_its_signal(
    scene: Scene, script: str, code: int
) -> None:
    assert await scene.bash(script) == code


async def test_both_outputs_go_to_the_log_in_their_order(scene: Scene) -> None:
    assert await scene.bash("echo one; echo two >&2; printf three") == 0
    assert scene.log.text == "one\ntwo\nthree"


async def test_binary_output_is_kept_as_it_is(scene: Scene) -> None:
    await scene.launcher.run(["printf", r"\xff\x00\xfe\n"], env=scene.env, cwd=scene.cwd, log=scene.log)
    assert scene.log.data == b"\xff\x00\xfe\n"


async def test_arguments_environment_and_folder_arrive_unchanged(scene: Scene) -> None:
    folder = scene.cwd / "a ü\n"
    folder.mkdir()
    odd = {**scene.env, "LARGE": "x" * 100_000, "ODD": "ü\n'\"$(id)\udcff"}
    argv = ["bash", "-c", 'printf "%s|" "$0" "$1" "$PWD" "${#LARGE}" "$ODD"', "ü \n", "$(id)"]
    assert await scene.launcher.run(argv, env=odd, cwd=folder, log=scene.log) == 0
    expected = "|".join(["ü \n", "$(id)", str(folder), "100000", odd["ODD"], ""])
    assert scene.log.data == os.fsencode(expected)


async def test_a_task_finds_a_clean_process(scene: Scene) -> None:
    """Nothing open but the three (the fourth is the listing's own), no input, private files, no core, no signal off."""
    ls = ["ls", "/proc/self/fd"]
    await scene.launcher.run(ls, env=scene.env, cwd=scene.cwd, log=scene.log)
    await scene.launcher.run(["cat"], env=scene.env, cwd=scene.cwd, log=scene.log)
    await scene.bash("umask; ulimit -c")
    assert scene.log.text.split() == ["0", "1", "2", "3", "0077", "0"]


async def test_a_task_goes_before_its_worker_when_memory_runs_out(scene: Scene) -> None:
    await scene.bash("cat /proc/self/oom_score_adj")
    assert int(scene.log.text) >= 500 > int(Path("/proc/self/oom_score_adj").read_text())


async def test_a_task_finds_every_signal_as_it_should_be(scene: Scene) -> None:
    status = ["grep", "-E", "SigIgn|SigBlk|NoNewPrivs", "/proc/self/status"]
    await scene.launcher.run(status, env=scene.env, cwd=scene.cwd, log=scene.log)
    found = dict(line.split(":\t") for line in scene.log.text.splitlines())
    assert found["NoNewPrivs"] == "0"
    for mask in ("SigIgn", "SigBlk"):  # the signals from 32 on are the C library's own, and differ between starters
        assert int(found[mask], 16) & 0x7FFF_FFFF == 0


async def test_a_task_leads_a_session_of_its_own(scene: Scene) -> None:
    await scene.bash("read -r _ _ _ _ group session _ < /proc/$$/stat; echo $(($$ - group)) $(($$ - session))")
    assert scene.log.text == "0 0\n"


async def test_the_environment_is_what_was_given_and_the_mark(scene: Scene) -> None:
    await scene.launcher.run(["env"], env={"A": "1"}, cwd=scene.cwd, log=scene.log)
    assert {line.partition("=")[0] for line in scene.log.text.splitlines()} == {"A", "SHOAL_LAUNCH"}


@pytest.mark.parametrize("argv", [["no-such-command"], ["/etc/passwd"], ["bash", "a\0b"]])
async def test_what_cannot_be_executed_is_named(scene: Scene, argv: list[str]) -> None:
    with pytest.raises(CannotStart, match=f'"{argv[0]}" cannot be started: .+'):
        await scene.launcher.run(argv, env=scene.env, cwd=scene.cwd, log=scene.log)


async def test_the_first_folder_of_path_with_something_to_execute_counts(scene: Scene) -> None:
    for name in ("folder", "plain", "broken", "right", "late"):
        (scene.cwd / name).mkdir()
        file = scene.cwd / name / "tool"
        if name == "folder":
            file.mkdir()
        else:
            shell = "/no/such/shell" if name == "broken" else "/bin/sh"
            file.write_text(f"#!{shell}\necho {name}\n")
            file.chmod(0o600 if name == "plain" else 0o700)
    path = ":".join(str(scene.cwd / name) for name in ("none", "folder", "plain", "broken", "right", "late"))
    assert await scene.launcher.run(["tool"], env={"PATH": path}, cwd=scene.cwd, log=scene.log) == 0
    assert scene.log.text == "right\n"
    with pytest.raises(CannotStart, match=r'"tool" cannot be started: Permission denied'):
        await scene.launcher.run(["tool"], env={"PATH": f"{scene.cwd}/plain"}, cwd=scene.cwd, log=scene.log)


async def test_an_environment_that_linux_does_not_allow_is_named_with_its_size(scene: Scene) -> None:
    said = r'"python3" cannot be started with an environment of [\d,]+ bytes, of which LONG has 131,072: Linux allows'
    with pytest.raises(TooLarge, match=said):
        await scene.launcher.run(["python3"], env={**scene.env, "LONG": "x" * 131_067}, cwd=scene.cwd, log=scene.log)
    assert await scene.launcher.run(["true"], env={"LONG": "x" * 131_066}, cwd=scene.cwd, log=scene.log) == 0
    with pytest.raises(TooLarge, match="give the task less or shorter data"):
        many = {f"LONG{number}": "x" * 131_000 for number in range(60)}
        await scene.launcher.run(["true"], env=many, cwd=scene.cwd, log=scene.log)


async def test_a_missing_folder_is_named(scene: Scene) -> None:
    with pytest.raises(CannotStart, match=r"in the folder .*/gone: No such file"):
        await scene.launcher.run(["true"], env=scene.env, cwd=scene.cwd / "gone", log=scene.log)


async def test_a_tasks_children_do_not_outlive_it(scene: Scene) -> None:
    assert await scene.bash(FAMILY + "sleep 0.2; exit 4") == 4
    assert scene.alive() == set()


async def test_the_whole_family_is_there_before_it_ends(scene: Scene) -> None:
    """Guards the other tests: a family that is never born leaves nothing either."""
    run = asyncio.create_task(scene.bash(FAMILY + "wait"))
    await eventually(lambda: len(scene.alive()) >= FAMILY_SIZE, within_s=15)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert scene.alive() == set()


async def test_a_polite_task_ends_by_itself_within_the_grace(scene: Scene) -> None:
    run = asyncio.create_task(
        scene.bash("trap 'sleep 0.1; echo cleaned up; exit 0' TERM; echo ready; sleep 1000 & wait")
    )
    await eventually(lambda: "ready" in scene.log.text, within_s=15)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert "cleaned up" in scene.log.text


async def test_a_task_that_ignores_term_is_killed_after_the_grace(scene: Scene) -> None:
    run = asyncio.create_task(scene.bash("trap '' TERM; echo ready; while :; do sleep 1000; done"))
    await eventually(lambda: "ready" in scene.log.text, within_s=15)
    asked = time.monotonic()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert time.monotonic() - asked >= 0.5
    assert scene.alive() == set()


async def test_a_second_cancellation_does_not_wait_for_the_grace(tmp_path: Path, scene: Scene) -> None:
    scene.launcher._grace_s = 60
    run = asyncio.create_task(scene.bash("trap '' TERM; echo ready; while :; do sleep 1000; done"))
    await eventually(lambda: "ready" in scene.log.text, within_s=15)
    run.cancel()
    await asyncio.sleep(0.1)
    assert not run.done()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(run, 30)
    assert scene.alive() == set()


async def test_a_stopped_task_gets_its_grace_too(scene: Scene) -> None:
    run = asyncio.create_task(scene.bash("trap 'echo cleaned up; exit' TERM; echo ready; kill -STOP $$; sleep 1000"))
    await eventually(lambda: "ready" in scene.log.text, within_s=15)
    await asyncio.sleep(0.1)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert "cleaned up" in scene.log.text


async def test_a_breeder_does_not_outrun_the_kill(scene: Scene) -> None:
    """Processes that fork and leave, so that each list of them is old when it is complete."""
    run = asyncio.create_task(scene.bash("hop() { ( sleep 0.01; hop & ) & }; hop; hop; hop; echo ready; sleep 1000"))
    await eventually(lambda: "ready" in scene.log.text, within_s=15)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert scene.alive() == set()


async def test_much_output_takes_little_memory(scene: Scene) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert await scene.bash("head -c 200000000 /dev/zero") == 0
    assert scene.log.size == 200_000_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000  # KiB


async def test_a_log_that_cannot_be_written_ends_the_task_with_that_reason(scene: Scene) -> None:
    class FullDisk(MemoryLog):
        def write(self, text: str | bytes) -> None:  # noqa: ARG002
            raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        await scene.launcher.run(["yes"], env=scene.env, cwd=scene.cwd, log=FullDisk())
    assert scene.alive() == set()


async def test_many_tasks_at_once_do_not_mix(scene: Scene) -> None:
    logs = [MemoryLog() for _ in range(40)]
    runs = [
        scene.launcher.run(["bash", "-c", f"echo {n}; exit {n}"], env=scene.env, cwd=scene.cwd, log=log)
        for n, log in enumerate(logs)
    ]
    assert await asyncio.gather(*runs) == list(range(40))
    assert [log.text for log in logs] == [f"{n}\n" for n in range(40)]


async def test_nothing_stays_open_in_the_worker(scene: Scene) -> None:
    await scene.bash("true")
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(5):
        await scene.bash("true")
    assert len(list(Path("/proc/self/fd").iterdir())) == before


async def test_closing_ends_what_still_runs(scene: Scene) -> None:
    run = asyncio.create_task(scene.bash("trap '' TERM\n" + FAMILY + "wait; sleep 1000"))
    await eventually(lambda: len(scene.alive()) > FAMILY_SIZE, within_s=15)
    await scene.launcher.close()
    assert scene.alive() == set()
    assert await run == 128 + signal.SIGKILL
    assert scene.launcher.zygote_pid is None


async def test_no_new_privileges_holds_for_the_task(scene: Scene) -> None:
    scene.launcher._no_new_privileges = True
    await scene.bash("grep NoNewPrivs /proc/$$/status")
    assert scene.log.text.split() == ["NoNewPrivs:", "1"]

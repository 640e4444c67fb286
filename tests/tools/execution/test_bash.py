"""The bash tool runs a command in a real process, and ends all of its processes when stopped."""

import asyncio
import os
import tracemalloc
from pathlib import Path

import psutil
import pytest
from tests.harness.tools import ToolHarness
from tests.waiting import until

from palimpsest.tools.execution.bash import child_environment, without_control_characters
from palimpsest.tools.execution.shell_runner import parent_by_pid
from palimpsest.tools.tool import Abort
from palimpsest.transcript.errors import Aborted, NotFound, PermissionDenied


def alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def pids(path: Path) -> list[int]:
    return [int(word) for word in path.read_text().split()] if path.exists() else []


async def test_output_and_exit_code(harness: ToolHarness) -> None:
    outcome = await harness.call("bash", command="echo out; echo err >&2; exit 3")

    assert outcome.output == "out\nerr\n[exit code 3]"
    assert outcome.metadata["exit_code"] == 3
    assert outcome.metadata["failed"]


async def test_silence_is_said(harness: ToolHarness) -> None:
    assert (await harness.call("bash", command="true")).output == "(no output)\n[exit code 0]"


async def test_runs_in_the_folder_it_is_given(harness: ToolHarness) -> None:
    harness.write("sub/a.txt", "")

    outcome = await harness.call("bash", command="ls", workdir="sub")

    assert outcome.output == "a.txt\n[exit code 0]"


async def test_a_missing_folder_is_named(harness: ToolHarness) -> None:
    with pytest.raises(NotFound, match="nowhere"):
        await harness.call("bash", command="ls", workdir="nowhere")


async def test_stdin_is_empty(harness: ToolHarness) -> None:
    outcome = await harness.call("bash", command="cat; echo done")

    assert outcome.output == "done\n[exit code 0]"


async def test_unicode_survives_and_broken_bytes_do_not_break(harness: ToolHarness) -> None:
    outcome = await harness.call("bash", command=r"echo 'grün 漢字'; printf '\xff\n'")

    assert outcome.output == "grün 漢字\n\ufffd\n[exit code 0]"


async def test_a_signal_is_named(harness: ToolHarness) -> None:
    assert "[ended by signal SIGKILL]" in (await harness.call("bash", command="kill -9 $$")).output


async def test_killing_the_runner_is_survived(harness: ToolHarness) -> None:
    outcome = await harness.call("bash", command="kill -9 $PPID; sleep 0.05")

    assert "unknown way" in outcome.output


async def test_secrets_are_not_in_the_environment(harness: ToolHarness) -> None:
    harness.extra["environment"] = {
        "PATH": os.environ["PATH"],
        "HOME": "/home/ada",
        "OPENAI_API_KEY": "value-of-the-key-1",
        "HF_TOKEN": "value-of-the-token-2",
        "DB_PASSWORD": "value-of-the-password-3",
        "COPY": "prefix value-of-the-key-1",
        "DATABASE_URL": "postgres://ada:lovelace99@db/x",
        "GITHUB": "ghp_" + "a" * 36,
        "HARMLESS": "yes",
    }

    output = (await harness.call("bash", command="env")).output

    assert "HARMLESS=yes" in output
    assert "HOME=/home/ada" in output
    for secret in ("value-of", "KEY", "TOKEN", "PASSWORD", "lovelace99", "ghp_", "COPY"):
        assert secret not in output


async def test_a_key_that_comes_out_anyway_is_taken_out(harness: ToolHarness) -> None:
    harness.extra["environment"] = {"PATH": os.environ["PATH"], "MY_KEY": "abc123def456"}
    harness.write("keys.txt", "abc123def456\n")

    outcome = await harness.call("bash", command="cat keys.txt")

    assert outcome.output == "[redacted]\n[exit code 0]"
    assert "abc123def456" not in str(outcome.metadata)
    assert "abc123def456" not in str(harness.shown)


def test_start_up_files_do_not_run_before_the_approved_command() -> None:
    assert "BASH_ENV" not in child_environment({"BASH_ENV": "/tmp/x", "A": "1"})


async def test_partial_output_is_shown_while_it_runs(harness: ToolHarness) -> None:
    await harness.call("bash", command="echo first; sleep 0.25; echo second; sleep 0.15")

    shown = [str(update["output"]) for update in harness.shown]
    assert shown[0] == "first\n"
    assert len(shown) <= 5


@pytest.mark.slow
async def test_a_stop_ends_a_child_that_left_group_and_session(harness: ToolHarness) -> None:
    noted = harness.root / "pids"
    command = (
        f"setsid bash -c 'echo $$ >> {noted}; sleep 600' & "
        f"(setsid setsid sleep 601 & echo $! >> {noted}) ; "
        f"trap '' TERM; echo $$ >> {noted}; echo started; while true; do sleep 0.1; done"
    )
    call = asyncio.ensure_future(harness.call("bash", command=command))
    await until(lambda: len(pids(noted)) == 3 and harness.shown)

    harness.abort.set()
    with pytest.raises(Aborted):
        await call

    assert [pid for pid in pids(noted) if alive(pid)] == []
    assert harness.shown[-1] == {"output": "started\n", "interrupted": True}


async def test_a_stop_before_the_start_starts_nothing(harness: ToolHarness) -> None:
    harness.abort.set()

    with pytest.raises(Aborted):
        await harness.call("bash", command="touch made")

    assert not (harness.root / "made").exists()


@pytest.mark.slow
async def test_a_cancelled_call_leaves_nothing_behind(harness: ToolHarness) -> None:
    noted = harness.root / "pids"
    call = asyncio.ensure_future(
        harness.call("bash", command=f"setsid sleep 620 & echo $! $$ > {noted}; sleep 620")
    )
    await until(lambda: len(pids(noted)) == 2)

    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call

    await until(lambda: not [pid for pid in pids(noted) if alive(pid)])


@pytest.mark.slow
async def test_a_timeout_ends_everything_and_keeps_the_output(harness: ToolHarness) -> None:
    noted = harness.root / "pids"
    command = f"setsid sleep 63 & echo $! > {noted}; echo half; sleep 63"

    outcome = await harness.call("bash", command=command, timeout_seconds=0.3)

    assert outcome.output.startswith("half\n[stopped after 0.3 s")
    assert outcome.metadata["timed_out"]
    assert not alive(pids(noted)[0])


async def test_a_background_process_does_not_hold_up_and_goes_on(harness: ToolHarness) -> None:
    noted = harness.root / "ticks"
    outcome = await harness.call(
        "bash",
        command=f"(while sleep 0.05; do echo tick; echo tick >> {noted}; done) & echo started",
    )

    assert outcome.output.startswith("started\n")
    assert "[exit code 0]\n[still running in the background" in outcome.output
    pid = outcome.metadata["background"][0]
    # It still prints, and without a reader it must neither block nor end.
    lines = len(noted.read_text().splitlines()) if noted.exists() else 0
    await until(lambda: noted.exists() and len(noted.read_text().splitlines()) > lines + 3)
    assert alive(pid)


async def test_background_processes_end_with_the_tool(harness: ToolHarness) -> None:
    outcome = await harness.call("bash", command="sleep 64 & echo started")

    harness.registry.resolve("bash").end_background()  # type: ignore[union-attr]

    assert not alive(outcome.metadata["background"][0])


@pytest.mark.slow
async def test_two_hundred_megabytes_stay_bounded_in_memory(harness: ToolHarness) -> None:
    tracemalloc.start()
    outcome = await harness.call(
        "bash", command="echo begin; head -c 200000000 /dev/zero | tr '\\0' 'a'; echo; echo end"
    )
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert outcome.output.startswith("begin\naaa")
    assert outcome.output.endswith("aaa\nend\n[exit code 0]")
    assert "bytes in the middle were not kept" in outcome.output
    assert len(outcome.output) < 10_500_000
    assert peak < 80_000_000


async def test_a_command_is_started_without_passwords(harness: ToolHarness) -> None:
    harness.extra["environment"] = {
        "PATH": os.environ["PATH"],
        "SMTP_PASS": "hunter-two-1",
        "MYSQL_PWD": "x",
        "CLOUD_CREDS": "y",
        "DATABASE_URL": "postgres://u:p@h/x",
        "STORE": "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=YWJj",
        "GIT_AUTHOR_NAME": "Ada",
        "PLAIN_URL": "https://example.org:8080/x",
        "SHELLOPTS": "xtrace",
        "PS4": "$(echo ran)",
    }

    output = (await harness.call("bash", command="export")).output
    said = (await harness.call("bash", command="echo hunter-two-1 postgres://u:p@h/x")).output

    assert "GIT_AUTHOR_NAME" in output
    assert "PLAIN_URL" in output
    for name in ("SMTP_PASS", "MYSQL_PWD", "CLOUD_CREDS", "DATABASE_URL", "STORE", "ran"):
        assert name not in output
    assert said.startswith("[redacted] [redacted]\n")


async def test_the_question_is_about_the_text_as_it_stands(harness: ToolHarness) -> None:
    await harness.call("bash", command="git status && echo $(date) | cat")

    [asked] = harness.user.asked
    assert asked.patterns == ("git status && echo $(date) | cat",)
    assert asked.always == ("git status && echo $(date) | cat",)


async def test_a_widened_rule_answers_for_no_text_that_is_not_plain(harness: ToolHarness) -> None:
    harness.user.rules = {"bash": {"echo *": "allow", "date": "allow", "cat *": "allow"}}

    await harness.call("bash", command="echo a; echo b | cat")
    assert harness.user.asked == []

    await harness.call("bash", command="echo $(date)")
    assert [question.patterns for question in harness.user.asked] == [("echo $(date)",)]


async def test_a_rule_for_one_command_does_not_allow_what_hangs_on_it(harness: ToolHarness) -> None:
    harness.user.rules = {"bash": {"git *": "allow", "rm *": "deny"}}

    with pytest.raises(PermissionDenied):
        await harness.call("bash", command="git status; rm -rf x")
    with pytest.raises(PermissionDenied):
        await harness.call("bash", command="git log $(rm x)")
    await harness.call("bash", command="git --version")

    assert harness.user.asked == []


async def test_a_rule_for_a_command_does_not_allow_what_it_overwrites(harness: ToolHarness) -> None:
    harness.user.rules = {"bash": {"echo *": "allow"}}

    await harness.call("bash", command="echo x > notes.txt")

    [asked] = harness.user.asked
    assert asked.patterns == ("echo x > notes.txt",)


async def test_writing_outside_the_project_asks_for_the_folder(harness: ToolHarness) -> None:
    await harness.call("bash", command="cp a.txt ../b.txt 2>/dev/null")

    [outside, _] = harness.user.asked
    assert (outside.permission, outside.patterns) == (
        "external_directory",
        (f"{harness.root.parent}/*",),
    )


def test_terminal_output_becomes_readable() -> None:
    raw = "\x1b[31mred\x1b[0m\r\n10%\r50%\r100%\r\nlink \x1b]8;;http://x\x07text\x1b]8;;\x07\a"

    assert without_control_characters(raw) == "red\n100%\nlink text"


async def test_ansi_is_kept_for_people_and_not_for_the_model(harness: ToolHarness) -> None:
    outcome = await harness.call("bash", command=r"printf '\033[31mred\033[0m\n'")

    assert outcome.output == "red\n[exit code 0]"
    assert outcome.metadata["output"] == "\x1b[31mred\x1b[0m\n"


@pytest.mark.slow
async def test_a_kernel_that_dies_takes_its_commands_along(tmp_path: Path) -> None:
    program = f"""
import asyncio, os, sys
sys.path.insert(0, {str(Path(__file__).parents[3])!r})
from pathlib import Path
from tests.harness.tools import ToolHarness
harness = ToolHarness(Path({str(tmp_path)!r}))
asyncio.run(harness.call("bash", command="setsid sleep 650 & echo $! $$ > pids; sleep 650"))
"""
    kernel = await asyncio.create_subprocess_exec(os.sys.executable, "-c", program)  # type: ignore[attr-defined]
    noted = tmp_path / "pids"
    await until(lambda: len(pids(noted)) == 2)

    kernel.kill()
    await kernel.wait()

    await until(lambda: not [pid for pid in pids(noted) if alive(pid)])


@pytest.mark.slow
async def test_a_stop_at_any_moment_leaves_nothing_running(harness: ToolHarness) -> None:
    for milliseconds in range(0, 60, 4):
        harness.abort = Abort()
        call = asyncio.ensure_future(
            harness.call("bash", command="setsid sleep 66.6 & setsid sleep 66.6 & sleep 66.6")
        )
        await asyncio.sleep(milliseconds / 1000)
        harness.abort.set()
        with pytest.raises(Aborted):
            await call

    sleeping = [p.cmdline() for p in psutil.process_iter() if p.status() != psutil.STATUS_ZOMBIE]
    assert ["sleep", "66.6"] not in sleeping


def test_processes_are_found_without_lists_of_children() -> None:
    assert parent_by_pid()[os.getpid()] == os.getppid()

"""Tests wait for conditions, not for a fixed time, and fork no whole process: files that sleep are listed here."""

import re
from collections import Counter
from pathlib import Path

TESTS = Path(__file__).parent
SLEEP = re.compile(r"\b(?:sleep|wait_for_timeout)\((?!0\))")
"""``sleep(0)`` only lets the event loop run, and takes no time."""

ALLOWED = {
    "waiting.py": 3,  # the one place that polls for a condition
    "test_waiting.py": 1,  # this file
    "harness/time_limits.py": 1,  # stands for asyncio.sleep, and waits for an event
    "kill/test_restoring.py": 1,  # a process is killed at a random moment
    "kill/test_kernel.py": 1,  # likewise
    "store/takeover_kernel.py": 1,  # two kernels take each other's lease at random moments
    "e2e/test_hosts.py": 1,  # code of a cell that is stopped
    "e2e/test_saved_answer.py": 1,  # code in a saved answer, which never runs
    "e2e/test_panel.py": 1,  # code of a cell that runs until a file is there
    "e2e/recorded_turns.py": 1,  # the agent's code, which is stopped
    "e2e/test_inspector_tab.py": 1,  # likewise
    "frontends/page_channel/test_channel.py": 1,  # code of a cell that runs until a thread is done
    "frontends/test_litellm_import.py": 2,  # an import that is held
    "frontends/process_guard/test_as_in_a_cell.py": 16,  # the agent's code, compared with a cell's
    "frontends/process_guard/test_event_loop.py": 2,  # code that runs in nested loops
    "frontends/process_guard/test_late_ends.py": 2,  # the agent's code, which goes on after its end
    "frontends/process_guard/test_kernel_ends.py": 5,  # the agent's code, which ends meanwhile
    "session/controls/test_held_own_policy.py": 1,  # code of a policy that never ends
    "tools/execution/test_bash.py": 1,  # a command is stopped at each of fifteen moments of its start
}
"""Allowed sleeps of each file, with the reason; benchmarks are exempt, since they measure time."""


def test_nothing_sleeps_to_wait() -> None:
    sleeps = Counter(
        {
            path.relative_to(TESTS).as_posix(): len(SLEEP.findall(path.read_text()))
            for path in TESTS.rglob("*.py")
            if "bench" not in path.parts
        }
    )

    assert sleeps - Counter(ALLOWED) == Counter(), (
        "wait with until() or eventually() of tests.waiting"
    )


def test_nothing_is_started_by_a_fork_of_all_that_the_tests_hold() -> None:
    """``preexec_fn`` has Python copy the process of the tests, for 27 ms of a processor at 400 MB, before a program starts."""
    named = "preexec" + "_fn="
    assert [path.name for path in TESTS.rglob("*.py") if named in path.read_text()] == []

"""The loop of the kernel survives nested loops, stops and exits in the agent's Python."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.harness.agent_python import call_python
from tests.harness.kernel import Kernel
from tests.sample_size import thinned

from palimpsest.frontends.process_guard.event_loop import (
    LOOP_STOPPED,
    protected_iteration,
    run_in_steps,
)


def ran_by(loop: asyncio.AbstractEventLoop, code: Any) -> list[str]:
    """Run a coroutine function on a loop to its end; return what was told."""
    told: list[str] = []

    async def main() -> None:
        await run_in_steps(code(), told.append, lambda: None)

    loop.run_until_complete(main())
    loop.close()
    return told


def run_what_is_ready(loop: Any, most: int) -> None:
    """Do what a nested loop does: run the callbacks that wait in this round."""
    for _ in range(min(most, len(loop._ready))):
        loop._ready.popleft()._run()


@settings(deadline=None)
@given(behind=st.integers(0, 20), taken=st.integers(0, 20), steps=st.integers(1, 4))
def test_a_round_of_the_loop_stays_whole_whatever_a_nested_loop_took(
    behind: int, taken: int, steps: int
) -> None:
    loop, ran = asyncio.new_event_loop(), []

    async def code() -> None:
        for step in range(steps):
            woken = loop.create_future()

            def wake(woken: "asyncio.Future[None]" = woken) -> None:
                woken.set_result(None)
                for number in range(behind):
                    loop.call_soon(ran.append, number)

            loop.call_soon(wake)
            await woken
            run_what_is_ready(loop, taken)
            assert step < steps

    assert ran_by(loop, code) == []
    assert sorted(ran) == sorted([*range(behind)] * steps)


def test_a_loop_that_the_code_stops_goes_on_and_it_is_told() -> None:
    loop = asyncio.new_event_loop()

    async def code() -> None:
        loop.stop()
        await asyncio.sleep(0)

    assert ran_by(loop, code) == [LOOP_STOPPED]


def test_what_is_no_loop_of_asyncio_is_left_alone() -> None:
    with protected_iteration(None, pytest.fail):
        pass


NESTED = {
    "asyncio.run": "print(asyncio.run(work()))",
    "run_until_complete": "print(loop.run_until_complete(work()))",
    "run in a task": "async def f():\n    return asyncio.run(work())\nprint(await f())",
}
BEHIND = """
import asyncio, nest_asyncio2
async def work():
    await asyncio.sleep(0.01)
    return 3
loop = asyncio.get_running_loop()
woken = loop.create_future()
def wake():
    woken.set_result(None)
    for _ in range(9): loop.call_soon(int)
loop.call_soon(wake)
await woken
nest_asyncio2.apply()
"""


@pytest.mark.slow
@pytest.mark.parametrize("nested", thinned(NESTED.values(), 3), ids=NESTED.keys())
def test_a_nested_loop_with_callbacks_behind_the_code_leaves_the_kernel_alive(
    folder: Path, nested: str
) -> None:
    with Kernel(cwd=folder) as kernel:
        kernel.load_scripted_model()

        called = call_python(kernel, BEHIND + nested)

        assert called.output == "[stdout]\n3"
        assert kernel.run("await asyncio.sleep(0.01); print(asyncio.run(work()))").stream() == "3\n"

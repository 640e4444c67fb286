"""Any exception of a user's function ends its own call and nothing else."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.harness.session import SessionHarness, ask
from tests.session.extensions.test_hooks import ALLOWED, make_harness, notices, tools
from tests.waiting import LAST_RESORT_SECONDS

from palimpsest.model.script import calls, says
from palimpsest.testing import ScriptedModel
from palimpsest.tools.registration.function_tools import FunctionTool
from palimpsest.transcript.parts import ToolFailed


def exits() -> str:
    """End everything."""
    sys.exit(3)


def interrupts() -> str:
    """Interrupt everything."""
    raise KeyboardInterrupt


def stops() -> str:
    """Raise what no future takes."""
    raise StopIteration


async def exits_later() -> str:
    """End everything, awaited."""
    sys.exit(3)


async def cancels() -> str:
    """Raise what a loop takes for its end."""
    raise asyncio.CancelledError


ENDS = [
    (exits, "it tried to end the kernel (SystemExit)"),
    (interrupts, "it tried to end the kernel (KeyboardInterrupt)"),
    (stops, "it raised StopIteration"),
    (exits_later, "it tried to end the kernel (SystemExit)"),
    (cancels, "it was cancelled from within"),
]


@pytest.mark.parametrize(("function", "words"), ENDS)
async def test_a_tool_that_tries_to_end_the_kernel_fails(
    tmp_path: Path, function: Any, words: str
) -> None:
    harness = SessionHarness(
        tmp_path, ScriptedModel(calls(function.__name__), says("Done.")), rules=ALLOWED
    )
    harness.services.agents.registry.register(FunctionTool(function))
    session = await harness.session()

    answer = await asyncio.wait_for(ask(session, "Go."), LAST_RESORT_SECONDS)

    assert answer.text == "Done."
    (part,) = tools(session)
    assert isinstance(part.state, ToolFailed)
    assert part.state.error == f"{function.__name__} failed: {words}."


@pytest.mark.parametrize("name", ["prompt", "tool_before", "tool_after", "decide", "system"])
@pytest.mark.parametrize("function", [exits_later, cancels])
async def test_a_hook_that_tries_to_end_the_kernel_is_skipped(
    tmp_path: Path, name: str, function: Any
) -> None:
    async def hook(_event: Any) -> Any:
        return await function()

    harness = make_harness(tmp_path, ScriptedModel(calls("list"), says("Done.")), (name, hook))
    session = await harness.session()

    answer = await asyncio.wait_for(ask(session, "Go."), LAST_RESORT_SECONDS)

    assert answer.text == "Done."
    words = {error_type.__name__: words for error_type, words in ENDS}[function.__name__]
    assert notices(session) == [f"The hook hook ({name}) failed: {words}. It was skipped."]

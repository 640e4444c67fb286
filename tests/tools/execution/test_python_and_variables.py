"""The python and variables tools format the kernel's answers."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest
from tests.harness.tools import ToolHarness

from palimpsest.tools.tool import (
    NAMES_AND_TYPES,
    Abort,
    PythonOutcome,
    ShownResult,
    ShownVariables,
    VariableInfo,
)
from palimpsest.transcript.errors import Aborted, NotFound, PermissionDenied, UserError
from palimpsest.transcript.parts import Attachment
from palimpsest.transcript.values import Reply

IMAGE = Attachment(mime="image/png", url="data:image/png;base64,AAAA")


@dataclass
class FakeKernel:
    """A fake kernel with scripted outcomes."""

    outcome: PythonOutcome = field(default_factory=lambda: PythonOutcome("", "", None, None))
    prints: tuple[str, ...] = ()
    waits: bool = False
    ran: list[str] = field(default_factory=list)

    async def run(
        self, code: str, *, call_id: str, abort: Abort, on_output: Callable[[str], None]
    ) -> PythonOutcome:
        assert call_id
        self.ran.append(code)
        for text in self.prints:
            await asyncio.to_thread(on_output, text)
        stopped = asyncio.Event()
        loop = asyncio.get_running_loop()
        if self.waits:
            abort.on_abort(lambda: loop.call_soon_threadsafe(stopped.set) and None)
            await stopped.wait()
        return self.outcome


@dataclass
class Variables:
    """The user's variables, given by the test."""

    found: Sequence[VariableInfo] = ()

    async def list(self, _shown: ShownVariables = NAMES_AND_TYPES) -> Sequence[VariableInfo]:
        return self.found

    async def description_of(self, name: str, max_chars: int = 4_000) -> str:
        if name != "df":
            raise NotFound(f"There is no variable {name!r}.")
        return "DataFrame, 3 rows"[:max_chars]


async def test_sections_are_labelled_and_empty_ones_left_out(harness: ToolHarness) -> None:
    harness.python = FakeKernel(PythonOutcome("hello\n", "", "42", None))

    outcome = await harness.call("python", code="print('hello')\n42")

    assert outcome.output == "[stdout]\nhello\n\n[result]\n42"
    assert outcome.title == "print('hello')"


async def test_the_question_shows_the_code(harness: ToolHarness) -> None:
    harness.python = FakeKernel()

    await harness.call("python", code="# a comment\nx = 1")

    [asked] = harness.user.asked
    assert (asked.permission, asked.patterns, asked.title) == (
        "python",
        ("# a comment\nx = 1",),
        "x = 1",
    )


async def test_refused_code_does_not_run(harness: ToolHarness) -> None:
    kernel = harness.python = FakeKernel()
    harness.user.reply = Reply(answer="reject")

    with pytest.raises(PermissionDenied):
        await harness.call("python", code="x = 1")

    assert kernel.ran == []


async def test_figures_are_attached_and_rich_results_named(harness: ToolHarness) -> None:
    harness.python = FakeKernel(
        PythonOutcome(
            "", "", None, None, images=(IMAGE,), displayed_mimes=("image/png", "text/html")
        )
    )

    outcome = await harness.call("python", code="plot()")

    assert outcome.attachments == (IMAGE,)
    assert outcome.metadata["rich"] == ["image/png", "text/html"]
    assert outcome.output == (
        "[images]\n1 image is attached.\n\n[shown to the user]\nimage/png, text/html"
    )


async def test_what_no_cell_shows_is_kept_for_the_panel_and_not_for_the_model(
    harness: ToolHarness,
) -> None:
    shown = (
        ShownResult("html", "<table>secret-value-1234</table>"),
        ShownResult("widget", "IntSlider"),
    )
    harness.extra["environment"] = {"A_API_KEY": "secret-value-1234"}
    harness.python = FakeKernel(PythonOutcome("", "", "a table", None, shown_results=shown))

    outcome = await harness.call("python", code="df")

    assert outcome.output == "[result]\na table"
    [table, widget] = outcome.metadata["shown"]
    assert table["kind"] == "html"
    assert "secret-value-1234" not in table["text"]
    assert widget == {"kind": "widget", "text": "IntSlider"}


async def test_an_error_in_the_code_is_an_answer(harness: ToolHarness) -> None:
    harness.python = FakeKernel(
        PythonOutcome("before\n", "", None, "ZeroDivisionError: division by zero")
    )

    outcome = await harness.call("python", code="1/0")

    assert outcome.output == "[stdout]\nbefore\n\n[error]\nZeroDivisionError: division by zero"
    assert outcome.metadata["failed"]


async def test_stopped_code_keeps_what_it_printed(harness: ToolHarness) -> None:
    harness.python = FakeKernel(
        PythonOutcome("half\n", "", None, None, was_interrupted=True), waits=True
    )
    asyncio.get_running_loop().call_later(0.02, harness.abort.set, "Stopped by the user.")

    with pytest.raises(Aborted, match="Stopped by the user"):
        await harness.call("python", code="loop()")

    assert harness.shown[-1] == {
        "output": "[stdout]\nhalf\n\n[interrupted]\nStopped before it finished.",
        "interrupted": True,
    }


async def test_what_it_prints_is_shown_while_it_runs(harness: ToolHarness) -> None:
    harness.python = FakeKernel(PythonOutcome("a\nb\n", "", None, None), prints=("a\n", "b\n"))

    await harness.call("python", code="loop()")

    assert harness.shown[0]["output"] in ("a\n", "a\nb\n")


async def test_keys_are_taken_out_of_the_output(harness: ToolHarness) -> None:
    harness.extra["environment"] = {"ANTHROPIC_API_KEY": "secret-value-1234"}
    harness.python = FakeKernel(PythonOutcome("", "", "{'k': 'secret-value-1234'}", None))

    assert (await harness.call("python", code="x")).output == "[result]\n{'k': '[redacted]'}"


async def test_without_a_kernel_it_says_so(harness: ToolHarness) -> None:
    with pytest.raises(UserError, match="no kernel"):
        await harness.call("python", code="1")
    with pytest.raises(UserError, match="no kernel"):
        await harness.call("variables")


async def test_variables_are_one_line_each_and_ask_nothing(harness: ToolHarness) -> None:
    harness.namespace = Variables(
        (
            VariableInfo("df", "pandas.DataFrame", "3 rows x 2 columns"),
            VariableInfo("n", "int", "", "5"),
            VariableInfo("who", "str", ""),
            VariableInfo("bare", "", ""),
        )
    )

    outcome = await harness.call("variables")

    assert outcome.output == "df: pandas.DataFrame - 3 rows x 2 columns\nn: int - 5\nwho: str\nbare"
    assert outcome.title == "4 variables"
    assert harness.user.asked == []


async def test_a_named_variable_is_described(harness: ToolHarness) -> None:
    harness.namespace = Variables()

    assert (await harness.call("variables", name="df")).output == "DataFrame, 3 rows"
    assert (await harness.call("variables")).output == "The user has no variables yet."
    with pytest.raises(NotFound, match="'nope'"):
        await harness.call("variables", name="nope")

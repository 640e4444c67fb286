"""The python tool: run Python code in the user's namespace.

Border: the runner is part of the context; the tool asks for permission, shows progress and formats the
outcome. The user's own process cannot be sandboxed, so permissions are the protection.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, Field

from palimpsest.tools.calls.progress import MAX_PREVIEW_CHARS, Progress
from palimpsest.tools.permission_rules.ipython_shell import shell_commands
from palimpsest.tools.tool import Abort, PythonOutcome, PythonRunner, ToolContext, ToolOutcome
from palimpsest.transcript.errors import Aborted, UserError

MAX_TITLE_CHARS = 80


class PythonArguments(BaseModel):
    """Input of the python tool."""

    code: str = Field(
        min_length=1,
        description="Python to run. The value of the last expression is shown, as in a cell.",
    )


class PythonTool:
    """The python tool, which runs code in the user's namespace."""

    name = "python"
    description = (
        "Run Python in the user's live notebook kernel: their variables and imports are there, and what you "
        "define stays. Returns stdout, stderr, the last expression's value and any traceback; figures come back "
        "as images and are shown to the user. One call runs at a time."
    )
    arguments: type[BaseModel] = PythonArguments
    concurrent = False
    permission = "python"

    async def run(self, arguments: PythonArguments, context: ToolContext) -> ToolOutcome:
        """Ask for permission, run the code, and return its output, result, error and figures."""
        if context.python is None:
            raise UserError("There is no kernel here to run Python in. Use another tool.")
        title = first_line(arguments.code)
        commands = shell_commands(arguments.code)
        shell_patterns = {"bash": commands} if commands else None
        await context.ask(
            "python", [arguments.code], title=title, always=["*"], other_patterns=shell_patterns
        )
        scrub = context.scrubber()
        printed_text = ""

        def on_output(text: str) -> None:
            nonlocal printed_text
            printed_text = (printed_text + text)[-MAX_PREVIEW_CHARS:]
            progress.schedule_update()

        progress = Progress(context, lambda: scrub(printed_text))
        try:
            outcome = await context.python.run(
                arguments.code, call_id=context.call_id, abort=context.abort, on_output=on_output
            )
        finally:
            progress.close()
        output = scrub(outcome_text(outcome))
        if outcome.was_interrupted:
            metadata = {**_left_running_metadata(outcome), "output": output, "interrupted": True}
            context.metadata(title, metadata)
            raise Aborted(context.abort.reason or "The code was stopped before it finished.")
        return ToolOutcome(title, output, _metadata(outcome, scrub), outcome.images)


@dataclass(frozen=True, slots=True)
class ObservedRunner:
    """A Python runner that reports each outcome to a callback."""

    _runner: PythonRunner
    _on_outcome: Callable[[str, str, PythonOutcome], None]
    """Called with code, call id and outcome."""

    async def run(
        self, code: str, *, call_id: str, abort: Abort, on_output: Callable[[str], None]
    ) -> PythonOutcome:
        """Run the code and return its outcome."""
        outcome = await self._runner.run(code, call_id=call_id, abort=abort, on_output=on_output)
        self._on_outcome(code, call_id, outcome)
        return outcome


SHOWN_RESULTS_KEY = "shown"
"""Key in a call's metadata: the rich results that the panel shows, each with its kind and text."""


def _metadata(outcome: PythonOutcome, scrub: Callable[[str], str]) -> dict[str, Any]:
    metadata = _left_running_metadata(outcome)
    if outcome.displayed_mimes:
        metadata["rich"] = list(outcome.displayed_mimes)
    if outcome.shown_results:
        metadata[SHOWN_RESULTS_KEY] = [
            {"kind": shown_result.kind, "text": scrub(shown_result.text)}
            for shown_result in outcome.shown_results
        ]
    if outcome.error is not None:
        metadata["failed"] = True
    if outcome.input_checksums:
        metadata["inputs"] = dict(outcome.input_checksums)
    return metadata


def _left_running_metadata(outcome: PythonOutcome) -> dict[str, Any]:
    left_running = outcome.left_running
    if left_running is not None and not left_running.all_ended.done():
        return {"left_running": list(left_running.descriptions)}
    return {}


def first_line(code: str) -> str:
    """Return the first line that is not empty or a comment, shortened, for a card's title."""
    lines = (line.strip() for line in code.splitlines())
    line = next((line for line in lines if line and not line.startswith("#")), code.strip())
    return line if len(line) <= MAX_TITLE_CHARS else line[: MAX_TITLE_CHARS - 3] + "..."


def outcome_text(outcome: PythonOutcome) -> str:
    """Return an outcome as text in labelled sections, without empty ones."""
    shown_types = [mime for mime in outcome.displayed_mimes if not mime.startswith("text/plain")]
    count = len(outcome.images)
    images_text = "1 image is attached." if count == 1 else f"{count} images are attached."
    sections = [
        ("stdout", outcome.stdout),
        ("stderr", outcome.stderr),
        ("result", outcome.result_text or ""),
        ("images", images_text if count else ""),
        ("shown to the user", ", ".join(shown_types)),
        ("error", outcome.error or ""),
        ("left behind", "\n".join(outcome.notes)),
        ("interrupted", "Stopped before it finished." if outcome.was_interrupted else ""),
    ]
    text = "\n\n".join(f"[{label}]\n{body.rstrip()}" for label, body in sections if body.strip())
    return text or "(no output)"

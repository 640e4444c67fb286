"""Build saved notebooks whose cells hold the agent's outputs, as after the kernel's end."""

from pathlib import Path
from typing import Any

import nbformat
from nbformat.v4 import new_code_cell, new_notebook, new_output

from palimpsest.transcript.messages import AssistantMessage, Message, MessagePath, MessageTime
from palimpsest.transcript.parts import (
    CompactionPart,
    Part,
    ReasoningPart,
    Span,
    StepFinishPart,
    TextPart,
    ToolCompleted,
    ToolFailed,
    ToolPart,
    ToolRunning,
    ToolState,
)
from palimpsest.transcript.values import ModelRef, Usage

MIME = "application/vnd.palimpsest.segment+json"
XSS = (
    "<img src=x onerror=\"document.title='ran'\">"
    "<script>document.title='ran'</script>"
    "<a href=\"javascript:document.title='ran'\">link</a>"
    "<svg onload=\"document.title='ran'\"></svg>"
    "<button data-commandlinker-command='notebook:delete-cell'>press</button>"
    "<img src='https://example.invalid/leak.png?q=1' alt='remote'>"
    "$\\href{javascript:document.title='ran'}{x}$ [md](javascript:document.title='ran')"
)
TABLE = """           count  mean   std
Adelie     151.0  38.8   2.7
Chinstrap   68.0  48.8   3.3
Gentoo     123.0  47.5   3.1"""


class SavedAnswer:
    """Builds the parts of one assistant message."""

    def __init__(self) -> None:
        self.parts: list[Part] = []

    def base(self) -> dict[str, Any]:
        """Return the common fields of the next part."""
        return {
            "id": f"prt_{len(self.parts):04}",
            "session_id": "ses_1",
            "message_id": "msg_1",
        }

    def text(self, words: str) -> "SavedAnswer":
        """Add a text part."""
        self.parts.append(TextPart(text=words, **self.base()))
        return self

    def thought(self, words: str) -> "SavedAnswer":
        """Add reasoning of 3.2 seconds."""
        self.parts.append(ReasoningPart(text=words, time=Span(start=0, end=3200), **self.base()))
        return self

    def tool(self, name: str, state: ToolState) -> "SavedAnswer":
        """Add a tool call."""
        base = self.base()
        self.parts.append(ToolPart(tool=name, call_id=f"call_{base['id']}", state=state, **base))
        return self

    def ran(self, name: str, output: str, **given: Any) -> "SavedAnswer":
        """Add a tool call with an output."""
        state = ToolCompleted(input=given, output=output, time=Span(start=0, end=210))
        return self.tool(name, state)

    def failed(self, name: str, error: str, **given: Any) -> "SavedAnswer":
        """Add a tool call that failed."""
        return self.tool(name, ToolFailed(input=given, error=error, time=Span(start=0, end=40)))

    def running(self, name: str, **given: Any) -> "SavedAnswer":
        """Add a tool call that is still running."""
        return self.tool(name, ToolRunning(input=given, time=Span(start=0)))

    def step(self) -> "SavedAnswer":
        """Add the end of a step."""
        usage = Usage(input=1460, output=280, reasoning=31, cache_read=11_020)
        self.parts.append(
            StepFinishPart(
                reason="stop", cost=0.012, tokens=usage, seconds=4.1,
                context_tokens=46_000, window=200_000, **self.base(),
            )
        )  # fmt: skip
        return self

    def compacted(self) -> "SavedAnswer":
        """Add a compaction part."""
        self.parts.append(CompactionPart(auto=True, **self.base()))
        return self

    def message(self, **more: Any) -> Message:
        """Return the message."""
        info = AssistantMessage(
            id="msg_1", session_id="ses_1", parent_id="msg_0", time=MessageTime(created=0),
            agent="build", model=ModelRef(provider="rehearsal", name="embedded"),
            path=MessagePath(cwd=".", root="."), **more,
        )  # fmt: skip
        return Message(info=info, parts=tuple(self.parts))


def segment(*messages: Message, is_open: bool = False, **more: Any) -> dict[str, Any]:
    """Return the data of the segment that a cell's output saves for the messages."""
    return {
        "version": 1,
        "session": "ses_1",
        "turn": "msg_0",
        "seq": [1, 40],
        "open": is_open,
        "messages": [message.model_dump(mode="json", exclude_none=True) for message in messages],
        **more,
    }


def write(path: Path, *segments: dict[str, Any]) -> None:
    """Write a notebook with one cell for each segment; the notebook is not trusted."""
    cells = [
        new_code_cell(
            f"%%agent\nquestion {number}",
            execution_count=number,
            outputs=[
                new_output(
                    "display_data",
                    {MIME: saved, "text/markdown": "fallback", "text/plain": "fallback"},
                )
            ],
        )
        for number, saved in enumerate(segments, start=1)
    ]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(new_notebook(cells=cells, metadata={"kernelspec": kernel}), path)

"""Two made sessions of one task, as pi records them: the same beginning, another way and another end."""

import json
from pathlib import Path
from typing import Any

PROMPT = "Mend the failing test of dates.py."
Step = tuple[str, str, dict[str, Any], str]
"""What is said, the tool, its input, and its result; without a tool the answer."""
TESTS: Step = ("I run the tests.", "bash", {"command": "pytest -q"}, "1 failed " + "line " * 400)
READ: Step = ("I look.", "read", {"path": "src/dates.py"}, "def month(): ... " * 300)
MENDED: tuple[Step, ...] = (
    TESTS,
    READ,
    ("Here.", "edit", {"path": "src/dates.py", "old": "11", "new": "12"}, "Edited."),
    ("Again.", "bash", {"command": "pytest -q tests"}, "2 passed"),
    ("Mended: a year has twelve months.", "", {}, ""),
)
REWRITTEN: tuple[Step, ...] = (
    ("The tests come first.", *TESTS[1:]),
    READ,
    ("I search <b>.", "bash", {"command": "grep -rn 'month' . | head"}, "match " * 900),
    ("I write it anew.", "write", {"path": "./src/dates.py", "content": "x"}, "Written."),
    ("And a note.", "write", {"path": "NOTES.md", "content": "x"}, "Written."),
    ("Again.", "bash", {"command": "pytest -q tests"}, "! 3 failed"),
)


def write_session(path: Path, steps: tuple[Step, ...], *, stopped_before: int = -1) -> Path:
    """Write a session and return its path; one answer may have been stopped before a step, and was asked for again.

    A result that begins with ``!`` is an error.
    """
    entries: list[dict[str, Any]] = []

    def add(message: dict[str, Any]) -> None:
        parent = entries[-1]["id"] if entries else None
        second = 7 * len(entries)
        moment = f"2026-01-01T10:{second // 60:02d}:{second % 60:02d}.000Z"
        name = f"{path.stem}-{len(entries)}"
        entry = {"type": "message", "id": name, "parentId": parent, "timestamp": moment}
        entries.append({**entry, "message": message})

    def answer(content: list[dict[str, Any]], tokens: int, stop: str) -> None:
        usage = {"input": 40, "output": 20, "cacheRead": tokens - 90, "cacheWrite": 50}
        prices = {"cost": {"total": tokens / 50_000}}
        model = {"provider": "mine", "model": "custom-1"}
        body = {"role": "assistant", "content": content, "usage": {**usage, **prices}}
        add({**body, **model, "stopReason": stop})

    add({"role": "user", "content": [{"type": "text", "text": PROMPT}]})
    tokens = 1_200
    for number, (said, tool, tool_input, result) in enumerate(steps):
        text = {"type": "text", "text": said}
        if number == stopped_before:
            answer([{"type": "text", "text": "Wait"}], tokens, "aborted")
        call = {"type": "toolCall", "id": f"call_{number}", "name": tool, "arguments": tool_input}
        answer([text, call] if tool else [text], tokens, "toolUse" if tool else "stop")
        if tool:
            content = [{"type": "text", "text": result}]
            base = {"role": "toolResult", "toolCallId": f"call_{number}", "toolName": tool}
            add({**base, "content": content, "isError": result.startswith("!")})
        tokens += 100 + len(result) // 4
    first = entries[0]["timestamp"]
    head = {"type": "session", "version": 3, "id": path.stem, "timestamp": first, "cwd": "/w"}
    lines = (json.dumps(line) + "\n" for line in (head, *entries))
    path.write_text("".join(lines), encoding="utf-8")
    return path


def write_both(folder: Path) -> tuple[Path, Path]:
    """Write both sessions; the first has an answer that was stopped before its second step."""
    return (
        write_session(folder / "mended.jsonl", MENDED, stopped_before=1),
        write_session(folder / "rewritten.jsonl", REWRITTEN),
    )

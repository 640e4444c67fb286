"""Split Aider's chat history, a Markdown file, into prompts of the user, output of Aider, and answers of models.

Aider quotes its own output with ``>`` and marks prompts with ``####``. It ends both with two blanks, so that they differ
from quotes and headings of an answer. A text of several lines has one mark, on its first line, and the blanks after its
last line. Where an editor removed the blanks, every quote and every such heading counts as Aider's.
"""

import re
from collections import deque
from collections.abc import Iterator
from typing import Literal, NamedTuple

SESSION_HEADER = re.compile(r"# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\s*")
BLOCK_END = "  "
MAX_SEARCHED_LINES = 2_000
"""Maximum lines that are searched for the end of a text of Aider's own."""
BEGINNINGS_AFTER_ANSWER = ("Tokens: ",)
"""Beginnings of a text of several lines that may directly follow an answer."""
_MARKED_LINE = re.compile(r"^(?:>|####)[^\n]*  \r?$", re.MULTILINE)


class AiderBlock(NamedTuple):
    """The beginning of a session, a prompt of the user, a text that Aider printed (``own``), or one line of an answer."""

    kind: Literal["start", "user", "own", "answer"]
    text: str
    """For ``start`` the time at which a session began; for ``answer`` one line."""


def has_marked_ends(text: str) -> bool:
    """Return whether the lines of a file still have the two blanks at their ends."""
    return _MARKED_LINE.search(text) is not None


def aider_blocks(lines: Iterator[str], *, ends_are_marked: bool) -> Iterator[AiderBlock]:
    """Yield a history's blocks in order; ``ends_are_marked`` is whether line ends have their two blanks."""
    return _BlockReader(lines, ends_are_marked=ends_are_marked).blocks()


class _BlockReader:
    """Sorts a history's lines into blocks; it looks ahead for the end of a text of several lines."""

    def __init__(self, lines: Iterator[str], *, ends_are_marked: bool) -> None:
        self._lines = lines
        self._ends_are_marked = ends_are_marked
        self._lines_ahead: deque[str] = deque()
        self._endless_line_count = 0
        """Number of next lines among which no text of Aider's ends."""
        self._in_answer = False

    def blocks(self) -> Iterator[AiderBlock]:
        """Yield the history's blocks in order."""
        prompt_lines: list[str] = []
        while (line := self._next_line()) is not None:
            if self._has_mark(line, "####"):
                prompt_lines.append(_text_after_mark(line, 4))
                continue
            if prompt_lines:
                yield AiderBlock("user", "\n".join(prompt_lines))
                prompt_lines, self._in_answer = [], False
            block = self._read_block(line)
            self._in_answer = block.kind == "answer" and (self._in_answer or bool(line.strip()))
            yield block
        if prompt_lines:
            yield AiderBlock("user", "\n".join(prompt_lines))

    def _next_line(self) -> str | None:
        self._endless_line_count = max(0, self._endless_line_count - 1)
        return self._lines_ahead.popleft() if self._lines_ahead else next(self._lines, None)

    def _has_mark(self, line: str, mark: str) -> bool:
        is_marked = line.startswith(mark) and line[len(mark) : len(mark) + 1] in {"", " "}
        return is_marked and (not self._ends_are_marked or line.endswith(BLOCK_END))

    def _read_block(self, line: str) -> AiderBlock:
        if header := SESSION_HEADER.fullmatch(line):
            return AiderBlock("start", header[1])
        if self._has_mark(line, ">"):
            return AiderBlock("own", _text_after_mark(line, 1))
        if self._ends_are_marked and line.startswith("> "):
            may_begin_text = not self._in_answer or line[2:].startswith(BEGINNINGS_AFTER_ANSWER)
            if may_begin_text and (rest_lines := self._take_rest_of_text()):
                return AiderBlock("own", "\n".join((line[2:], *rest_lines)))
        return AiderBlock("answer", line)

    def _take_rest_of_text(self) -> list[str]:
        """Take and return the further lines of a text of Aider's; none where it has no end, and is an answer's line."""
        if self._endless_line_count:
            return []
        for line_index in range(MAX_SEARCHED_LINES):
            if line_index == len(self._lines_ahead):
                line = next(self._lines, None)
                if line is None:
                    break
                self._lines_ahead.append(line)
            line = self._lines_ahead[line_index]
            if line.endswith(BLOCK_END) and not line.startswith((">", "####")):
                rest_lines = [self._lines_ahead.popleft() for _ in range(line_index + 1)]
                return [*rest_lines[:-1], rest_lines[-1].rstrip()]
            if line.endswith(BLOCK_END) or SESSION_HEADER.fullmatch(line):
                break
        self._endless_line_count = len(self._lines_ahead)
        return []


def _text_after_mark(line: str, mark_length: int) -> str:
    return line[mark_length:].removeprefix(" ").rstrip()

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
FIRST_AFTER_ANSWER = ("Tokens: ",)
"""Beginnings of a text of several lines that may directly follow an answer."""
_OWN_LINE = re.compile(r"^(?:>|####)[^\n]*  \r?$", re.MULTILINE)


class AiderBlock(NamedTuple):
    """A line of an answer, or a text of another kind."""

    kind: Literal["start", "user", "own", "answer"]
    text: str
    """For ``start`` the time at which a session began; for ``answer`` one line."""


def has_marked_ends(text: str) -> bool:
    """Return whether the lines of a file still have the two blanks at their ends."""
    return _OWN_LINE.search(text) is not None


def aider_blocks(lines: Iterator[str], *, ends_are_marked: bool) -> Iterator[AiderBlock]:
    """Yield a history's blocks in order; ``ends_are_marked`` is whether line ends have their two blanks."""
    return _Lines(lines, ends_are_marked=ends_are_marked).blocks()


class _Lines:
    """The lines of a history, with a view on those to come."""

    def __init__(self, lines: Iterator[str], *, ends_are_marked: bool) -> None:
        self._lines = lines
        self._marked = ends_are_marked
        self._ahead: deque[str] = deque()
        self._answer_lines = 0
        """How many of the next lines are known to end no text of Aider's."""
        self._in_answer = False

    def blocks(self) -> Iterator[AiderBlock]:
        """Yield the blocks."""
        prompt_lines: list[str] = []
        while (line := self._next()) is not None:
            if self._is_own(line, "####"):
                prompt_lines.append(_content(line, 4))
                continue
            if prompt_lines:
                yield AiderBlock("user", "\n".join(prompt_lines))
                prompt_lines, self._in_answer = [], False
            block = self._block(line)
            self._in_answer = block.kind == "answer" and (self._in_answer or bool(line.strip()))
            yield block
        if prompt_lines:
            yield AiderBlock("user", "\n".join(prompt_lines))

    def _next(self) -> str | None:
        self._answer_lines = max(0, self._answer_lines - 1)
        return self._ahead.popleft() if self._ahead else next(self._lines, None)

    def _is_own(self, line: str, mark: str) -> bool:
        is_marked = line.startswith(mark) and line[len(mark) : len(mark) + 1] in {"", " "}
        return is_marked and (not self._marked or line.endswith(BLOCK_END))

    def _block(self, line: str) -> AiderBlock:
        if header := SESSION_HEADER.fullmatch(line):
            return AiderBlock("start", header[1])
        if self._is_own(line, ">"):
            return AiderBlock("own", _content(line, 1))
        if self._marked and line.startswith("> "):
            may_begin_text = not self._in_answer or line[2:].startswith(FIRST_AFTER_ANSWER)
            if may_begin_text and (rest := self._lines_to_end()):
                return AiderBlock("own", "\n".join((line[2:], *rest)))
        return AiderBlock("answer", line)

    def _lines_to_end(self) -> list[str]:
        """Take the further lines of a text of Aider's; none where it has no end, since it is a line of an answer then."""
        if self._answer_lines:
            return []
        for count in range(MAX_SEARCHED_LINES):
            if count == len(self._ahead):
                line = next(self._lines, None)
                if line is None:
                    break
                self._ahead.append(line)
            line = self._ahead[count]
            if line.endswith(BLOCK_END) and not line.startswith((">", "####")):
                rest = [self._ahead.popleft() for _ in range(count + 1)]
                return [*rest[:-1], rest[-1].rstrip()]
            if line.endswith(BLOCK_END) or SESSION_HEADER.fullmatch(line):
                break
        self._answer_lines = len(self._ahead)
        return []


def _content(line: str, mark: int) -> str:
    return line[mark:].removeprefix(" ").rstrip()

"""Ask a question that is longer than a terminal page by page: it can be approved once its end was shown.

Border: text and typed lines; reading the lines is the caller's work. What is too long for a terminal at all can only
be rejected there.
"""

import os
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from palimpsest.render.content.phrases import count

MOST_ROWS = 2_000
"""About fifty pages; nobody reads more of them."""
MARK = "↪ "
"""Begins the rest of a line that is wider than the terminal, so that it cannot look like a line of the question."""
MORE = (
    "Page {page} of {pages}: Enter shows the next; after the last it can be answered.   3 {no}\n> "
)
NOT_YET = "There is more to see first: Enter shows page {page} of {pages}.   3 {no}\n> "
TOO_LONG = (
    "This is too long to be approved here ({rows} lines). Answer it in JupyterLab's panel, which shows it whole, or "
    "have it done in smaller steps.   3 {no}\n> "
)
LEFT_OUT = "[{rows} lines are not shown here]"
TAB_COLUMNS = 8

AnswerT = TypeVar("AnswerT")


@dataclass(frozen=True, slots=True)
class Answers(Generic[AnswerT]):
    """What may be typed."""

    read: Callable[[str], AnswerT | None]
    """Reads a line; None where it is no answer."""
    refuses: Callable[[AnswerT], bool]
    """Whether an answer refuses, which it may before all was shown."""
    again: str
    """The prompt after a line that is no answer."""
    no: str = "reject"
    """What the answer 3 does."""


class PagedQuestion(Generic[AnswerT]):
    """One question, as it is shown and answered at a terminal.

    Contract: show ``prompt``, read a line, give it to ``take``; repeat while that returns None. An answer other than
    a refusal is taken only after a prompt that ends what is asked about.
    """

    def __init__(
        self, text: str, end: str, answers: Answers[AnswerT], size: os.terminal_size
    ) -> None:
        """``text`` is the whole question; ``end`` are its last lines, warnings and answers, which stay together."""
        asked = text.removesuffix(end).removesuffix("\n")
        rows = [row for line in asked.split("\n") for row in wrapped(line, size.columns)]
        below = sum(len(line) // size.columns + 1 for line in end.split("\n"))
        room = max(size.lines - below, size.lines // 2)
        self._answers = answers
        self._end = end
        self._pages = [rows[at : at + room] for at in range(0, len(rows), room)]
        self._page = 0
        self._too_long = ""
        if len(rows) > MOST_ROWS:
            half = room // 2
            left_out = LEFT_OUT.format(rows=count(len(rows) - 2 * half))
            self._pages = [[*rows[:half], left_out, *rows[-half:]]]
            self._too_long = TOO_LONG.format(rows=count(len(rows)), no=answers.no)
        self.prompt = self._shown()
        """What is to be shown next."""

    def take(self, line: str) -> AnswerT | None:
        """Return the answer that a line gives; None where the question goes on."""
        answer = self._answers.read(line)
        if answer is not None and (self._answers.refuses(answer) or self._is_whole()):
            return answer
        if self._too_long:
            self.prompt = self._too_long
        elif self._is_whole():
            self.prompt = self._answers.again
        elif not line.strip():
            self._page += 1
            self.prompt = self._shown()
        else:
            self.prompt = NOT_YET.format(
                page=self._page + 2, pages=len(self._pages), no=self._answers.no
            )
        return None

    def _is_whole(self) -> bool:
        return not self._too_long and self._page == len(self._pages) - 1

    def _shown(self) -> str:
        page = "\n".join(self._pages[self._page])
        if self._too_long:
            return f"{page}\n{self._too_long}"
        if self._is_whole():
            return f"{page}\n{self._end}"
        more = MORE.format(page=self._page + 1, pages=len(self._pages), no=self._answers.no)
        return f"{page}\n{more}"


def wrapped(line: str, columns: int) -> list[str]:
    """Return a line as rows of a terminal; each further one begins with a mark behind the line's own margin."""
    if len(line) * 2 <= columns and "\t" not in line:
        return [line]
    margin = line[: len(line) - len(line.lstrip(" "))][: columns // 4]
    rows, begin, used = [], 0, 0
    for at, sign in enumerate(line):
        wide = _columns(sign)
        if used + wide > columns:
            rows.append(line[begin:at])
            begin, used = at, len(margin) + len(MARK)
        used += wide
    rows.append(line[begin:])
    return [rows[0], *(f"{margin}{MARK}{row}" for row in rows[1:])]


def _columns(sign: str) -> int:
    if sign == "\t":
        return TAB_COLUMNS
    if unicodedata.combining(sign):
        return 0
    return 2 if unicodedata.east_asian_width(sign) in "WF" else 1

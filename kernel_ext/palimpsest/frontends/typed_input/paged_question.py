"""Ask a long question in a terminal page by page; it can be approved once its end was shown.

Border: texts only; the caller shows them and reads the lines. A question of more than ``MAX_ROWS`` can only
be rejected there.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from palimpsest.render.content.phrases import count
from palimpsest.transcript.strings.terminal_columns import columns_of

MAX_ROWS = 2_000
"""Maximum rows of a question that can be approved, about fifty pages."""
CONTINUATION_MARK = "↪ "
"""Begins the continuation of a wide line, which therefore cannot look like a line of the question."""
NEXT_PAGE = (
    "Page {page} of {pages}: Enter shows the next; after the last it can be answered.   3 {no}\n> "
)
PAGES_REMAIN = "There is more to see first: Enter shows page {page} of {pages}.   3 {no}\n> "
TOO_LONG = (
    "This is too long to be approved here ({rows} lines). Answer it in JupyterLab's panel, which shows it whole, or "
    "have it done in smaller steps.   3 {no}\n> "
)
OMITTED_ROWS = "[{rows} lines are not shown here]"
TAB_COLUMNS = 8

AnswerT = TypeVar("AnswerT")


@dataclass(frozen=True, slots=True)
class AnswerRules(Generic[AnswerT]):
    """The rules for parsing the answer that is typed below a page."""

    parse_answer: Callable[[str], AnswerT | None]
    """Parses a line; returns None where it is no answer."""
    is_refusal: Callable[[AnswerT], bool]
    """Returns whether an answer is a refusal, which is possible before all was shown."""
    retry_prompt: str
    """The prompt after a line that is no answer."""
    no_meaning: str = "reject"
    """The meaning of the answer 3."""


class PagedQuestion(Generic[AnswerT]):
    """A question in a terminal, shown page by page.

    Contract: show ``prompt``, read a line, pass it to ``answer_in``; repeat while that returns None. An answer other than
    a refusal is accepted only after the prompt with the last page.
    """

    def __init__(
        self,
        text: str,
        closing_lines: str,
        answer_rules: AnswerRules[AnswerT],
        size: os.terminal_size,
    ) -> None:
        """``text`` is the complete question; ``closing_lines`` are its last lines, warnings and answers, which stay together."""
        body = text.removesuffix(closing_lines).removesuffix("\n")
        rows = [row for line in body.split("\n") for row in wrap_line(line, size.columns)]
        closing_row_count = sum(len(line) // size.columns + 1 for line in closing_lines.split("\n"))
        rows_per_page = max(size.lines - closing_row_count, size.lines // 2)
        self._answer_rules = answer_rules
        self._closing_lines = closing_lines
        first_rows = range(0, len(rows), rows_per_page)
        self._pages = [rows[first_row : first_row + rows_per_page] for first_row in first_rows]
        self._page_index = 0
        self._too_long_hint = ""
        if len(rows) > MAX_ROWS:
            half_page = rows_per_page // 2
            omitted_row = OMITTED_ROWS.format(rows=count(len(rows) - 2 * half_page))
            self._pages = [[*rows[:half_page], omitted_row, *rows[-half_page:]]]
            self._too_long_hint = TOO_LONG.format(rows=count(len(rows)), no=answer_rules.no_meaning)
        self.prompt = self._page_text()
        """The text to show next."""

    def answer_in(self, line: str) -> AnswerT | None:
        """Return the answer in a line; None if the question stays open."""
        answer = self._answer_rules.parse_answer(line)
        if answer is not None and (self._answer_rules.is_refusal(answer) or self._is_last_page()):
            return answer
        if self._too_long_hint:
            self.prompt = self._too_long_hint
        elif self._is_last_page():
            self.prompt = self._answer_rules.retry_prompt
        elif not line.strip():
            self._page_index += 1
            self.prompt = self._page_text()
        else:
            self.prompt = self._page_hint(PAGES_REMAIN, self._page_index + 2)
        return None

    def _is_last_page(self) -> bool:
        return not self._too_long_hint and self._page_index == len(self._pages) - 1

    def _page_text(self) -> str:
        page = "\n".join(self._pages[self._page_index])
        if self._too_long_hint:
            return f"{page}\n{self._too_long_hint}"
        if self._is_last_page():
            return f"{page}\n{self._closing_lines}"
        return f"{page}\n{self._page_hint(NEXT_PAGE, self._page_index + 1)}"

    def _page_hint(self, hint: str, page_number: int) -> str:
        return hint.format(
            page=page_number, pages=len(self._pages), no=self._answer_rules.no_meaning
        )


def wrap_line(line: str, columns: int) -> list[str]:
    """Return a line as rows of a terminal; each continuation row begins with the line's margin and a mark."""
    if len(line) * 2 <= columns and "\t" not in line:
        return [line]
    margin = line[: len(line) - len(line.lstrip(" "))][: columns // 4]
    rows, row_start, used_width = [], 0, 0
    for position, character in enumerate(line):
        width = TAB_COLUMNS if character == "\t" else columns_of(character)
        if used_width + width > columns:
            rows.append(line[row_start:position])
            row_start, used_width = position, len(margin) + len(CONTINUATION_MARK)
        used_width += width
    rows.append(line[row_start:])
    return [rows[0], *(f"{margin}{CONTINUATION_MARK}{row}" for row in rows[1:])]

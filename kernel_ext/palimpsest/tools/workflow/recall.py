"""The recall tool: read or search texts of the session that were removed from the model's context.

Border: reads from a ``RecallArchive``, and no files. The output is bounded, so that recalling a long
output does not fill the context window again.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import regex
from pydantic import BaseModel, Field

from palimpsest.tools.calls.error_containment import run_in_thread
from palimpsest.tools.files.search import compile_regex, first_match
from palimpsest.tools.tool import ArchivedText, RecallArchive, ToolContext, ToolOutcome
from palimpsest.transcript.errors import UserError

RECALL_NAME = "recall"
MAX_OUTPUT_CHARS = 16_000
"""Maximum characters of an output, about 4,000 tokens; a longer output would cost what truncating the original saved."""
MAX_ROW_CHARS = 1_000
"""Maximum characters of a row; longer lines are split, so that one line of JSON can be read in pieces."""
MAX_ROWS = 500
"""Maximum rows of one call that reads."""
MAX_HITS = 100
"""Maximum matching rows that are shown."""
GAP_LINE = "  ..."


class RecallArguments(BaseModel):
    """Input of the recall tool."""

    name: str | None = Field(
        default=None,
        description="As the note in its place gives it; without it, pattern searches everything.",
    )
    pattern: str | None = Field(
        default=None, description="Python regular expression; returns the rows that match."
    )
    offset: int = Field(default=1, ge=1, description="First row.")
    limit: int = Field(default=200, ge=1, le=MAX_ROWS, description="Rows to read.")
    context: int = Field(default=2, ge=0, le=20, description="Rows around a match.")


class RecallTool:
    """The recall tool, which reads truncated, cleared or summarised texts."""

    name = RECALL_NAME
    description = (
        "Read or search what was taken out of this conversation: an output that was cut or cleared, or, by the "
        "name earlier, the messages that a summary stands for."
    )
    arguments: type[BaseModel] = RecallArguments
    concurrent = True
    permission = RECALL_NAME

    async def run(self, arguments: RecallArguments, context: ToolContext) -> ToolOutcome:
        """Ask for permission, then read or search the text of a name, or search all texts."""
        archive: RecallArchive | None = context.extra_values.get("archive")
        if archive is None:
            raise UserError("This session keeps no record to recall from.")
        if arguments.name is None and arguments.pattern is None:
            raise UserError(
                "Give a name to read, as the note in the place of an output has it, or a pattern to search."
            )
        subject = " ".join(filter(None, (arguments.name, arguments.pattern)))
        await context.ask(
            self.permission, [arguments.name or "*"], title=f"Recall {subject}", always=["*"]
        )
        if arguments.name is not None:
            texts: Sequence[ArchivedText] = [await archive.find(arguments.name)]
        else:
            texts = await archive.hidden_texts()
        pattern = compile_regex(arguments.pattern) if arguments.pattern is not None else None
        if pattern is None:
            work = partial(_read_rows, texts[0], arguments)
        else:
            work = partial(_search_rows, texts, pattern, arguments)
        outcome = await run_in_thread(context.abort, work)
        scrub = context.scrubber()
        return replace(outcome, output=scrub(outcome.output))


def split_rows(text: str) -> list[str]:
    """Return the rows of a text: its lines, with long ones split into pieces of ``MAX_ROW_CHARS``."""
    return [
        line[start : start + MAX_ROW_CHARS]
        for line in text.split("\n")
        for start in range(0, max(len(line), 1), MAX_ROW_CHARS)
    ]


def _read_rows(text: ArchivedText, arguments: RecallArguments) -> ToolOutcome:
    rows = split_rows(text.text)
    first_index = arguments.offset - 1
    if first_index >= len(rows):
        raise UserError(f"{text.title} has {len(rows):,} rows; give a smaller offset.")
    lines: list[str] = []
    chars_left = MAX_OUTPUT_CHARS
    requested_rows = rows[first_index : first_index + arguments.limit]
    for number, row in enumerate(requested_rows, arguments.offset):
        line = f"{number}: {row}"
        chars_left -= len(line) + 1
        if chars_left < 0:
            break
        lines.append(line)
    last_number = first_index + len(lines)
    summary = f"({text.title}: rows {arguments.offset:,} to {last_number:,} of {len(rows):,}."
    hint = f" Go on with offset {last_number + 1}.)" if last_number < len(rows) else ")"
    return ToolOutcome(text.title, "\n".join([*lines, summary + hint]), {"rows": len(lines)})


def _search_rows(
    texts: Sequence[ArchivedText], pattern: "regex.Pattern[str]", arguments: RecallArguments
) -> ToolOutcome:
    lines: list[str] = []
    match_count, chars_left = 0, MAX_OUTPUT_CHARS
    for text in texts:
        rows = split_rows(text.text)
        matching_numbers = [
            number
            for number, row in enumerate(rows)
            if first_match(pattern, row, f"row {number + 1}") is not None
        ]
        heading = f"{text.title} (name {text.name}):"
        text_lines = [heading, *_rows_around(rows, matching_numbers, arguments)]
        for line in text_lines if matching_numbers else ():
            chars_left -= len(line) + 1
            if chars_left >= 0 and match_count <= MAX_HITS:
                lines.append(line)
        match_count += len(matching_numbers)
    if not match_count:
        searched_text = (
            texts[0].title if arguments.name is not None and texts else "what was taken out"
        )
        lines = [f"No row of {searched_text} matches {arguments.pattern!r}."]
    elif chars_left < 0 or match_count > MAX_HITS:
        lines.append(f"({match_count:,} rows match, and not all are shown; narrow the search.)")
    return ToolOutcome(arguments.pattern or "", "\n".join(lines), {"count": match_count})


def _rows_around(
    rows: Sequence[str], matching_numbers: Sequence[int], arguments: RecallArguments
) -> list[str]:
    """Return the rows around each match, with a gap line between separate groups."""
    matching_set = set(matching_numbers)
    shown_numbers = sorted(
        {
            number
            for position in matching_numbers
            for number in range(position - arguments.context, position + arguments.context + 1)
            if 0 <= number < len(rows)
        }
    )
    lines: list[str] = []
    for previous, number in zip([None, *shown_numbers], shown_numbers, strict=False):
        if previous is not None and number > previous + 1:
            lines.append(GAP_LINE)
        lines.append(f"  {number + 1}{':' if number in matching_set else '-'} {rows[number]}")
    return lines

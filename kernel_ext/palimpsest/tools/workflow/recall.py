"""The recall tool: read or search texts of the session that were removed from the model's context.

Border: reads from a ``RecallArchive``, and no files. The output is bounded, so that recalling a long
output does not fill the context window again.
"""

from collections.abc import Sequence
from dataclasses import replace

import regex
from pydantic import BaseModel, Field

from palimpsest.tools.calls.error_containment import in_thread
from palimpsest.tools.files.search import compiled, match_in
from palimpsest.tools.tool import ArchivedText, RecallArchive, ToolContext, ToolOutcome
from palimpsest.transcript.errors import UserError

RECALL = "recall"
MOST_CHARS = 16_000
"""About 4,000 tokens; a longer output would cost what truncating the original saved."""
ROW_CHARS = 1_000
"""A longer line is split into rows of this length, so that one line of JSON can be read in pieces."""
MOST_ROWS = 500
MOST_HITS = 100
GAP = "  ..."


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
    limit: int = Field(default=200, ge=1, le=MOST_ROWS, description="Rows to read.")
    context: int = Field(default=2, ge=0, le=20, description="Rows around a match.")


class RecallTool:
    """The recall tool, which reads what was truncated, cleared or summarised."""

    name = RECALL
    description = (
        "Read or search what was taken out of this conversation: an output that was cut or cleared, or, by the "
        "name earlier, the messages that a summary stands for."
    )
    arguments: type[BaseModel] = RecallArguments
    concurrent = True
    permission = RECALL

    async def run(self, arguments: RecallArguments, context: ToolContext) -> ToolOutcome:
        """Ask for permission, then read or search the text of a name, or search all texts."""
        archive: RecallArchive | None = context.extra.get("archive")
        if archive is None:
            raise UserError("This session keeps no record to recall from.")
        if arguments.name is None and arguments.pattern is None:
            raise UserError(
                "Give a name to read, as the note in the place of an output has it, or a pattern to search."
            )
        wanted = " ".join(filter(None, (arguments.name, arguments.pattern)))
        await context.ask(
            self.permission, [arguments.name or "*"], title=f"Recall {wanted}", always=["*"]
        )
        if arguments.name is not None:
            kept: Sequence[ArchivedText] = [await archive.find(arguments.name)]
        else:
            kept = await archive.hidden()
        pattern = compiled(arguments.pattern) if arguments.pattern is not None else None
        outcome = await in_thread(
            context.abort,
            lambda: (
                _read(kept[0], arguments) if pattern is None else _search(kept, pattern, arguments)
            ),
        )
        clean = context.scrubber()
        return replace(outcome, output=clean(outcome.output))


def rows(text: str) -> list[str]:
    """Split a text into rows: its lines, with long ones in pieces of ``ROW_CHARS``."""
    return [
        line[at : at + ROW_CHARS]
        for line in text.split("\n")
        for at in range(0, max(len(line), 1), ROW_CHARS)
    ]


def _read(kept: ArchivedText, arguments: RecallArguments) -> ToolOutcome:
    everything = rows(kept.text)
    first = arguments.offset - 1
    if first >= len(everything):
        raise UserError(f"{kept.title} has {len(everything):,} rows; give a smaller offset.")
    shown: list[str] = []
    room = MOST_CHARS
    for number, row in enumerate(everything[first : first + arguments.limit], arguments.offset):
        line = f"{number}: {row}"
        room -= len(line) + 1
        if room < 0:
            break
        shown.append(line)
    last = first + len(shown)
    told = f"({kept.title}: rows {arguments.offset:,} to {last:,} of {len(everything):,}."
    more = f" Go on with offset {last + 1}.)" if last < len(everything) else ")"
    return ToolOutcome(kept.title, "\n".join([*shown, told + more]), {"rows": len(shown)})


def _search(
    kept: Sequence[ArchivedText], pattern: "regex.Pattern[str]", arguments: RecallArguments
) -> ToolOutcome:
    lines: list[str] = []
    count, room = 0, MOST_CHARS
    for one in kept:
        given = enumerate(rows(one.text))
        found = [at for at, row in given if match_in(pattern, row, f"row {at + 1}") is not None]
        told = [f"{one.title} (name {one.name}):", *_around(rows(one.text), found, arguments)]
        for line in told if found else ():
            room -= len(line) + 1
            if room >= 0 and count <= MOST_HITS:
                lines.append(line)
        count += len(found)
    if not count:
        where = kept[0].title if arguments.name is not None and kept else "what was taken out"
        lines = [f"No row of {where} matches {arguments.pattern!r}."]
    elif room < 0 or count > MOST_HITS:
        lines.append(f"({count:,} rows match, and not all are shown; narrow the search.)")
    return ToolOutcome(arguments.pattern or "", "\n".join(lines), {"count": count})


def _around(given: Sequence[str], found: Sequence[int], arguments: RecallArguments) -> list[str]:
    """Return the rows around each match, with a gap line between separate groups."""
    matching = set(found)
    near = sorted(
        {
            at
            for position in found
            for at in range(position - arguments.context, position + arguments.context + 1)
            if 0 <= at < len(given)
        }
    )
    lines: list[str] = []
    for before, at in zip([None, *near], near, strict=False):
        if before is not None and at > before + 1:
            lines.append(GAP)
        lines.append(f"  {at + 1}{':' if at in matching else '-'} {given[at]}")
    return lines

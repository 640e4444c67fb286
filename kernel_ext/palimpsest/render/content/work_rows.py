"""Fold the agent's work between two texts into one row.

Thoughts, steps, calls that only read, requests that were answered when sent again, and failed calls that a
later one corrected are folded.

Border: pure; takes items of the outline. Every other call keeps its own row and place. The page has the same
rule in ``labextension/src/state/display/workRows.ts``, and the texts of a row in ``workWords.ts``; both are tested
on ``tests/fixtures/work_rows.json``.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from palimpsest.render.content.outline import (
    Item,
    NoticeItem,
    OutlineCall,
    OutlineStep,
    ReasoningItem,
)
from palimpsest.render.content.phrases import count, duration
from palimpsest.transcript.call_outcomes import Status

MIN_THOUGHT_SECONDS = 3.0
"""Minimum duration of a thought that has a row of its own."""
MAX_NAMES = 2
"""Maximum names that are listed; of more, only the number is shown."""

_READING_KIND_BY_TOOL = {
    "variables": "variables",
    "read": "files",
    "list": "searches",
    "ls": "searches",
    "glob": "searches",
    "find": "searches",
    "grep": "searches",
    "notebook": "notebook",
    "recall": "recalled",
    "todowrite": "todos",
    "todoread": "todos",
    "skill": "skills",
}
"""Kind of reading by tool in lower case; some tools are of other agents, whose sessions are imported."""
_COMPLETED_STATUS: Status = "completed"
_FAILED_STATUS: Status = "error"


@dataclass(frozen=True, slots=True)
class WorkWord:
    """A piece of a row's text; a name is shown as code."""

    text: str
    is_name: bool = False


@dataclass(frozen=True, slots=True)
class WorkRow:
    """A row with the items folded into it."""

    items: tuple[Item, ...]

    @property
    def word_list(self) -> tuple[WorkWord, ...]:
        """The pieces of its text, in order."""
        return tuple(_joined_pieces(_row_pieces(self.items), " · "))

    @property
    def text(self) -> str:
        """Its text in one line."""
        return "".join(word.text for word in self.word_list)


@dataclass(frozen=True, slots=True)
class TurnEnd:
    """The line below a turn, which also covers items without a row: lone steps and short thoughts."""

    step_figures: OutlineStep
    items: tuple[Item, ...]


Row = Item | WorkRow | TurnEnd


def is_reading_tool(tool: str) -> bool:
    """Return whether a tool only reads."""
    return tool.lower() in _READING_KIND_BY_TOOL


def is_foldable(item: Item) -> bool:
    """Return whether an item is folded independent of later ones: a thought, a step, a reading call, or answered attempts."""
    match item:
        case OutlineStep():
            return True
        case ReasoningItem():
            return not item.title
        case OutlineCall():
            return _reading_kind(item) != "" and item.status == _COMPLETED_STATUS
        case NoticeItem():
            return item.sent_again > 0
        case _:
            return False


def fold_work(items: Sequence[Item], *, is_running: bool = False) -> list[tuple[int, Row]]:
    """Return the items with folded work, each with its position; a row has the position of its first item.

    While the turn is live its newest item is not folded, so that visible items do not move.
    """
    counted_indices = [index for index, item in enumerate(items) if _counts_in_row(item)]
    newest_index = counted_indices[-1] if is_running and counted_indices else -1
    corrected_indices = _corrected_failures(items)
    shown_rows: list[tuple[int, Row]] = []
    row_indices: list[int] = []
    row_position = 0

    def close_run() -> None:
        shown_rows[row_position:row_position] = _run_rows(items, row_indices, corrected_indices)
        row_indices.clear()

    for index, item in enumerate(items):
        if index != newest_index and (is_foldable(item) or index in corrected_indices):
            if not any(_counts_in_row(items[row_index]) for row_index in row_indices):
                row_position = len(shown_rows)
            row_indices.append(index)
            continue
        if not _continues_run(item):
            close_run()
        shown_rows.append((index, item))
    close_run()
    return shown_rows


def without_row(items: Sequence[Item], rows: Iterable[tuple[int, Row]]) -> list[Item]:
    """Return the items that are in none of the rows: lone steps and short thoughts."""
    shown_ids = {
        id(item) for _, row in rows for item in (row.items if isinstance(row, WorkRow) else (row,))
    }
    return [item for item in items if id(item) not in shown_ids]


def _continues_run(item: Item) -> bool:
    """Return whether an item does not end a run, unlike texts and notices."""
    return isinstance(item, OutlineCall) or is_foldable(item)


def _counts_in_row(item: Item) -> bool:
    """Return whether an item counts in a row, unlike steps and thoughts without text."""
    return not isinstance(item, OutlineStep) and not (
        isinstance(item, ReasoningItem) and not item.text.strip()
    )


def _run_rows(
    items: Sequence[Item], row_indices: Sequence[int], corrected_indices: frozenset[int]
) -> list[tuple[int, Row]]:
    """Return the row of a run; a single item beside steps keeps its own row, except a corrected failure."""
    counted_indices = [index for index in row_indices if _counts_in_row(items[index])]
    if not _deserves_row([items[index] for index in counted_indices]):
        return []
    if len(counted_indices) == 1 and counted_indices[0] not in corrected_indices:
        return [(counted_indices[0], items[counted_indices[0]])]
    return [(counted_indices[0], WorkRow(tuple(items[index] for index in row_indices)))]


def _deserves_row(counted_items: Sequence[Item]) -> bool:
    """Return whether the items need a row because they are more than short thoughts."""
    durations = [item.seconds for item in counted_items if isinstance(item, ReasoningItem)]
    known_seconds = [seconds for seconds in durations if seconds is not None]
    return (
        any(isinstance(item, OutlineCall | NoticeItem) for item in counted_items)
        or len(known_seconds) < len(durations)
        or sum(known_seconds) >= MIN_THOUGHT_SECONDS
    )


def _corrected_failures(items: Sequence[Item]) -> frozenset[int]:
    """Return the positions of failed calls after which a call with the same aim succeeded."""
    reached_aims: set[str] = set()
    corrected_indices: set[int] = set()
    for index, item in reversed(list(enumerate(items))):
        if not isinstance(item, OutlineCall):
            continue
        if item.status == _COMPLETED_STATUS:
            reached_aims.add(_aim(item))
        elif item.status == _FAILED_STATUS and _aim(item) in reached_aims:
            corrected_indices.add(index)
    return frozenset(corrected_indices)


def _reading_kind(call: OutlineCall) -> str:
    """Return the kind of a reading call; empty for other calls."""
    return _READING_KIND_BY_TOOL.get(call.tool.lower(), "")


def _aim(call: OutlineCall) -> str:
    """Return the aim of a call: ``look``, ``write``, or the name of its tool."""
    tool = call.tool.lower()
    if _reading_kind(call):
        return "look"
    return "write" if tool in ("write", "edit") else tool


def _row_pieces(items: Iterable[Item]) -> list[list[WorkWord]]:
    """Return the pieces of a row's text, as a list for each kind of work."""
    items = list(items)
    calls = [item for item in items if isinstance(item, OutlineCall)]
    completed_calls = [call for call in calls if call.status == _COMPLETED_STATUS]

    def subjects(kind: str) -> list[str]:
        return [call.read_subject for call in completed_calls if _reading_kind(call) == kind]

    variables = list(dict.fromkeys(subjects("variables")))
    files = list(dict.fromkeys(subjects("files")))
    skill_pieces = [[WorkWord(skill, is_name=True)] for skill in dict.fromkeys(subjects("skills"))]
    skill_noun = "skills" if len(skill_pieces) > 1 else "skill"
    read_pieces = [
        _names_or_count([variable for variable in variables if variable], "variables", MAX_NAMES),
        _plain_piece("the variables") if "" in variables else [],
        _names_or_count(files, "files", 1, _last_part),
        _plain_piece("the notebook") if subjects("notebook") else [],
    ]
    read_text = _joined_pieces([piece for piece in read_pieces if piece], ", ")
    search_count, recalled_count = len(subjects("searches")), len(subjects("recalled"))
    recalled_text = "an output" if recalled_count == 1 else f"{recalled_count} outputs"
    failed_count = sum(call.status != _COMPLETED_STATUS for call in calls)
    resent_count = sum(item.sent_again for item in items if isinstance(item, NoticeItem))
    pieces = [
        [WorkWord("looked at "), *read_text] if read_text else [],
        _plain_piece(f"searched {_repetition_text(search_count)}") if search_count else [],
        _plain_piece(f"recalled {recalled_text}") if recalled_count else [],
        _plain_piece("wrote its todo list") if subjects("todos") else [],
        [WorkWord(f"used the {skill_noun} "), *_joined_pieces(skill_pieces, ", ")]
        if skill_pieces
        else [],
        _plain_piece(_thinking_text(items)),
        _plain_piece(f"sent again {_repetition_text(resent_count)}") if resent_count else [],
        _plain_piece(f"{failed_count} failed, then mended") if failed_count else [],
    ]
    return [piece for piece in pieces if piece]


def _repetition_text(times: int) -> str:
    return "once" if times == 1 else f"{times} times"


def _thinking_text(items: Iterable[Item]) -> str:
    """Return a text on the time spent thinking; empty without any."""
    thoughts = [item for item in items if isinstance(item, ReasoningItem) and _counts_in_row(item)]
    if not thoughts:
        return ""
    seconds = sum(thought.seconds or 0.0 for thought in thoughts)
    if seconds < 1:
        return "thought"
    return f"thought {int(seconds)} s" if seconds < 60 else f"thought {duration(int(seconds))}"


def _last_part(path: str) -> str:
    parts = [part for part in re.split(r"[\\/]", path) if part]
    return parts[-1] if parts else path


def _names_or_count(
    names: Sequence[str], plural_noun: str, max_names: int, shorten: Callable[[str], str] = str
) -> list[WorkWord]:
    """Return pieces that list up to ``max_names`` names, or the number of more."""
    if len(names) > max_names:
        return _plain_piece(f"{count(len(names))} {plural_noun}")
    return _joined_pieces([[WorkWord(shorten(name), is_name=True)] for name in names], ", ")


def _plain_piece(text: str) -> list[WorkWord]:
    return [WorkWord(text)] if text else []


def _joined_pieces(pieces: Iterable[Sequence[WorkWord]], separator: str) -> list[WorkWord]:
    joined_words: list[WorkWord] = []
    for piece in pieces:
        joined_words += [WorkWord(separator)] if joined_words else []
        joined_words += piece
    return joined_words

"""Fold what the agent did between two texts into one row.

Thoughts, steps, calls that only look, requests that were answered when they were sent again, and failed calls that a
later one mended are folded.

Border: pure; items of the outline go in. Every other call keeps a row, and stays where it is. The page has the same
rule in ``labextension/src/state/display/workRows.ts``, and the words of a row in ``workWords.ts``; both are tested
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

SHORT_THOUGHT = 3.0
"""A shorter thought has no row, in seconds."""
MOST_NAMES = 2
"""From this many on, names are counted."""

_LOOKS = {
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
"""What a call looks at, by its tool in small letters; some tools are of other agents, whose sessions are imported."""
_DONE: Status = "completed"
_FAILED: Status = "error"


@dataclass(frozen=True, slots=True)
class WorkWord:
    """A piece of a row's text; a name is shown as code."""

    text: str
    is_name: bool = False


@dataclass(frozen=True, slots=True)
class WorkRow:
    """A row that stands for the items folded into it."""

    items: tuple[Item, ...]

    @property
    def words(self) -> tuple[WorkWord, ...]:
        """The pieces of its text, in order."""
        return tuple(_joined(_told(self.items), " · "))

    @property
    def text(self) -> str:
        """Its text in one line."""
        return "".join(word.text for word in self.words)


@dataclass(frozen=True, slots=True)
class TurnEnd:
    """The line below a turn, which stands also for what has no row else: lone steps and short thoughts."""

    figures: OutlineStep
    items: tuple[Item, ...]


Row = Item | WorkRow | TurnEnd


def is_look(tool: str) -> bool:
    """Return whether a tool only looks."""
    return tool.lower() in _LOOKS


def is_quiet(item: Item) -> bool:
    """Return whether an item folds whatever follows it: a thought, a step, a look, or attempts that were answered."""
    match item:
        case OutlineStep():
            return True
        case ReasoningItem():
            return not item.title
        case OutlineCall():
            return _look(item) != "" and item.status == _DONE
        case NoticeItem():
            return item.sent_again > 0
        case _:
            return False


def fold_work(items: Sequence[Item], *, live: bool = False) -> list[tuple[int, Row]]:
    """Return the items with their work folded, each with its place among them; a row has that of its first item.

    While the turn is live its newest item is not folded, so that nothing that is being read or watched moves.
    """
    own = [number for number, item in enumerate(items) if _is_told(item)]
    newest = own[-1] if live and own else -1
    mended = _mended(items)
    shown: list[tuple[int, Row]] = []
    run: list[int] = []
    place = 0

    def close() -> None:
        shown[place:place] = _rows(items, run, mended)
        run.clear()

    for number, item in enumerate(items):
        folds = number != newest and (is_quiet(item) or number in mended)
        if folds:
            if not any(_is_told(items[one]) for one in run):
                place = len(shown)
            run.append(number)
            continue
        if not _is_between(item):
            close()
        shown.append((number, item))
    close()
    return shown


def without_row(items: Sequence[Item], rows: Iterable[tuple[int, Row]]) -> list[Item]:
    """Return the items that are in none of the rows: lone steps and short thoughts."""
    shown = {
        id(one) for _, row in rows for one in (row.items if isinstance(row, WorkRow) else (row,))
    }
    return [item for item in items if id(item) not in shown]


def _is_between(item: Item) -> bool:
    """Return whether a run goes on behind an item: it is no text and no notice."""
    return isinstance(item, OutlineCall) or is_quiet(item)


def _is_told(item: Item) -> bool:
    """Return whether an item counts in a row: no step, and no thought of which nothing is known but its time."""
    return not isinstance(item, OutlineStep) and not (
        isinstance(item, ReasoningItem) and not item.text.strip()
    )


def _rows(
    items: Sequence[Item], run: Sequence[int], mended: frozenset[int]
) -> list[tuple[int, Row]]:
    """Return the row of a run; what stands alone beside steps keeps its own, except a failure that was mended."""
    own = [number for number in run if _is_told(items[number])]
    if not _wants_row([items[number] for number in own]):
        return []
    if len(own) == 1 and own[0] not in mended:
        return [(own[0], items[own[0]])]
    return [(own[0], WorkRow(tuple(items[number] for number in run)))]


def _wants_row(own: Sequence[Item]) -> bool:
    """Return whether there is more to tell than short thoughts."""
    spent = [item.seconds for item in own if isinstance(item, ReasoningItem)]
    known = [one for one in spent if one is not None]
    return (
        any(isinstance(item, OutlineCall | NoticeItem) for item in own)
        or len(known) < len(spent)
        or sum(known) >= SHORT_THOUGHT
    )


def _mended(items: Sequence[Item]) -> frozenset[int]:
    """Return the places of failed calls after which one with the same aim succeeded."""
    done: set[str] = set()
    mended: set[int] = set()
    for number in range(len(items) - 1, -1, -1):
        item = items[number]
        if isinstance(item, OutlineCall) and item.status == _DONE:
            done.add(_aim(item))
        elif isinstance(item, OutlineCall) and item.status == _FAILED and _aim(item) in done:
            mended.add(number)
    return frozenset(mended)


def _look(call: OutlineCall) -> str:
    """Return what a call looks at; empty for one that acts."""
    return _LOOKS.get(call.tool.lower(), "")


def _aim(call: OutlineCall) -> str:
    """Return what a call is for: to look, to write files, or what its tool does."""
    tool = call.tool.lower()
    if _look(call):
        return "look"
    return "write" if tool in ("write", "edit") else tool


def _told(items: Iterable[Item]) -> list[list[WorkWord]]:
    """Return what a row says of its items, one list of words for each thing."""
    items = list(items)
    calls = [item for item in items if isinstance(item, OutlineCall)]
    done = [call for call in calls if call.status == _DONE]

    def looked(look: str) -> list[str]:
        return [call.looked for call in done if _look(call) == look]

    variables = list(dict.fromkeys(looked("variables")))
    files = list(dict.fromkeys(looked("files")))
    skills = [[WorkWord(one, is_name=True)] for one in dict.fromkeys(looked("skills"))]
    seen = [
        _counted([one for one in variables if one], "variables", MOST_NAMES),
        _plain("the variables") if "" in variables else [],
        _counted(files, "files", 1, _base),
        _plain("the notebook") if looked("notebook") else [],
    ]
    found = _joined([one for one in seen if one], ", ")
    searches, recalled = len(looked("searches")), len(looked("recalled"))
    failed = sum(call.status != _DONE for call in calls)
    again = sum(item.sent_again for item in items if isinstance(item, NoticeItem))
    said = [
        [WorkWord("looked at "), *found] if found else [],
        _plain(f"searched {_often(searches)}") if searches else [],
        _plain(f"recalled {_outputs(recalled)}") if recalled else [],
        _plain("wrote its todo list") if looked("todos") else [],
        [WorkWord(f"used the skill{'s' if len(skills) > 1 else ''} "), *_joined(skills, ", ")]
        if skills
        else [],
        _plain(_thought(items)),
        _plain(f"sent again {_often(again)}") if again else [],
        _plain(f"{failed} failed, then mended") if failed else [],
    ]
    return [one for one in said if one]


def _often(times: int) -> str:
    return "once" if times == 1 else f"{times} times"


def _outputs(recalled: int) -> str:
    return "an output" if recalled == 1 else f"{recalled} outputs"


def _thought(items: Iterable[Item]) -> str:
    """Return how long was thought; empty where nothing was."""
    thoughts = [one for one in items if isinstance(one, ReasoningItem) and _is_told(one)]
    if not thoughts:
        return ""
    spent = sum(one.seconds or 0.0 for one in thoughts)
    if spent < 1:
        return "thought"
    return f"thought {int(spent)} s" if spent < 60 else f"thought {duration(int(spent))}"


def _base(path: str) -> str:
    """Return the last part of a path."""
    parts = [part for part in re.split(r"[\\/]", path) if part]
    return parts[-1] if parts else path


def _counted(
    names: Sequence[str], things: str, most: int, short: Callable[[str], str] = str
) -> list[WorkWord]:
    """Name a few things, and count more."""
    if len(names) > most:
        return _plain(f"{count(len(names))} {things}")
    return _joined([[WorkWord(short(one), is_name=True)] for one in names], ", ")


def _plain(text: str) -> list[WorkWord]:
    return [WorkWord(text)] if text else []


def _joined(pieces: Iterable[Sequence[WorkWord]], between: str) -> list[WorkWord]:
    words: list[WorkWord] = []
    for piece in pieces:
        words += [WorkWord(between)] if words else []
        words += piece
    return words

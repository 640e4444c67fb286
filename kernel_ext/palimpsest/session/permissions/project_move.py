"""Detect that a project was moved, and offer once to keep the grants from its old path.

The project's number shows that it is the same project, but anybody with a copy knows that number. So
no grant is carried over without a question that names all of them, and where the old path still
exists this project is a copy. Border: finds and carries over; the session asks.
"""

import asyncio
import functools
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from palimpsest.render.safety.escaping import one_line
from palimpsest.session.engine import off_loop
from palimpsest.session.permissions.grants import (
    Grant,
    Grants,
    UntrustedGrantsError,
    grants_file,
    grants_of,
    read_grants,
)
from palimpsest.session.permissions.recorded_claims import (
    budget_text,
    granted_budget,
    granted_rules,
)
from palimpsest.transcript.values import Reply

MOST_FILES = 2_000
MOST_NAMED = 20
"""The question names each grant that would be carried over; further ones are left behind."""
PERMISSION = "moved"
QUESTION = "This project moved here from {before}. Keep what you allowed there: {names}?"
LEFT = " ({count} more are left behind.)"


@dataclass(frozen=True, slots=True)
class ProjectMove:
    """The path where a project was before, and the grants given there."""

    before: Path
    file: Path
    grants: tuple[Grant, ...]

    @property
    def question(self) -> str:
        """The question for the user, with the old path and the grants."""
        names = [grant_words(one) for one in self.grants[:MOST_NAMED]]
        said = QUESTION.format(before=one_line(str(self.before), 200), names="; ".join(names))
        left = len(self.grants) - MOST_NAMED
        return said + (LEFT.format(count=left) if left > 0 else "")


class ProjectMoveWatch:
    """Finds out whether the project of this kernel was moved, until the user has decided about it."""

    def __init__(self, grants: Grants) -> None:
        self.asking = asyncio.Lock()
        """When several sessions continue at once, the first asks for all."""
        self._grants = grants
        self._looked = False
        self._found: ProjectMove | None = None

    async def found(self) -> ProjectMove | None:
        """Return the move that the user has not decided about yet; None where there is none."""
        if not self._looked:
            self._looked = True
            self._found = await off_loop(functools.partial(find_move, self._grants))
        return self._found

    def settle(self, reply: Reply) -> bool:
        """Apply the user's answer; returns whether grants were carried over."""
        move, self._found = self._found, None
        if move is None or reply.by == "headless":
            return False  # not decided: the next kernel asks again
        kept = move.grants[:MOST_NAMED] if reply.answer != "reject" else ()
        self._grants.replace(kept)
        if kept and not self._grants.problem:
            with suppress(OSError):
                move.file.unlink()
        return bool(kept)


def find_move(grants: Grants) -> ProjectMove | None:
    """Find grants given to this very project at a path that no longer exists."""
    here, number = grants.project, grants.number
    known = number.known() if number is not None else ""
    if here is None or not known or grants.is_kept:
        return None
    with suppress(OSError):
        files = sorted(grants.folder.glob("*.json"))[:MOST_FILES]
        for file in files:
            move = _move(file, here, known)
            if move is not None:
                return move
    return None


def _move(file: Path, here: Path, known: str) -> ProjectMove | None:
    try:
        data = read_grants(file, here)
    except (OSError, ValueError, UntrustedGrantsError):
        return None
    before = Path(str(data.get("project")))
    is_it = data.get("number") == known and file.name == grants_file(file.parent, before).name
    if not is_it or before == here or os.path.lexists(before):
        return None
    found = tuple(one for one in grants_of(data) if grant_words(one))
    return ProjectMove(before, file, found) if found else None


def grant_words(one: Grant) -> str:
    """Return a short text for a grant; empty for one that allows nothing."""
    where = " in one session" if one.session is not None else ""
    match one.key:
        case "allow":
            rules = granted_rules([one.value])
            words = [f"{rule.permission}: {rule.pattern}" for rule in rules]
        case "mode" | "model" | "agent":
            words = [f"{one.key} {one.value}"]
        case "budget":
            budget = granted_budget(one.value)
            words = [f"spending limit {budget_text(budget)}"] if budget is not None else []
        case _:
            words = []
    return f"{one_line(words[0], 120)}{where}" if words else ""

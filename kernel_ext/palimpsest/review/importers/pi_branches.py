"""The tree of a pi session's entries by their ids, and the branches that its leaves end."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from palimpsest.review.importing.importer import Report
from palimpsest.review.importing.sources import json_lines, unreported

MOST_BRANCHES = 100
"""Other branches that are read; each takes another pass over the file."""


class PiBranch(NamedTuple):
    """One path through the tree: its entries from the first on, and where it left another one."""

    name: str
    entries: frozenset[str] | None = None
    """None for all of a file whose entries have no ids."""
    of: str | None = None
    at: str | None = None


class PiTree:
    """The ids of a file's entries, without their content."""

    def __init__(self, path: Path, report: Report) -> None:
        self._parents: dict[str, str | None] = {}
        self._messages: set[str] = set()
        for number, entry in json_lines(path, unreported):
            if entry.get("type") == "session":
                continue
            name, parent = entry.get("id"), entry.get("parentId")
            if not isinstance(name, str) or name in self._parents:
                report(f"line {number}", "It has no id of its own and was left out.")
                continue
            known = isinstance(parent, str) and parent in self._parents
            if parent is not None and not known:
                report(f"line {number}", "What it follows is missing; it begins a new branch.")
            self._parents[name] = parent if known else None
            if entry.get("type") in ("message", "custom_message", "branch_summary"):
                self._messages.add(name)

    def branches(self, session: str, report: Report) -> Iterator[PiBranch]:
        """Yield the path to the last entry, then those to other leaves, the newest first."""
        inner = set(self._parents.values())
        leaves = [name for name in self._parents if name not in inner]
        homes: dict[str, str] = {}
        for number, leaf in enumerate(reversed(leaves)):
            if number > MOST_BRANCHES:
                report("", f"Only the newest {MOST_BRANCHES} of its branches were read.")
                return
            path = self._path(leaf)
            own = [name for name in path if name not in homes]
            if number and not self._messages.intersection(own):
                continue
            name = f"{session}/{own[0]}" if number else session
            shared = [one for one in path if one in homes]
            of = homes[shared[-1]] if shared else (session if number else None)
            at = next((one for one in reversed(shared) if one in self._messages), None)
            for one in own:
                homes[one] = name
            yield PiBranch(name, frozenset(path), of, at)
        if not leaves:
            yield PiBranch(session, frozenset())

    def _path(self, leaf: str) -> list[str]:
        # A parent stands in an earlier line, so there is no circle.
        path = [leaf]
        while (parent := self._parents[path[-1]]) is not None:
            path.append(parent)
        return path[::-1]

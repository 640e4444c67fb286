"""The tree of a pi session's entries by their ids, and the branches that end in its leaves."""

from collections import deque
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from palimpsest.recordings.reading.importer import Report
from palimpsest.recordings.reading.sources import json_lines

MAX_BRANCHES = 100
"""Maximum branches that are read beside the newest; each requires another pass over the file."""
MAX_UNREAD_LINES = 1_000
"""Maximum unreadable lines that may be a missing entry; of more, only the newest are considered."""


class PiBranch(NamedTuple):
    """One path through the tree: its entries, and the entry after which it leaves another path."""

    name: str
    entries: frozenset[str] | None = None
    """Ids of the entries; None for all of a file whose entries have no ids."""
    parent_branch: str | None = None
    branches_at: str | None = None
    """Id of the last message that both paths hold."""
    copied_entries: frozenset[str] = frozenset()
    """Ids of the entries that the other path holds too."""


class PiTree:
    """The ids of a file's entries, without their content."""

    def __init__(self, path: Path, report: Report) -> None:
        self._parents: dict[str, str | None] = {}
        self._messages: set[str] = set()
        self._unread: deque[str | None] = deque(maxlen=MAX_UNREAD_LINES)
        """For each unreadable line, the entry before it, unless a later entry showed the line's id."""
        for number, entry in json_lines(path, self._note_unread):
            if entry.get("type") == "session":
                continue
            entry_id, parent = entry.get("id"), entry.get("parentId")
            if not isinstance(entry_id, str) or entry_id in self._parents:
                report(f"line {number}", "It has no id of its own and was left out.")
                continue
            is_known_parent = isinstance(parent, str) and (
                parent in self._parents or self._take_for_unread(parent)
            )
            if parent is not None and not is_known_parent:
                report(f"line {number}", "What it follows is missing; it begins a new branch.")
            self._parents[entry_id] = parent if is_known_parent else None
            if entry.get("type") in ("message", "custom_message", "branch_summary"):
                self._messages.add(entry_id)

    def _note_unread(self, _place: str, _what: str) -> None:
        self._unread.append(next(reversed(self._parents), None))

    def _take_for_unread(self, entry_id: str) -> bool:
        """Take a missing entry for the newest unreadable line, if there is one, and return whether there was."""
        if not self._unread:
            return False
        self._parents[entry_id] = self._unread.pop()
        return True

    def branches(self, session: str, report: Report) -> Iterator[PiBranch]:
        """Yield the path to the last entry, then the paths to other leaves, the newest first."""
        inner = set(self._parents.values())
        leaves = [name for name in self._parents if name not in inner]
        branch_of_entry: dict[str, str] = {}
        for number, leaf in enumerate(reversed(leaves)):
            if number > MAX_BRANCHES:
                report("", f"Only the newest {MAX_BRANCHES} of its branches were read.")
                return
            path = self._path(leaf)
            own_entries = [name for name in path if name not in branch_of_entry]
            if number and not self._messages.intersection(own_entries):
                continue
            name = f"{session}/{own_entries[0]}" if number else session
            shared_entries = [entry for entry in path if entry in branch_of_entry]
            parent_branch = session if number else None
            if shared_entries:
                parent_branch = branch_of_entry[shared_entries[-1]]
            branch_of_entry |= dict.fromkeys(own_entries, name)
            yield PiBranch(
                name,
                frozenset(path),
                parent_branch,
                self.last_message(shared_entries),
                frozenset(shared_entries),
            )
        if not leaves:
            yield PiBranch(session, frozenset())

    def entries(self) -> Collection[str]:
        """Return the ids of all entries."""
        return self._parents.keys()

    def newest_path(self) -> list[str]:
        """Return the ids on the path to the last entry."""
        newest = next(reversed(self._parents), None)
        return [] if newest is None else self._path(newest)

    def last_message(self, entries: Sequence[str]) -> str | None:
        """Return the last one of some entries that is a message."""
        return next((entry for entry in reversed(entries) if entry in self._messages), None)

    def _path(self, leaf: str) -> list[str]:
        # A parent is always in an earlier line, so the path ends.
        path = [leaf]
        while (parent := self._parents[path[-1]]) is not None:
            path.append(parent)
        return path[::-1]

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

    session_id: str
    entry_ids: frozenset[str] | None = None
    """Ids of the entries; None for all of a file whose entries have no ids."""
    parent_session_id: str | None = None
    """Name of the path that it leaves; None for the first path."""
    branches_at: str | None = None
    """Id of the last message that both paths hold."""
    copied_ids: frozenset[str] = frozenset()
    """Ids of the entries that the other path holds too."""


class PiTree:
    """The ids of a file's entries, without their content."""

    def __init__(self, path: Path, report: Report) -> None:
        self._parents: dict[str, str | None] = {}
        self._message_ids: set[str] = set()
        self._parents_of_unread: deque[str | None] = deque(maxlen=MAX_UNREAD_LINES)
        """For each unreadable line, the id of the entry before it, unless a later entry showed the line's id."""
        for number, entry in json_lines(path, self._add_unread_line):
            if entry.get("type") == "session":
                continue
            entry_id, parent_id = entry.get("id"), entry.get("parentId")
            if not isinstance(entry_id, str) or entry_id in self._parents:
                report(f"line {number}", "It has no id of its own and was left out.")
                continue
            is_known_parent = isinstance(parent_id, str) and (
                parent_id in self._parents or self._fill_unread_line(parent_id)
            )
            if parent_id is not None and not is_known_parent:
                report(f"line {number}", "What it follows is missing; it begins a new branch.")
            self._parents[entry_id] = parent_id if is_known_parent else None
            if entry.get("type") in ("message", "custom_message", "branch_summary"):
                self._message_ids.add(entry_id)

    def _add_unread_line(self, _place: str, _what: str) -> None:
        self._parents_of_unread.append(next(reversed(self._parents), None))

    def _fill_unread_line(self, entry_id: str) -> bool:
        """Take a missing entry as the newest unreadable line's, if there is one; return whether there was one."""
        if not self._parents_of_unread:
            return False
        self._parents[entry_id] = self._parents_of_unread.pop()
        return True

    def branches(self, session_id: str, report: Report) -> Iterator[PiBranch]:
        """Yield the path to the last entry, then the paths to other leaves, the newest first."""
        parent_ids = set(self._parents.values())
        leaf_ids = [entry_id for entry_id in self._parents if entry_id not in parent_ids]
        branch_by_entry: dict[str, str] = {}
        for number, leaf_id in enumerate(reversed(leaf_ids)):
            if number > MAX_BRANCHES:
                report("", f"Only the newest {MAX_BRANCHES} of its branches were read.")
                return
            path_ids = self._path_to(leaf_id)
            own_ids = [entry_id for entry_id in path_ids if entry_id not in branch_by_entry]
            if number and not self._message_ids.intersection(own_ids):
                continue
            branch_name = f"{session_id}/{own_ids[0]}" if number else session_id
            shared_ids = [entry_id for entry_id in path_ids if entry_id in branch_by_entry]
            parent_session_id = session_id if number else None
            if shared_ids:
                parent_session_id = branch_by_entry[shared_ids[-1]]
            branch_by_entry |= dict.fromkeys(own_ids, branch_name)
            yield PiBranch(
                branch_name,
                frozenset(path_ids),
                parent_session_id,
                self.last_message_id(shared_ids),
                frozenset(shared_ids),
            )
        if not leaf_ids:
            yield PiBranch(session_id, frozenset())

    def entry_ids(self) -> Collection[str]:
        """Return the ids of all entries."""
        return self._parents.keys()

    def newest_path_ids(self) -> list[str]:
        """Return the ids on the path to the last entry."""
        newest_id = next(reversed(self._parents), None)
        return [] if newest_id is None else self._path_to(newest_id)

    def last_message_id(self, entry_ids: Sequence[str]) -> str | None:
        """Return the last of some entries' ids that is a message's."""
        return next((e for e in reversed(entry_ids) if e in self._message_ids), None)

    def _path_to(self, leaf_id: str) -> list[str]:
        # A parent is always in an earlier line, so the path ends.
        path_ids = [leaf_id]
        while (parent_id := self._parents[path_ids[-1]]) is not None:
            path_ids.append(parent_id)
        return path_ids[::-1]

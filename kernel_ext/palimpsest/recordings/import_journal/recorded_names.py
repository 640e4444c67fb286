"""Derive our ids from a recording's own, so that importing the same recording again gives the same ids.

Our ids are hashes: whatever a recording calls its sessions and messages, the names of folders and records
here are safe.
"""

import hashlib
from dataclasses import dataclass

HASH_CHARS = 26


@dataclass(frozen=True, slots=True)
class RecordedNames:
    """The ids of one session of a recording."""

    format: str
    recorded: str
    """The session's id in its recording."""
    copy: int = 0
    """Counts the copies of a recording that changed before its end; 0 for the first import."""

    @property
    def session(self) -> str:
        """Our id of the session."""
        copy_number = (str(self.copy),) if self.copy else ()
        return _hashed_id("ses", self.format, self.recorded, *copy_number)

    def other_session(self, recorded: str) -> str:
        """Return our id of another session of the same recording."""
        return RecordedNames(self.format, recorded).session

    def message(self, recorded: str) -> str:
        """Return our id of a message."""
        return _hashed_id("msg", self.session, recorded)

    def part(self, message_id: str, place: str) -> str:
        """Return our id of a part by its place in one of our messages."""
        return _hashed_id("prt", message_id, place)

    def decision(self, part_id: str, number: int) -> str:
        """Return our id of the n-th decision of this session, about a part."""
        return _hashed_id("dec", part_id, str(number))


def _hashed_id(prefix: str, *words: str) -> str:
    content = "\0".join(words).encode("utf-8", "surrogatepass")
    return f"{prefix}_{hashlib.sha256(content).hexdigest()[:HASH_CHARS]}"

"""Derive ids from the ids in a recording, so that importing the same recording again gives the same ids.

The derived ids are hashes, so that names of folders and records are safe even if a recording's own ids are not.
"""

import hashlib
from dataclasses import dataclass, field
from functools import lru_cache

HASH_CHARS = 26


@dataclass(frozen=True, slots=True)
class DerivedIds:
    """Derives the ids of one recorded session, its messages, parts and decisions."""

    format: str
    recorded_id: str
    """The session's id in its recording."""
    copy: int = 0
    """Number of a further import of a recording that changed before its end; 0 for the first import."""

    session_id: str = field(init=False)
    """The derived id of the session."""

    def __post_init__(self) -> None:
        session_id = _session_id(self.format, self.recorded_id, self.copy)
        object.__setattr__(self, "session_id", session_id)

    def other_session_id(self, recorded_id: str | None) -> str | None:
        """Return the derived id of another session of the same recording; None for None."""
        return None if recorded_id is None else DerivedIds(self.format, recorded_id).session_id

    def message_id(self, recorded_id: str) -> str:
        """Return the derived id of a message."""
        return _hashed_id("msg", self.session_id, recorded_id)

    def part_id(self, message_id: str, position: str) -> str:
        """Return the derived id of a part, by its position in a message with a derived id."""
        return _hashed_id("prt", message_id, position)

    def decision_id(self, part_id: str, number: int) -> str:
        """Return the derived id of the session's decision ``number``, about a part."""
        return _hashed_id("dec", part_id, str(number))


@lru_cache(maxsize=64)
def _session_id(format_name: str, recorded_id: str, copy: int) -> str:
    copy_piece = (str(copy),) if copy else ()
    return _hashed_id("ses", format_name, recorded_id, *copy_piece)


def _hashed_id(prefix: str, *pieces: str) -> str:
    content = "\0".join(pieces).encode("utf-8", "surrogatepass")
    return f"{prefix}_{hashlib.sha256(content).hexdigest()[:HASH_CHARS]}"

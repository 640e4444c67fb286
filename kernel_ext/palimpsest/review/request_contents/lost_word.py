"""A name that a compaction lost, for reports and the page's protocol."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LostWord:
    """A name that a compaction lost."""

    name: str
    kind: str
    """One of ``LOST_KINDS``."""
    needed: tuple[int, ...]
    """The requests, from 0, whose answers used the name after it was lost and before it was shown again."""

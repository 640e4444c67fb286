"""A name that a compaction lost, as reports and the page's protocol carry it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LostWord:
    """A name that a compaction lost."""

    name: str
    kind: str
    """One of ``LOST_KINDS``."""
    needed: tuple[int, ...]
    """The requests, from 0, whose answers used it while the summary stood in its place, before anything showed it again."""

"""The names in a session: which item holds which path, identifier, error or number, and which answer uses it.

Words are compared, not meanings: a name counts as used where an answer writes it, in its text or in the
input of a call.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from palimpsest.context.compaction.loss_report import KINDS
from palimpsest.transcript.timeline import Timeline

LEAST_CHARS = 4
"""Shorter names are too often the same by chance."""
MOST_NAMES = 2_000
"""Names of one item that are looked at; a longer list is a table of data."""
_ANSWER = frozenset({"assistant", "call"})


@dataclass(frozen=True, slots=True)
class NameUse:
    """An answer uses a name that was in the context before."""

    request: int
    name: str
    sources: frozenset[int]
    """The items that hold it and existed when the request was sent."""
    newest: int
    """The newest of them."""


@dataclass(frozen=True)
class References:
    """The uses of names in a session, in the order of requests."""

    uses: tuple[NameUse, ...]

    @classmethod
    def of(cls, timeline: Timeline) -> "References":
        """Find the names of a session: its texts are read once."""
        found: dict[str, list[int]] = {}
        per_item = [tuple(dict.fromkeys(names_in(timeline.read(i)))) for i in _read(timeline)]
        for index, names in enumerate(per_item):
            for name in names:
                found.setdefault(name, []).append(index)
        return cls(tuple(_uses(timeline, per_item, found)))


def _read(timeline: Timeline) -> range:
    return range(len(timeline.items))


def _uses(
    timeline: Timeline, per_item: list[tuple[str, ...]], holders: Mapping[str, list[int]]
) -> Iterator[NameUse]:
    for request in timeline.requests:
        used = dict.fromkeys(
            name
            for index in range(*request.answer)
            if timeline.items[index].kind in _ANSWER
            for name in per_item[index]
        )
        for name in used:
            sources = [one for one in holders[name] if one < request.items]
            if sources:
                yield NameUse(request.index, name, frozenset(sources), sources[-1])


def names_in(text: str) -> Iterator[str]:
    """Yield the names in a text, at most ``MOST_NAMES``."""
    left = MOST_NAMES
    for pattern in KINDS.values():
        for match in pattern.finditer(text):
            name = match[0].rstrip(".,:;")
            if len(name) >= LEAST_CHARS:
                left -= 1
                if left < 0:
                    return
                yield name

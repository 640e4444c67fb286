"""The names in a session: which item holds which path, identifier, error or number, and which answer uses it.

Words are compared, not meanings: a name counts as used where an answer writes it, in its text or in the
input of a call.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from palimpsest.context.compaction.loss_report import KINDS
from palimpsest.review.replay.text_names import names_of
from palimpsest.transcript.timeline import Timeline

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

    @cached_property
    def kinds(self) -> Mapping[str, str]:
        """The kind of each name that is used: ``paths``, ``errors``, ``identifiers`` or ``numbers``."""
        return {name: kind_of_name(name) for name in self.requests}

    @cached_property
    def needed(self) -> Mapping[str, int]:
        """How many uses there are of names of each kind."""
        return Counter(self.kinds[use.name] for use in self.uses)

    @cached_property
    def requests(self) -> Mapping[str, tuple[int, ...]]:
        """The requests whose answers use a name, ascending, by name."""
        found: dict[str, list[int]] = {}
        for use in self.uses:
            found.setdefault(use.name, []).append(use.request)
        return {name: tuple(those) for name, those in found.items()}


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


def kind_of_name(name: str) -> str:
    """Return the kind of a name: the first whose pattern it is; of one cut from its text, an identifier."""
    return next((kind for kind, one in KINDS.items() if one.fullmatch(name)), "identifiers")


def names_in(text: str) -> Iterator[str]:
    """Return the names in a text, at most ``MOST_NAMES``."""
    return (name for _, name in islice(names_of(text), MOST_NAMES))

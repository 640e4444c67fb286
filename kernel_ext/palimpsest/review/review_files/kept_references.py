"""The names in a session and their uses, in the form of a file.

A name is written once, with the items that contain it; the sources of a use are those of its items that existed then.
"""

from bisect import bisect_left
from collections.abc import Sequence

from palimpsest.review.review_files.columns import KeptValue
from palimpsest.review.review_files.kept_timeline import check_indexes
from palimpsest.review.tables.references import FirstItems, NameUse, References
from palimpsest.transcript.timeline import Timeline


class KeptReferences(KeptValue):
    """The names, the items that contain each, and the uses of names in the order of requests."""

    names: tuple[str, ...]
    holders: tuple[tuple[int, ...], ...]
    """The items that contain each name, ascending."""
    requests: tuple[int, ...]
    """The request of each use."""
    uses: tuple[int, ...]
    """The index in ``names`` of the name of each use."""

    @classmethod
    def of(cls, references: References) -> "KeptReferences":
        """Return references in the form of a file."""
        holders: dict[str, Sequence[int]] = {}
        for use in references.uses:
            if len(use.sources) > len(holders.get(use.name, ())):
                holders[use.name] = use.sources
        index_by_name = {name: index for index, name in enumerate(holders)}
        return cls.model_construct(
            names=(*holders,),
            holders=tuple(tuple(items_of_name) for items_of_name in holders.values()),
            requests=tuple(use.request for use in references.uses),
            uses=tuple(index_by_name[use.name] for use in references.uses),
        )

    def references(self, timeline: Timeline) -> References:
        """Return the references; raises ValueError where they do not fit the timeline."""
        for items in self.holders:
            check_indexes(items, len(timeline.items))
        check_indexes(self.requests, len(timeline.requests))
        check_indexes(self.uses, len(self.names))
        if (
            len(self.holders) != len(self.names)
            or any(list(items) != sorted(set(items)) for items in self.holders)
            or list(self.requests) != sorted(self.requests)
        ):
            raise ValueError("Holders or uses are not in order.")
        uses = []
        for request, name_index in zip(self.requests, self.uses, strict=True):
            items_of_name = self.holders[name_index]
            source_count = bisect_left(items_of_name, timeline.requests[request].items)
            if not source_count:
                raise ValueError("A name is used before any item holds it.")
            uses.append(
                NameUse(request, self.names[name_index], FirstItems(items_of_name, source_count))
            )
        return References(tuple(uses))

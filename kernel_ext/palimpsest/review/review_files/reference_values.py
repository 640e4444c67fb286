"""The names in a session and their uses as plain values, and back.

A name is written once, with the items that hold it; the sources of a use are those of them that existed then.
"""

from bisect import bisect_left
from typing import Any

from palimpsest.review.comparison.references import NameUse, References
from palimpsest.review.review_files.columns import TEXT, NotAsWritten, rows_of, wholes
from palimpsest.transcript.timeline import Timeline


def reference_values(references: References) -> dict[str, Any]:
    """Return references as plain values."""
    holders: dict[str, frozenset[int]] = {}
    for use in references.uses:
        if len(use.sources) > len(holders.get(use.name, ())):
            holders[use.name] = use.sources
    places = {name: place for place, name in enumerate(holders)}
    return {
        "names": [*holders],
        "holders": [sorted(one) for one in holders.values()],
        "requests": [use.request for use in references.uses],
        "uses": [places[use.name] for use in references.uses],
    }


def references_from(value: object, timeline: Timeline) -> References:
    """Return the references of plain values; raises NotAsWritten where they do not fit the timeline."""
    if not isinstance(value, dict):
        raise NotAsWritten("These are no references.")
    names = [one for (one,) in rows_of({"names": value.get("names")}, {"names": TEXT})]
    holders = _holders(value.get("holders"), len(names), len(timeline.items))
    requests = wholes(value.get("requests"), len(timeline.requests))
    uses = wholes(value.get("uses"), len(names))
    if len(requests) != len(uses) or list(requests) != sorted(requests):
        raise NotAsWritten("The uses are not in the order of requests.")
    sets: dict[tuple[int, int], frozenset[int]] = {}
    found = []
    for request, use in zip(requests, uses, strict=True):
        own = holders[use]
        count = bisect_left(own, timeline.requests[request].items)
        if not count:
            raise NotAsWritten("A name is used before any item holds it.")
        sources = sets.get((use, count))
        if sources is None:
            sources = sets[use, count] = frozenset(own[:count])
        found.append(NameUse(request, names[use], sources, own[count - 1]))
    return References(tuple(found))


def _holders(value: object, names: int, items: int) -> list[tuple[int, ...]]:
    if not isinstance(value, list) or len(value) != names:
        raise NotAsWritten("Each name has its holders.")
    found = [wholes(one, items) for one in value]
    if any(list(one) != sorted(set(one)) for one in found):
        raise NotAsWritten("The holders of a name are not in order.")
    return found

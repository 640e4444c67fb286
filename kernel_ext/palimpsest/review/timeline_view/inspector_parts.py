"""The parts of an inspector: which are shown alone, and which are hidden until they are revealed.

A learner predicts before the answer is seen only if no other part shows it: with a hidden part, the parts that tell the same
are hidden too, in the page and in the saved cell.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

from palimpsest.review.tables.inspector_place import NEWEST_PLACE, InspectorPlace, opening_place
from palimpsest.transcript.errors import UserError

InspectorPart = Literal[
    "tracks",
    "sentence",
    "policy",
    "grid",
    "card",
    "difference",
    "window",
    "requests",
    "request",
    "search",
    "compactions",
    "cost",
    "figures",
    "breaks",
    "wastes",
    "totals",
]
INSPECTOR_PARTS: tuple[InspectorPart, ...] = get_args(InspectorPart)
PARTS_THAT_TELL: Mapping[str, tuple[InspectorPart, ...]] = {
    "cost": (
        *("sentence", "difference", "requests", "compactions"),
        *("figures", "breaks", "wastes", "totals"),
    ),
    "breaks": ("sentence", "difference", "requests", "wastes", "totals", "cost", "figures"),
    "wastes": ("totals",),
    "figures": ("totals", "cost"),
}
"""Parts that tell what another part shows. Tracks and card stay, without their marks, figures and sentences of it."""


def parts_named(names: Sequence[str] | str, argument: str) -> tuple[InspectorPart, ...]:
    """Return the parts with these names, each once; raises UserError for a name that is none."""
    chosen_names = (names,) if isinstance(names, str) else tuple(names)
    for name in chosen_names:
        if name not in INSPECTOR_PARTS:
            known_names = ", ".join(INSPECTOR_PARTS)
            raise UserError(
                f"{name!r:.60} in {argument} is no part of the inspector; they are {known_names}."
            )
    return cast("tuple[InspectorPart, ...]", tuple(dict.fromkeys(chosen_names)))


def hidden_with(hidden_parts: Iterable[InspectorPart]) -> tuple[InspectorPart, ...]:
    """Return the parts that are not shown while the given ones are hidden: these, and the parts that tell the same."""
    parts = {part for hidden in hidden_parts for part in (hidden, *PARTS_THAT_TELL.get(hidden, ()))}
    return tuple(part for part in INSPECTOR_PARTS if part in parts)


@dataclass(frozen=True, slots=True)
class InspectorOpening:
    """How an inspector opens: at which place, with which parts, and what is hidden at first."""

    place: InspectorPlace = NEWEST_PLACE
    views: tuple[InspectorPart, ...] = ()
    """The parts that are shown alone, in their order; none for all, in tabs."""
    hide: tuple[InspectorPart, ...] = ()
    """The parts that are hidden until they are revealed."""


OPENS_WHOLE = InspectorOpening()


def inspector_opening(
    session_id: str,
    *,
    link: str | None,
    views: Sequence[str] | str,
    hide: Sequence[str] | str,
    place: Mapping[str, Any],
    beside: str | None = None,
) -> InspectorOpening:
    """Return how an inspector of a session opens; raises UserError, with one sentence, for what is not valid.

    With a session ``beside`` it opens at what compares both, where neither link nor place says another one.
    """
    fields = dict(place)
    if beside is not None:
        fields |= {"beside": beside} if link or place else {"beside": beside, "tab": "compared"}
    opening = InspectorOpening(
        opening_place(session_id, link, fields),
        parts_named(views, "views"),
        parts_named(hide, "hide"),
    )
    if opening.place.beside is not None and (opening.views or opening.hide):
        raise UserError(
            "Two sessions are shown whole, since what compares them tells of every part: leave out views and hide."
        )
    return opening

"""The trait that holds an inspector's place: a value in Python, and a link on its way to the page and back."""

import logging
from collections.abc import Mapping
from typing import Any

import traitlets

from palimpsest.review.tables.inspector_place import (
    NEWEST_PLACE,
    InspectorPlace,
    checked_place,
    place_in_session,
    place_link,
)
from palimpsest.transcript.errors import UserError

_log = logging.getLogger(__name__)


class PlaceTrait(traitlets.TraitType):  # type: ignore[misc]  # traitlets has no types here
    """An ``InspectorPlace``; a mapping of its fields and a link are taken, too."""

    default_value = NEWEST_PLACE
    info_text = "an InspectorPlace, a mapping of its fields, or a link"

    def validate(self, obj: Any, value: Any) -> InspectorPlace:
        """Return the value as a place; raises UserError, with one sentence, for one that is none."""
        match value:
            case InspectorPlace():
                place = value
            case str():
                place = place_in_session(obj.session, value)
            case Mapping():
                place = checked_place(value)
            case _:
                sentence = f"{value!r:.80} is no place of an inspector: give {self.info_text}."
                raise UserError(sentence)
        return place_beside(place, obj.beside)


def place_beside(place: InspectorPlace, beside: str | None) -> InspectorPlace:
    """Return a place that names the session beside; raises UserError for a place with another one."""
    if place.beside is not None and place.beside != beside:
        session_text = "no session" if beside is None else repr(beside)
        raise UserError(
            f"This view shows {session_text} beside its own: for {place.beside!r}, inspect(beside=...) opens another one."
        )
    side = place.side if beside is not None else None
    if (place.beside, place.side) == (beside, side):
        return place
    return place.model_copy(update={"beside": beside, "side": side})


def link_of_place(place: InspectorPlace, widget: Any) -> str:
    """Return the link that a page is sent."""
    return place_link(widget.session, place)


def place_of_link(link: Any, widget: Any) -> InspectorPlace:
    """Return the place that a page sent as a link; the widget's present place where the link cannot be read."""
    try:
        return place_in_session(widget.session, link)
    except (UserError, TypeError):
        _log.debug("The inspector's page sent a place that nobody understands: %.80r", link)
        place: InspectorPlace = widget.place
        return place

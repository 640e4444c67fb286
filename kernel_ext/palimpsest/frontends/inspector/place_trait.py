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
                return value
            case str():
                return place_in_session(obj.session, value)
            case Mapping():
                return checked_place(value)
            case _:
                raise UserError(
                    f"{value!r:.80} is no place of an inspector: give {self.info_text}."
                )


def link_of_place(place: InspectorPlace, widget: Any) -> str:
    """Return the link that a page is sent."""
    return place_link(widget.session, place)


def place_of_link(link: Any, widget: Any) -> InspectorPlace:
    """Return the place that a page sent; the place as it was for what this kernel does not know."""
    try:
        return place_in_session(widget.session, link)
    except (UserError, TypeError):
        _log.debug("The inspector's page sent a place that nobody understands: %.80r", link)
        place: InspectorPlace = widget.place
        return place

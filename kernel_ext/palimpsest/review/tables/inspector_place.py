"""The place of an inspector: what it shows of a session, as a value and as a link.

Border: pure. Requests and items count from 1, as people count them. A page writes and reads the same links
(``labextension/src/state/inspector/placeLink.ts``), which are also what crosses the border between kernel and page.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self, get_args
from urllib.parse import parse_qsl, quote, unquote, urlencode

from pydantic import ConfigDict, Field, ValidationError, model_validator

from palimpsest.review.prices.price_file import PriceWords, price_words
from palimpsest.review.tables.links import LINK_SCHEME, link_to
from palimpsest.review.tables.question_limits import MAX_NAME_CHARS, MAX_PRICES_CHARS, refusal_text
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.values import Value

InspectorTab = Literal["compared", "timeline", "items", "requests", "cost", "wastes", "notes"]
INSPECTOR_TABS: tuple[InspectorTab, ...] = get_args(InspectorTab)
ItemOrder = Literal["order", "size"]
MAX_COUNT = 1_000_000_000
"""Requests, items and definitions are numbered below this limit in a link."""
MAX_ZOOM = 9
CountedFromOne = Annotated[int, Field(ge=1, lt=MAX_COUNT)]


class ItemFilter(Value):
    """The items that the grid lists, and their order."""

    model_config = ConfigDict(extra="forbid")
    kind: str = Field(default="", max_length=MAX_NAME_CHARS)
    """A kind, such as ``output``; empty for all."""
    tool: str = Field(default="", max_length=MAX_NAME_CHARS)
    """A tool's name; empty for all."""
    text: str = Field(default="", max_length=MAX_NAME_CHARS)
    """Text that the item's label holds, whatever the case of its letters."""
    changed: bool = False
    """Whether to list only items that some request does not show whole."""
    sort: ItemOrder = "order"
    """In the order in which they came, or the largest first."""


class InspectorPlace(Value):
    """What an inspector shows of a session; a field that is not given is as when the inspector opens.

    Requests and items count from 1 in Python and in a link, and from 0 in a page.
    """

    model_config = ConfigDict(extra="forbid")
    request: CountedFromOne | None = None
    """The request at the cursor; None for the newest."""
    item: CountedFromOne | None = None
    """The item whose card is open."""
    definition: CountedFromOne | None = None
    """The tool definition of that item whose card is open, from 1."""
    against: CountedFromOne | None = None
    """The request with which the shown request is compared; by default the request before it."""
    range: tuple[CountedFromOne, CountedFromOne] | None = None
    """The first and the last request to which grid, tables and sums are narrowed."""
    subagent: str | None = Field(default=None, max_length=MAX_NAME_CHARS)
    """Id of a subagent that is shown instead of the session; the other fields are about the subagent."""
    beside: str | None = Field(default=None, max_length=MAX_NAME_CHARS)
    """A second session that is shown beside the first: its id, or the path of a recorded file."""
    side: Literal["second"] | None = None
    """``second`` where the other fields are about the session ``beside``; by default they are about the first session."""
    tab: InspectorTab | None = None
    policy: str | None = Field(default=None, max_length=MAX_NAME_CHARS)
    """The policy of the second track: its name, followed by its numbers."""
    price: str | None = Field(default=None, max_length=MAX_PRICES_CHARS)
    """The prices and the lifetime of the cache that were chosen on the page, in the words of ``given_prices``."""
    what_if: bool = False
    """Whether grid, window, difference and request show the policy instead of the recording."""
    explained: bool = False
    """Whether the sentences below the tracks, the legend of the marks and the prices are open."""
    zoom: int = Field(default=0, ge=0, le=MAX_ZOOM)
    """How often the grid's columns were widened; 0 where all requests fit."""
    filter: ItemFilter | None = None
    """The items that the grid lists; None for all."""

    @model_validator(mode="after")
    def _check_range(self) -> Self:
        if self.range is not None and self.range[0] > self.range[1]:
            raise ValueError("its first request comes after its last")
        return self


NEWEST_PLACE = InspectorPlace()
"""The newest request, as an inspector opens without a place."""
PLACE_FIELDS = tuple(InspectorPlace.model_fields)
_FILTER_NAMES = {
    "kind": "kind",
    "tool": "tool",
    "find": "text",
    "changed": "changed",
    "sort": "sort",
}
"""The fields of a filter by their names in a link."""
_UNQUOTED_CHARS = "!'()*~"
"""Punctuation that ``encodeURIComponent``, which a page uses, does not escape either."""
_FLAG_NAMES = frozenset({"what_if", "explained", "changed"})
_PLACE_LINK = re.compile(rf"#?{LINK_SCHEME}([^/?]+)(?:/(\d+))?(?:/(\d+))?(?:\?(.*))?", re.DOTALL)


def checked_place(fields: Mapping[str, Any]) -> InspectorPlace:
    """Return the place with these fields; for an invalid field raises UserError, which names it."""
    try:
        return InspectorPlace.model_validate(dict(fields))
    except ValidationError as error:
        problem = error.errors()[0]
        name = ".".join(key for key in problem["loc"] if isinstance(key, str)) or "range"
        if problem["type"] == "extra_forbidden":
            choices = ", ".join(PLACE_FIELDS if "." not in name else ItemFilter.model_fields)
            raise UserError(f"An inspector's place has no {name!r}; it has {choices}.") from None
        value = fields.get(name, problem["input"])
        raise UserError(f"{value!r:.60} is no {name}: {refusal_text(problem)}.") from None


def place_link(session_id: str, place: InspectorPlace) -> str:
    """Return the link to a place in a session.

    >>> place_link("ses_1", InspectorPlace(request=4, item=8, tab="cost"))
    'palimpsest:ses_1/4/8?tab=cost'
    """
    link_fields = place.model_dump(exclude_defaults=True, exclude_none=True)
    request, item = link_fields.pop("request", None), link_fields.pop("item", None)
    if request is None and item is not None:
        link_fields = {"item": item, **link_fields}
    if place.range is not None:
        link_fields["range"] = "{}-{}".format(*place.range)
    filter_fields = link_fields.pop("filter", {})
    link_fields |= {
        name: filter_fields[field]
        for name, field in _FILTER_NAMES.items()
        if field in filter_fields
    }
    query_pairs = [
        (name, 1 if field_value is True else field_value)
        for name, field_value in link_fields.items()
    ]
    path = link_to(
        session_id, None if request is None else request - 1, None if item is None else item - 1
    )
    return (
        f"{path}?{urlencode(query_pairs, safe=_UNQUOTED_CHARS, quote_via=quote)}"
        if query_pairs
        else path
    )


def link_of_fields(
    session_id: str,
    fields: Mapping[str, Any],
    price: PriceWords | None = None,
    lifetime: str | float | None = None,
) -> str:
    """Return the link to the place with these fields; ``price`` and ``lifetime`` are those of ``Session.inspect``.

    Raises UserError for what is no price, and for a field that is not valid.

    >>> link_of_fields("ses_1", {"request": 4, "tab": "cost"}, "units")
    'palimpsest:ses_1/4?tab=cost&price=units'
    """
    return place_link(session_id, checked_place({**fields, "price": price_words(price, lifetime)}))


def with_prices(opening_prices: str | None, chosen_prices: str | None) -> str | None:
    """Return the prices that an inspector opened with, and those that were chosen since, which win."""
    if opening_prices is None or chosen_prices is None or chosen_prices.startswith(opening_prices):
        return chosen_prices or opening_prices
    return f"{opening_prices} {chosen_prices}"


def linked_place(link: str) -> tuple[str, InspectorPlace]:
    """Return the session and the place of a link; raises UserError for a text that is no link to a place, or has unknown fields.

    >>> linked_place("palimpsest:ses_1/4?tab=cost")[1].request
    4
    """
    match = _PLACE_LINK.fullmatch(link)
    if match is None:
        raise UserError(
            f"{link!r:.80} is no link to a place: it looks like palimpsest:SESSION/40/8?tab=cost."
        )
    session_id, request, item, query_text = match.groups()
    fields: dict[str, Any] = {}
    filter_fields: dict[str, Any] = {}
    for name, text in parse_qsl(query_text or "", keep_blank_values=True):
        value: Any = {"1": True, "0": False}.get(text, text) if name in _FLAG_NAMES else text
        if name in _FILTER_NAMES:
            filter_fields[_FILTER_NAMES[name]] = value
        elif name == "range":
            fields[name] = text.split("-")
        else:
            fields[name] = value
    path_fields = {"request": request, "item": item, "filter": filter_fields or None}
    fields |= {name: value for name, value in path_fields.items() if value is not None}
    return unquote(session_id), checked_place(fields)


def place_in_session(session_id: str, link: str) -> InspectorPlace:
    """Return the place of a link into a session; raises UserError for a link into another session."""
    linked_session_id, place = linked_place(link)
    if linked_session_id != session_id:
        raise UserError(
            f"The link leads to the session {linked_session_id}, and this is {session_id}."
        )
    return place


def opening_place(session_id: str, link: str | None, fields: Mapping[str, Any]) -> InspectorPlace:
    """Return the place at which an inspector opens: that of a link, changed by these fields."""
    place = NEWEST_PLACE if link is None else place_in_session(session_id, link)
    return checked_place({**place.model_dump(exclude_unset=True), **fields})

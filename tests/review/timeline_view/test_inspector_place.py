"""The place of an inspector is a value, and a link that a page writes and reads, too."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.review.timeline_view.inspector_place import (
    INSPECTOR_TABS,
    InspectorPlace,
    ItemFilter,
    checked_place,
    linked_place,
    place_link,
)
from palimpsest.transcript.errors import UserError

SAMPLES = json.loads((Path(__file__).parent / "place_links.json").read_text("utf-8"))
"""Links with the places they name; ``labextension/tests/state/inspector/placeLink.test.ts`` reads them, too."""
NUMBERS = st.none() | st.integers(1, 999)
WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
PLACES = st.builds(
    InspectorPlace,
    request=NUMBERS,
    item=NUMBERS,
    against=NUMBERS,
    range=st.none() | st.tuples(st.integers(1, 50), st.integers(50, 99)),
    tab=st.none() | st.sampled_from(INSPECTOR_TABS),
    policy=st.none() | WORDS.filter(bool),
    price=st.none() | WORDS.filter(bool),
    what_if=st.booleans(),
    filter=st.builds(ItemFilter, kind=WORDS, tool=WORDS, text=WORDS, changed=st.booleans()),
    zoom=st.integers(0, 9),
    explained=st.booleans(),
)


@pytest.mark.parametrize("sample", SAMPLES, ids=[sample["link"] for sample in SAMPLES])
def test_a_link_names_its_place(sample: dict[str, Any]) -> None:
    session, place = linked_place(sample["link"])

    assert place == checked_place(sample["place"])
    assert place_link(session, place) == sample["link"]


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), PLACES)
def test_every_place_comes_back_from_its_link(session: str, place: InspectorPlace) -> None:
    read_session, read = linked_place(place_link(session, place))

    plain = place if place.filter != ItemFilter() else place.model_copy(update={"filter": None})
    assert (read_session, read) == (session, plain)


@pytest.mark.parametrize(
    ("link", "sentence"),
    [
        ("ses_1", "is no link to a place"),
        ("palimpsest:s/0", "'0' is no request"),
        ("palimpsest:s?tab=newer", "'newer' is no tab"),
        ("palimpsest:s?more=1", "place has no 'more'; it has request"),
        ("palimpsest:s?range=5-3", "is no range"),
        ("palimpsest:s?range=3", "is no range"),
        ("palimpsest:s?zoom=99", "'99' is no zoom"),
        ("palimpsest:s?changed=maybe", "'maybe' is no filter.changed"),
        ("palimpsest:s?filter=3", "'3' is no filter"),
    ],
)
def test_what_is_not_valid_is_one_sentence(link: str, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence.replace(".", r"\.")) as refused:
        linked_place(link)

    assert str(refused.value).count("\n") == 0

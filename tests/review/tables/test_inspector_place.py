"""The place of an inspector is a value, and a link that a page writes and reads, too."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.review.tables.inspector_place import (
    INSPECTOR_TABS,
    InspectorPlace,
    ItemFilter,
    checked_place,
    link_of_fields,
    linked_place,
    place_link,
    with_prices,
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
    beside=st.none() | WORDS.filter(bool),
    side=st.sampled_from([None, "second"]),
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


def test_a_link_takes_what_inspect_takes(tmp_path: Path) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text('"gpt-5" = "1/10"\n', "utf-8")
    link = link_of_fields("ses_1", {"request": 4, "tab": "cost"}, [prices, "units"], "1h")

    assert link == "palimpsest:ses_1/4?tab=cost&price=gpt-5%3D1%2F10%20units%20lifetime%3D1h"
    assert link_of_fields("ses_1", {}) == "palimpsest:ses_1"
    with pytest.raises(UserError, match="has no 'tap'; it has request"):
        link_of_fields("ses_1", {"tap": "cost"})
    with pytest.raises(UserError, match="prices\\.json"):
        link_of_fields("ses_1", {}, "prices.json")


@pytest.mark.parametrize(
    ("opened", "chosen", "both"),
    [
        (None, None, None),
        ("units", None, "units"),
        (None, "units", "units"),
        ("a=1/2", "lifetime=1h", "a=1/2 lifetime=1h"),
        ("a=1/2", "a=1/2 lifetime=1h", "a=1/2 lifetime=1h"),
    ],
)
def test_prices_of_the_opening_stand_before_those_chosen_since(
    opened: str | None, chosen: str | None, both: str | None
) -> None:
    assert with_prices(opened, chosen) == both

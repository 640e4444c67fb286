"""A recording with a field that no adapter reads is rejected, and the field named."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.golden import data
from tests.golden.data import load, only
from tests.golden.known_fields import KNOWN
from tests.golden.upstream import message
from tests.sample_size import thinned

NEW = "surpriseOfTheNextRelease"
PLACES = [(name, place) for name, places in KNOWN.items() for place in places]
USER = {
    "id": "msg_1",
    "sessionID": "ses_1",
    "role": "user",
    "time": {"created": 1},
    "agent": "build",
}
MODEL = {"providerID": "anthropic", "modelID": "claude-test"}
TEXT = {"id": "prt_1", "messageID": "msg_1", "sessionID": "ses_1", "type": "text", "text": "Hello."}


@pytest.fixture
def another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder that PALIMPSEST_GOLDEN names."""
    monkeypatch.setenv("PALIMPSEST_GOLDEN", str(tmp_path))
    data.folder.cache_clear()
    yield tmp_path
    data.folder.cache_clear()


def made(place: list[str], held: Any) -> Any:
    """Return a recording with one value at a dotted path."""
    if not place:
        return held
    inside = made(place[1:], held)
    return {"one" if place[0] == "*" else place[0]: [inside] if place[0] == "cases" else inside}


@pytest.mark.parametrize(("name", "place"), thinned(PLACES, 4))
def test_a_field_that_is_not_known_is_refused_by_its_name(
    name: str, place: str, another: Path
) -> None:
    source, _, recording = name.replace("seed-era", "seed-era-1.1.65").rpartition("/")
    steps = [*filter(None, place.split("."))]
    known = dict.fromkeys(KNOWN[name][place].split())
    (another / source).mkdir(parents=True)
    file = another / source / f"{recording}.json"

    file.write_text(json.dumps(made(steps, known)))
    assert load(source, recording) == made(steps, known)
    file.write_text(json.dumps(made(steps, known | {NEW: 1})))
    with pytest.raises(AssertionError, match=f"read by no adapter: {NEW}"):
        load(source, recording)


@pytest.mark.parametrize("where", ["info", "parts"])
def test_a_message_with_a_new_field_is_refused_by_its_name(where: str) -> None:
    info, part = {**USER, "model": MODEL}, dict(TEXT)
    assert message({"info": info, "parts": [part]}).id == "msg_1"
    (info if where == "info" else part)[NEW] = 1

    with pytest.raises(AssertionError, match=NEW):
        message({"info": info, "parts": [part]})


def test_a_recording_that_is_not_there_is_skipped(another: Path) -> None:
    with pytest.raises(pytest.skip.Exception, match=f"no recording opencode/loop in {another}"):
        load("opencode", "loop")


def test_nothing_at_all_has_no_unknown_fields() -> None:
    assert only(None, "name") == {}

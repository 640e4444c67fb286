"""A changed or broken file never stops an importer otherwise than with one sentence."""

import copy
import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.recordings.formats.recording import SAMPLES

from palimpsest.recordings.formats.atif import AtifImporter
from palimpsest.recordings.formats.mini_swe_agent import MiniSweAgentImporter
from palimpsest.recordings.formats.openai_chat import OpenAIChatImporter
from palimpsest.recordings.formats.swe_agent import SweAgentImporter
from palimpsest.recordings.reading.importer import Importer
from palimpsest.recordings.reading.recorded import SessionBegin
from palimpsest.recordings.reading.sources import head_of
from palimpsest.transcript.errors import UserError

CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
TALK: list[Any] = [
    {"role": "system", "content": "s"},
    {"role": "user", "content": [{"type": "text", "text": "u"}]},
    {"role": "assistant", "content": "a", "tool_calls": [CALL], "message_type": "action"},
    {"role": "tool", "content": "long", "tool_call_ids": ["c"], "tool_call_id": "c"},
]
MASKED: list[Any] = [*TALK[:3], {**TALK[3], "content": "short"}, TALK[2], TALK[3]]
TRAJ: dict[str, Any] = {
    "trajectory": [
        {"action": "ls", "observation": "o", "response": "a", "query": TALK[:2]},
        {"action": "ls", "observation": "o", "response": "a", "query": TALK},
        {"action": "ls", "observation": "o", "response": "a", "messages": MASKED},
    ],
    "history": [*TALK, *TALK[2:]],
    "replay_config": {"agent": {"history_processors": [{"type": "last_n_observations"}]}},
    "environment": "e",
}
FILES: list[tuple[Importer, Any]] = [
    (SweAgentImporter(), TRAJ),
    (MiniSweAgentImporter(), json.loads((SAMPLES / "mini-swe-agent.traj.json").read_bytes())),
    (AtifImporter(), json.loads((SAMPLES / "atif" / "trajectory.json").read_bytes())),
    (AtifImporter(), json.loads((SAMPLES / "atif" / "trajectory.cont-1.json").read_bytes())),
    (OpenAIChatImporter(), {"messages": TALK, "tools": [CALL], "usage": {"prompt_tokens": 1}}),
]
ODD: st.SearchStrategy[Any] = st.sampled_from(
    [
        *(None, True, False, 0, -1, 10**400, 1e308, float("inf"), float("nan"), "", "c", "\ud800"),
        *("../x", "\0", [], {}, [[]], [{}], [None], {"": None}, {"role": 7}, {"type": "text"}),
        *([{"text": 1}], "2026-99-99", "9999-12-31T23:59:59+00:00", "data:,x", {"url": {}}),
    ]
)


def places(value: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to each value inside a document."""
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for name, value_there in inner:
        yield (*before, name)
        if isinstance(value_there, dict | list):
            yield from places(value_there, (*before, name))


def changed(document: Any, way: tuple[Any, ...], to: Any) -> Any:
    """Return a document with another value at a place."""
    made = copy.deepcopy(document)
    inside = made
    for name in way[:-1]:
        inside = inside[name]
    inside[way[-1]] = to
    return made


def read(importer: Importer, path: Path) -> list[Any]:
    """Return what is read of a file; nothing where it is refused."""
    importer.recognises(head_of(path))
    values: list[Any] = []
    with suppress(UserError):
        values += importer.read(path, lambda _place, _what: None)
    return values


@pytest.mark.parametrize(("importer", "document"), FILES)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_values_of_other_types_raise_nothing(
    importer: Importer, document: Any, tmp_path: Path, data: st.DataObject
) -> None:
    for _ in range(data.draw(st.integers(1, 4))):
        ways = list(places(document))
        document = changed(document, data.draw(st.sampled_from(ways)), data.draw(ODD))
        if not document:
            break
    path = tmp_path / "one.traj"
    path.write_text(json.dumps(document))

    for entry in read(importer, path):
        if isinstance(entry, SessionBegin):
            assert entry.format == importer.name
            assert entry.id


@pytest.mark.parametrize(("importer", "document"), FILES)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_broken_bytes_raise_nothing(
    importer: Importer, document: Any, tmp_path: Path, data: st.DataObject
) -> None:
    whole = json.dumps(document).encode()
    cut = data.draw(st.integers(0, len(whole)))
    path = tmp_path / "one.traj"
    path.write_bytes(whole[:cut] + data.draw(st.binary(max_size=4)) + whole[cut + 2 :])

    read(importer, path)


@pytest.mark.parametrize(("importer", "document"), FILES)
def test_a_file_that_is_nested_too_deeply_is_left_alone(
    importer: Importer, document: Any, tmp_path: Path
) -> None:
    path = tmp_path / "one.traj"
    deep = '{"a": ' * 100_000
    path.write_text(json.dumps(document)[:-1] + f', "messages": [{deep}')

    read(importer, path)


@pytest.mark.parametrize(("importer", "document"), FILES)
def test_an_empty_file_and_a_folder_are_not_recognised(
    importer: Importer, document: Any, tmp_path: Path
) -> None:
    del document
    (tmp_path / "empty").write_bytes(b"")

    assert not importer.recognises(head_of(tmp_path / "empty"))
    assert not importer.recognises(head_of(tmp_path))

"""Logs of an older version of the projection are rebuilt as that version sent them."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from palimpsest.context.request_assembly.projection import PROJECTION_VERSION, VERSIONS
from palimpsest.recordings.reconstruction.requests import rebuild_all
from palimpsest.store.log.memory_store import MemoryStore
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.session_record.events import Record, StepRequested

FIRST = Path(__file__).with_name("projection-1.json")
"""A session of projection 1 with Gemini: a tool call, a request refused for its key, and one more."""
SECOND = Path(__file__).with_name("projection-2.json")
"""A session of projection 2 that changes between gateways, with a tool call at each."""


def loaded(path: Path, projection: int | None = None) -> tuple[MemoryStore, Sequence[Record]]:
    """Read a session's records, optionally marked as made by another projection version."""
    kept: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    store = MemoryStore()
    for text in kept["blobs"].values():
        store.put_blob(text.encode(), "application/json")
    for record in kept["records"]:
        if projection is not None and record["event"]["type"] == "step.requested":
            record["event"]["request"]["projection"] = projection
    return store, [Record.model_validate(record) for record in kept["records"]]


def test_every_request_of_the_first_projection_has_the_hash_that_was_recorded() -> None:
    store, records = loaded(FIRST)

    rebuilt = list(rebuild_all(store, "ses_any", records))

    assert [request.record.projection for request in rebuilt] == [1] * 5
    assert all(request.matches for request in rebuilt)


def test_the_newest_projection_would_have_sent_something_else() -> None:
    store, records = loaded(FIRST, PROJECTION_VERSION)

    rebuilt = list(rebuild_all(store, "ses_any", records))

    # After the refused request two user messages follow each other, which are one for Gemini now.
    assert [request.matches for request in rebuilt] == [True, True, True, False, False]
    assert [message["role"] for message in rebuilt[3].request.messages][-2:] == [
        "assistant",
        "user",
    ]


def test_every_request_of_the_second_projection_has_the_hash_that_was_recorded() -> None:
    store, records = loaded(SECOND)

    rebuilt = list(rebuild_all(store, "ses_any", records))

    assert {request.record.projection for request in rebuilt} == {2}
    assert {request.record.model.ref.id for request in rebuilt} == {
        "openrouter/mistralai/mistral-large",
        "vertex_ai/mistral-large",
        "github_copilot/claude-sonnet-4.5",
    }
    assert all(request.matches for request in rebuilt)


def test_the_newest_projection_would_have_sent_gateways_something_else() -> None:
    store, records = loaded(SECOND, PROJECTION_VERSION)

    rebuilt = list(rebuild_all(store, "ses_any", records))

    assert not all(request.matches for request in rebuilt)


def test_an_unknown_projection_is_refused_with_the_versions_that_are_known() -> None:
    store, records = loaded(FIRST, max(VERSIONS) + 1)
    first = next(r.event.request.id for r in records if isinstance(r.event, StepRequested))

    with pytest.raises(UserError, match=f"{first} was made by projection 4.*knows 1, 2, 3"):
        list(rebuild_all(store, "ses_any", records))

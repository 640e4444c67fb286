"""A changed or broken recording of a format, or of what an agent printed, raises one sentence at most."""

import copy
import json
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.recordings.formats.sample_files import SAMPLES
from tests.sample_size import thinned

from palimpsest.recordings.captured_http.capture_importer import CapturedHttpImporter
from palimpsest.recordings.formats.aider import AiderImporter
from palimpsest.recordings.formats.claude_code import ClaudeCodeImporter
from palimpsest.recordings.formats.cline import ClineImporter
from palimpsest.recordings.formats.codex import CodexImporter
from palimpsest.recordings.formats.gemini_cli import GeminiCliImporter
from palimpsest.recordings.formats.inspect_eval import InspectEvalImporter
from palimpsest.recordings.formats.kimi_cli import KimiCliImporter
from palimpsest.recordings.formats.mini_swe_agent import MiniSweAgentImporter
from palimpsest.recordings.formats.openai_chat import OpenAIChatImporter
from palimpsest.recordings.formats.openhands import OpenHandsImporter
from palimpsest.recordings.formats.otel_genai import OtelGenAiImporter
from palimpsest.recordings.reading.importer import Importer
from palimpsest.recordings.reading.recorded import MessageRead, Recorded, SessionBegin
from palimpsest.recordings.reading.sources import head_of
from palimpsest.transcript.errors import UserError

LINES: list[tuple[Importer, str]] = [
    (OpenHandsImporter(), "openhands_v0.jsonl"),
    (GeminiCliImporter(), "gemini_cli.jsonl"),
    (OtelGenAiImporter(), "otel_genai.jsonl"),
    (OtelGenAiImporter(), "otel_genai.json"),
    (ClineImporter(), "cline/1793523600000_abcde_cli.messages.json"),
    (ClaudeCodeImporter(), "printed/claude_partial.jsonl"),
    (ClaudeCodeImporter(), "printed/claude_compaction.jsonl"),
    (ClaudeCodeImporter(), "printed/claude_list.json"),
    (CodexImporter(), "printed/codex.jsonl"),
    (CodexImporter(), "printed/codex_39.jsonl"),
    (GeminiCliImporter(), "printed/gemini.jsonl"),
    (GeminiCliImporter(), "printed/gemini.json"),
    (GeminiCliImporter(), "printed/gemini_session.jsonl"),
    (CapturedHttpImporter(), "captured_http/claude_trace.jsonl"),
    (CapturedHttpImporter(), "captured_http/sdk.har"),
    (KimiCliImporter(), "kimi_cli/84d6340d-a2ab-4b23-80e9-9055e61f92da/wire.jsonl"),
    (MiniSweAgentImporter(), "mini-swe-agent-1.1.0.traj.json"),
    (MiniSweAgentImporter(), "mini-swe-agent-list.json"),
    (OpenAIChatImporter(), "openai_chat_pairs.json"),
]
ODD: st.SearchStrategy[Any] = st.sampled_from(
    [
        *(None, True, False, 0, -1, 10**400, 1e308, float("inf"), float("nan"), "", "x", "\ud800"),
        *("../x", "\0", "attachment://x", "9" * 30, "9999-12-31T23:59:59+14:00", "²"),
        *([], {}, [[]], [{}], [None], {"": None}, [1, 2], {"type": 7}, {"text": []}, {"id": {}}),
    ]
)
SETTINGS = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)


def places(value: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to each value inside a document."""
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for name, value_there in inner:
        yield (*before, name)
        if isinstance(value_there, dict | list):
            yield from places(value_there, (*before, name))


def changed(document: Any, data: st.DataObject) -> Any:
    """Return a document with other values at up to four places, or without what stood there."""
    made = copy.deepcopy(document)
    for _ in range(data.draw(st.integers(1, 4))):
        ways = list(places(made))
        if not ways:
            break
        *way, last = data.draw(st.sampled_from(ways))
        inside = made
        for name in way:
            inside = inside[name]
        if data.draw(st.booleans()):
            inside[last] = copy.deepcopy(data.draw(ODD))
        else:
            del inside[last]
    return made


def read(importer: Importer, path: Path) -> list[Recorded]:
    """Return what is read of a source; a refusal has to be one sentence."""
    importer.recognises(head_of(path))
    values: list[Recorded] = []
    try:
        values += importer.read(path, lambda _place, _what: None)
    except UserError as error:
        assert str(error).endswith((".", "zstandard"))  # noqa: PT017  # both ways are right
    begins = [entry for entry in values if isinstance(entry, SessionBegin)]
    assert all(begin.id and begin.format == importer.name for begin in begins)
    assert all(entry.id for entry in values if isinstance(entry, MessageRead))
    return values


@pytest.mark.parametrize(("importer", "name"), thinned(LINES, 3))
@SETTINGS
@given(data=st.data())
def test_values_of_other_types_raise_nothing(
    importer: Importer, name: str, tmp_path: Path, data: st.DataObject
) -> None:
    text = (SAMPLES / name).read_text()
    whole = name.endswith(".json")
    documents = [json.loads(text)] if whole else [json.loads(line) for line in text.splitlines()]
    path = tmp_path / name.rpartition("/")[2]
    path.write_text("".join(json.dumps(document) + "\n" for document in changed(documents, data)))

    read(importer, path)


@pytest.mark.parametrize(
    ("importer", "name"), thinned([*LINES, (AiderImporter(), "aider.chat.history.md")], 3)
)
@SETTINGS
@given(data=st.data())
def test_broken_bytes_raise_nothing(
    importer: Importer, name: str, tmp_path: Path, data: st.DataObject
) -> None:
    whole = (SAMPLES / name).read_bytes()
    cut = data.draw(st.integers(0, len(whole)))
    path = tmp_path / name.rpartition("/")[2]
    path.write_bytes(whole[:cut] + data.draw(st.binary(max_size=4)) + whole[cut + 2 :])

    read(importer, path)


@pytest.mark.soak  # with each commit values of other types raise nothing, above; this adds a recording that is a folder of events
@SETTINGS
@given(data=st.data())
def test_events_of_other_types_raise_nothing(tmp_path: Path, data: st.DataObject) -> None:
    kept = SAMPLES / "openhands_v1"
    names = [
        "base_state.json",
        *sorted(f"events/{file.name}" for file in (kept / "events").glob("event-*")),
    ]
    documents = [json.loads((kept / name).read_text()) for name in names]
    folder = tmp_path / "kept"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "events").mkdir(parents=True)
    for name, document in zip(names, changed(documents, data), strict=False):
        (folder / name).write_text(json.dumps(document))

    read(OpenHandsImporter(), folder)


@SETTINGS
@given(data=st.data())
def test_a_state_of_a_compaction_of_other_types_raises_nothing(
    tmp_path: Path, data: st.DataObject
) -> None:
    folder = tmp_path / "cline"
    if not folder.exists():
        shutil.copytree(SAMPLES / "cline", folder)
    (path,) = folder.glob("*.compaction.json")
    state = json.loads((SAMPLES / "cline" / path.name).read_text())
    path.write_text(json.dumps(changed([state], data)[:1] or None)[1:-1] or "null")

    assert read(ClineImporter(), folder)


@pytest.mark.parametrize("name", thinned(["inspect_plain.eval", "inspect_summary.eval"], 2))
@SETTINGS
@given(data=st.data())
def test_a_log_with_values_of_other_types_raises_nothing(
    name: str, tmp_path: Path, data: st.DataObject
) -> None:
    with zipfile.ZipFile(SAMPLES / name) as log:
        members = ["header.json", "samples/first_epoch_1.json"]
        documents = [json.loads(log.read(member)) for member in members]
    with zipfile.ZipFile(tmp_path / name, "w") as made:
        for member, document in zip(members, changed(documents, data), strict=False):
            made.writestr(member, json.dumps(document))

    read(InspectEvalImporter(), tmp_path / name)


@pytest.mark.parametrize("name", ["inspect_plain.eval", "inspect_zstandard.eval"])
@SETTINGS
@given(data=st.data())
def test_a_log_with_broken_bytes_raises_nothing(
    name: str, tmp_path: Path, data: st.DataObject
) -> None:
    whole = bytearray((SAMPLES / name).read_bytes())
    for _ in range(data.draw(st.integers(1, 6))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    (tmp_path / name).write_bytes(whole[: data.draw(st.integers(len(whole) // 2, len(whole)))])

    read(InspectEvalImporter(), tmp_path / name)


@pytest.mark.parametrize(
    "importer",
    [
        AiderImporter(),
        ClaudeCodeImporter(),
        ClineImporter(),
        CodexImporter(),
        GeminiCliImporter(),
        InspectEvalImporter(),
        KimiCliImporter(),
        MiniSweAgentImporter(),
        OpenAIChatImporter(),
        OpenHandsImporter(),
        OtelGenAiImporter(),
    ],
    ids=lambda importer: importer.name,
)
def test_other_files_are_not_recognised(importer: Importer, tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "other").write_text('{"type": "session", "version": 3, "id": "x", "cwd": "/"}\n')

    for path in (tmp_path, tmp_path / "empty", tmp_path / "other"):
        assert not importer.recognises(head_of(path))


def test_each_recording_is_recognised_by_one_importer_only() -> None:
    importers: list[Importer] = [
        AiderImporter(),
        CapturedHttpImporter(),
        ClaudeCodeImporter(),
        ClineImporter(),
        CodexImporter(),
        GeminiCliImporter(),
        InspectEvalImporter(),
        KimiCliImporter(),
        MiniSweAgentImporter(),
        OpenHandsImporter(),
        OtelGenAiImporter(),
    ]
    alone = [name for importer, name in LINES if importer.name != "openai-chat"]
    names = [*alone, "aider.chat.history.md", "cline", "openhands_v1", "inspect_plain.eval"]
    names += ["kimi_cli/84d6340d-a2ab-4b23-80e9-9055e61f92da"]

    for name in names:
        head = head_of(SAMPLES / name)
        assert len([importer for importer in importers if importer.recognises(head)]) == 1, name

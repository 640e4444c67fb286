"""A small file of any format does not eat the machine: what is built of it is bounded, and the answer is a sentence."""

import base64
import gzip
import json
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.recordings.formats.captures import har_entry, write_har
from tests.recordings.formats.imported import import_file
from tests.recordings.formats.sample_files import SAMPLES
from tests.sample_size import sampled_cases

from palimpsest.store.log.memory_store import MemoryStore

MAX_MEGABYTES = 400
"""Over what the imports alone take: a long line, its text, and 256 MB of what it builds."""
MAX_SECONDS = 30
"""Of processor time for one file; what each takes is a tenth of it."""
OBJECTS = 20_000_000
"""Bytes of a list of empty objects, which take 24 times as much."""
CHILD = """
import json, resource, sys, time
from palimpsest.review.recorded_sessions.recording import open_recording
from palimpsest.review.timeline_view.view_queries import AskView
from palimpsest.transcript.errors import UserError

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
before, begun, said = peak(), time.process_time(), []
try:
    with open_recording(sys.argv[1]) as recording:
        said = [one.what for one in recording.problems]
        if recording.ids:
            recording.answers().answer(AskView())
except UserError as error:
    said = [str(error)]
print(json.dumps([peak() - before, time.process_time() - begun, said]))
"""
MAKES_TOO_MUCH = "more than is read of a file of that size"
TAKES_TOO_MUCH = "more than is read at once"


def objects(length: int = OBJECTS) -> bytes:
    return b"[" + b"{}," * (length // 3) + b"{}]"


def evaluation(path: Path, **fields: bytes) -> Path:
    """Write a log of Inspect with fields of its sample replaced; as well packed as a real one is."""
    with zipfile.ZipFile(SAMPLES / "inspect_plain.eval") as given:
        header = given.read("header.json")
        [name, *_] = [sample for sample in given.namelist() if sample.startswith("samples/")]
        sample = given.read(name).rstrip()
    noise = json.dumps(Random(1).randbytes(310_000).hex()).encode()
    more = b"".join(b', "%s": %s' % (key.encode(), value) for key, value in fields.items())
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("_journal/start.json", header)
        made.writestr("header.json", header)
        made.writestr(name, sample[:-1] + b', "noise": ' + noise + more + b"}")
    return path


def request(**fields: Any) -> dict[str, Any]:
    answer = {"choices": [{"message": {"role": "assistant", "content": "Yes."}}]}
    return {"event": "model", "model": "m", "input": [], "output": answer} | fields


def attached(path: Path) -> Path:
    """Name one text three thousand times, as the argument of a call."""
    call = {"id": "c", "function": "f", "arguments": {"a": "attachment://x"}}
    message = {"role": "assistant", "content": "", "tool_calls": [call] * 3_000}
    event = request(output={"choices": [{"message": message}]})
    return evaluation(
        path,
        events=json.dumps([event]).encode(),
        attachments=json.dumps({"x": "a" * 80_000}).encode(),
    )


def repeated(path: Path) -> Path:
    """Say five thousand messages anew with every second request."""
    pool = [{"role": "user", "content": f"m{n}"} for n in range(5_000)]
    events = [request(input_refs=[[0, 1 if n % 2 else 5_000]]) for n in range(300)]
    return evaluation(
        path,
        events=json.dumps(events).encode(),
        events_data=b"null",
        message_pool=json.dumps(pool).encode(),
    )


def many_parts(path: Path) -> Path:
    """Answer with two hundred thousand parts."""
    parts = [{"type": "text", "text": "x"}] * 200_000
    event = request(output={"choices": [{"message": {"role": "assistant", "content": parts}}]})
    return evaluation(path, events=json.dumps([event]).encode())


def within(name: str, place: bytes, value: bytes) -> Callable[[Path], Path]:
    """Return what writes a sample with a value in a place of its text."""

    def written(path: Path) -> Path:
        content = (SAMPLES / name).read_bytes()
        assert content.count(place) >= 1, place
        path.write_bytes(content.replace(place, place + value, 1))
        return path

    return written


def captured(*contents: bytes, is_packed: bool) -> Callable[[Path], Path]:
    """Return what writes captured answers with a content, as text or packed as the server sent it."""

    def written(path: Path) -> Path:
        body = {"model": "claude-opus-4-8", "messages": [{"role": "user", "content": "Hi"}]}
        address = "https://api.anthropic.com/v1/messages"
        answers = [{"text": content.decode()} for content in contents]
        if is_packed:
            packed = [base64.b64encode(gzip.compress(content)) for content in contents]
            answers = [{"text": text.decode(), "encoding": "base64"} for text in packed]
        return write_har(path, *(har_entry(address, body, answer) for answer in answers))

    return written


def many_sessions(path: Path) -> Path:
    """Begin thousands of sessions in which one character was said."""
    path.write_text("# aider chat started at 2026-01-02 03:04:05\n#### x  \n" * 20_000)
    return path


FAT = b'"fat": ' + objects() + b", "
FILES: dict[str, tuple[Callable[[Path], Path], str]] = {
    "one.eval": (lambda path: evaluation(path, zz=objects(60_000_000)), MAKES_TOO_MUCH),
    "lists.eval": (lambda path: evaluation(path, zz=b"[" + b"[]," * 9_000_000 + b"0]"), "more than"),
    "attached.eval": (attached, MAKES_TOO_MUCH),
    "repeated.eval": (repeated, MAKES_TOO_MUCH),
    "parts.eval": (many_parts, MAKES_TOO_MUCH),
    "pi.jsonl": (within("pi_version_3.jsonl", b'"message":{', FAT), TAKES_TOO_MUCH),
    "claude.jsonl": (
        within("claude_code/compaction_session.jsonl", b'"message":{', FAT),
        TAKES_TOO_MUCH,
    ),
    "gemini.jsonl": (within("gemini_cli.jsonl", b"\n{", FAT), TAKES_TOO_MUCH),
    "mini.traj.json": (within("mini-swe-agent.traj.json", b'"messages": [', b"{" + FAT[:-2] + b"},"), TAKES_TOO_MUCH),
    "atif.json": (within("atif/trajectory.json", b'"steps": [', b"{" + FAT[:-2] + b"},"), TAKES_TOO_MUCH),
    "cline.messages.json": (
        within("cline/1793523600000_abcde_cli.messages.json", b'"messages": [', b"{" + FAT[:-2] + b"},"),
        TAKES_TOO_MUCH,
    ),
    "mini_list.json": (within("mini-swe-agent-list.json", b'"role": "assistant",', FAT), TAKES_TOO_MUCH),
    "chat.json": (within("openai_chat_pairs.json", b'"response": {', FAT), TAKES_TOO_MUCH),
    "aider.md": (many_sessions, MAKES_TOO_MUCH),
    "kimi.jsonl": (
        within("kimi_cli/84d6340d-a2ab-4b23-80e9-9055e61f92da/wire.jsonl", b'"payload": {', FAT),
        TAKES_TOO_MUCH,
    ),
    "otel.jsonl": (within("otel_genai.jsonl", b"\n{", FAT), TAKES_TOO_MUCH),
    "claude_stream.jsonl": (within("printed/claude_compaction.jsonl", b'"message":{', FAT), TAKES_TOO_MUCH),
    "codex_exec.jsonl": (within("printed/codex.jsonl", b'"item":{', FAT), TAKES_TOO_MUCH),
    "codex_39.jsonl": (within("printed/codex_39.jsonl", b'"msg":{', FAT), TAKES_TOO_MUCH),
    "gemini_stream.jsonl": (within("printed/gemini.jsonl", b'\n{', FAT), TAKES_TOO_MUCH),
    "bombs.har": (captured(*[b" " * 10_000_000] * 200, is_packed=True), MAKES_TOO_MUCH),
    "objects.har": (captured(b'{"content": %s}' % objects(), is_packed=False), TAKES_TOO_MUCH),
    "events.har": (captured(b"data: %s\n\n" % objects(15_000_000), is_packed=False), TAKES_TOO_MUCH),
    "tap.jsonl": (within("captured_http/claude_trace.jsonl", b'"body": {', FAT), TAKES_TOO_MUCH),
    "openhands.jsonl": (within("openhands_v0.jsonl", b'"history": [', b"{" + FAT[:-2] + b"},"), TAKES_TOO_MUCH),
}  # fmt: skip

WAYS = ("one.eval", "attached.eval", "pi.jsonl", "bombs.har")
"""A value that is large, one that is named many times, what is large in a line, and what many small ones unpack to."""


@pytest.mark.slow
@pytest.mark.parametrize("name", sampled_cases([*FILES], *WAYS))
def test_what_is_built_of_a_small_file_is_bounded(tmp_path: Path, name: str) -> None:
    write, sentence = FILES[name]
    path = write(tmp_path / name)

    ran = subprocess.run(
        [sys.executable, "-c", CHILD, str(path)], capture_output=True, text=True, check=True
    )

    megabytes, seconds, said = json.loads(ran.stdout)
    assert megabytes < MAX_MEGABYTES
    assert seconds < MAX_SECONDS
    assert any(sentence in text and text.endswith(".") for text in said), said


@pytest.mark.parametrize(
    "name",
    [
        "inspect_plain.eval",
        "inspect_summary.eval",
        "otel_genai.jsonl",
        "captured_http/claude_code.har",
    ],
)
def test_recorded_files_are_far_from_the_bounds(name: str) -> None:
    _, report = import_file(SAMPLES / name, MemoryStore())

    assert report.sessions
    assert not [problem for problem in report.problems if "more than" in problem.what]

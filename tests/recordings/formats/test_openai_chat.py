"""Lines of chat messages become sessions whose requests are cut at each answer."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.recordings.formats.recording import read_all, requests_of

from palimpsest.recordings.formats.openai_chat import OpenAIChatImporter
from palimpsest.recordings.reading.importer import Head
from palimpsest.recordings.reading.recorded import (
    Call,
    GapRead,
    Media,
    MessageRead,
    ResultRead,
    SessionBegin,
    Text,
)
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.values import ToolSpec, Usage

Json = dict[str, Any]
SYSTEM = {"role": "system", "content": "Be brief."}
ASKED = {"role": "user", "content": "List it."}
CALLED = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": '{"at": "."}'}},
        {"id": "c2", "type": "function", "function": {"name": "ls", "arguments": "not JSON"}},
    ],
}
RESULTS = [
    {"role": "tool", "tool_call_id": "c2", "content": [{"type": "text", "text": "two"}]},
    {"role": "tool", "tool_call_id": "c1", "content": "one"},
]
SAID = {"role": "assistant", "content": "Two files."}
TOOL = {"type": "function", "function": {"name": "ls", "description": "d", "parameters": {}}}


def lines(path: Path, *values: Any) -> Path:
    path.write_text(
        "\n".join(value if isinstance(value, str) else json.dumps(value) for value in values)
    )
    return path


def test_one_line_is_cut_at_each_answer(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "chat.jsonl",
        {"messages": [SYSTEM, ASKED, CALLED, *RESULTS, SAID], "tools": [TOOL]},
    )

    recorded, reports = read_all(OpenAIChatImporter(), path)

    assert reports == []
    assert recorded == [
        SessionBegin(
            id="chat-1",
            format="openai-chat",
            system="Be brief.",
            tools=(ToolSpec(name="ls", description="d", parameters={}),),
        ),
        GapRead("The requests were not recorded as such; one is cut at each answer."),
        MessageRead("m1", "user", (Text("List it."),)),
        MessageRead(
            "m2",
            "assistant",
            (Call("c1", "ls", {"at": "."}), Call("c2", "ls", {"arguments": "not JSON"})),
            finish="tool-calls",
        ),
        ResultRead("c2", "two"),
        ResultRead("c1", "one"),
        MessageRead("m3", "assistant", (Text("Two files."),), finish="stop"),
        GapRead("No tokens are recorded of most or all requests."),
    ]
    assert [len(request) for request in requests_of(recorded)] == [1, 4, 5]


def test_lines_that_extend_each_other_are_one_session(tmp_path: Path) -> None:
    usage = {"prompt_tokens": 90, "completion_tokens": 5}
    path = lines(
        tmp_path / "log.jsonl",
        {"model": "gpt-5", "messages": [SYSTEM, ASKED]},
        {"model": "gpt-5", "messages": [SYSTEM, ASKED, CALLED, *RESULTS]},
        {"model": "o3", "messages": [SYSTEM, ASKED, CALLED, *RESULTS, SAID], "usage": usage},
        {"messages": [SYSTEM, ASKED, SAID]},
    )

    recorded, _ = read_all(OpenAIChatImporter(), path)

    begins = [begin for begin in recorded if isinstance(begin, SessionBegin)]
    answers = [
        message
        for message in recorded
        if isinstance(message, MessageRead) and message.role == "assistant"
    ]
    assert [(begin.id, begin.model) for begin in begins] == [
        ("log-1", "openai/gpt-5"),
        ("log-2", ""),
    ]
    assert [(answer.model, answer.usage) for answer in answers] == [
        ("openai/gpt-5", None),
        ("openai/o3", Usage(input=90, output=5)),
        ("", None),
    ]


def test_images_and_files_are_media_and_no_address_is_opened(tmp_path: Path) -> None:
    content = [
        {"type": "text", "text": "See:"},
        {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,AAAA"}},
        {"type": "image_url", "image_url": {"url": "https://example.org/x.png"}},
        {
            "type": "file",
            "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,QQ"},
        },
    ]
    path = lines(tmp_path / "chat.jsonl", {"messages": [{"role": "user", "content": content}]})

    recorded, _ = read_all(OpenAIChatImporter(), path)

    assert recorded[2] == MessageRead(
        "m1",
        "user",
        (
            Text("See:"),
            Media("image/jpeg", "AAAA"),
            Media("image/png", None, "https://example.org/x.png"),
            Media("application/pdf", "QQ", "a.pdf"),
        ),
    )


def test_a_broken_line_costs_only_itself(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "chat.jsonl",
        {"messages": [ASKED, SAID]},
        "{broken",
        {"prompt": "x"},
        {"messages": [{"role": "user", "content": "Other."}]},
    )

    recorded, reports = read_all(OpenAIChatImporter(), path)

    assert sum(isinstance(entry, SessionBegin) for entry in recorded) == 2
    assert [place for place, _ in reports] == ["line 2", "line 3"]


@pytest.mark.parametrize(
    "start", [b"", b"[1]", b'{"messages": []}', b'{"messages": "x"}', b'{"type": "session"}']
)
def test_other_files_are_not_recognised(start: bytes) -> None:
    assert not OpenAIChatImporter().recognises(Head(Path("x.jsonl"), start=start))


def test_a_file_without_messages_is_refused_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="holds no line with messages"):
        list(OpenAIChatImporter().read(lines(tmp_path / "x.jsonl", {"a": 1}), lambda _p, _w: None))

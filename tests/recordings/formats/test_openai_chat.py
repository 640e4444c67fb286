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
from palimpsest.recordings.reading.sources import head_of
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
    with pytest.raises(UserError, match="holds no messages of a chat"):
        list(OpenAIChatImporter().read(lines(tmp_path / "x.jsonl", {"a": 1}), lambda _p, _w: None))


USAGE = {
    "prompt_tokens": 90,
    "completion_tokens": 5,
    "prompt_tokens_details": {"cached_tokens": 64},
}


def pair(messages: list[Any], answer: Any, **usage: Any) -> Json:
    """Return a stored request with its response, as OpenAI's library prints them."""
    return {
        "request": {"model": "gpt-5-mini", "messages": messages, "tools": [TOOL]},
        "response": {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1764000000,
            "model": "gpt-5-mini-2026-01-01",
            "choices": [{"index": 0, "message": answer, "finish_reason": "stop"}],
            "usage": usage or USAGE,
        },
    }


def document(path: Path, value: Any, indent: int | None = 2) -> Path:
    path.write_text(json.dumps(value, indent=indent))
    return path


def answers_of(recorded: list[Any]) -> list[MessageRead]:
    return [
        entry for entry in recorded if isinstance(entry, MessageRead) and entry.role == "assistant"
    ]


CONVERSATION = {
    "model": "gpt-5",
    "messages": [SYSTEM, ASKED, CALLED, *RESULTS, SAID],
    "usage": USAGE,
}


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("fields_first", [{}, {"id": "x", "tools": [TOOL], "temperature": 0.5}])
def test_one_document_is_read_like_one_line(
    tmp_path: Path, indent: int | None, fields_first: Json
) -> None:
    path = document(tmp_path / "chat.json", {**fields_first, **CONVERSATION}, indent)

    recorded, reports = read_all(OpenAIChatImporter(), path)

    assert reports == []
    assert [len(request) for request in requests_of(recorded)] == [1, 4, 5]
    assert [answer.usage for answer in answers_of(recorded)] == [
        None,
        Usage(input=26, output=5, cache_read=64),
    ]


@pytest.mark.parametrize("indent", [None, 2])
def test_a_list_holds_one_conversation_an_item(tmp_path: Path, indent: int | None) -> None:
    other = {"messages": [{"role": "user", "content": "Other."}, SAID]}
    path = document(tmp_path / "chats.json", [CONVERSATION, {"messages": []}, other], indent)

    recorded, reports = read_all(OpenAIChatImporter(), path)

    begins = [entry for entry in recorded if isinstance(entry, SessionBegin)]
    assert [begin.id for begin in begins] == ["chats-1", "chats-2"]
    assert len(answers_of(recorded)) == 3
    assert reports == [("item 2", "It has no messages and was left out.")]


def test_a_list_of_messages_is_one_conversation(tmp_path: Path) -> None:
    path = document(tmp_path / "chat.json", CONVERSATION["messages"])

    recorded, _ = read_all(OpenAIChatImporter(), path)

    assert [len(request) for request in requests_of(recorded)] == [1, 4, 5]


@pytest.mark.parametrize("as_lines", [False, True])
def test_pairs_give_each_request_with_its_usage(tmp_path: Path, as_lines: bool) -> None:  # noqa: FBT001
    pairs = [
        pair([SYSTEM, ASKED], CALLED, prompt_tokens=40, completion_tokens=7),
        pair([SYSTEM, ASKED, CALLED, *RESULTS], SAID),
    ]
    path = tmp_path / "log.json"
    path = lines(path, *pairs) if as_lines else document(path, pairs)

    recorded, reports = read_all(OpenAIChatImporter(), path)

    assert reports == []
    begin = recorded[0]
    assert isinstance(begin, SessionBegin)
    assert (begin.model, begin.tools) == (
        "openai/gpt-5-mini-2026-01-01",
        (ToolSpec(name="ls", description="d", parameters={}),),
    )
    assert [entry for entry in recorded if isinstance(entry, GapRead)] == []
    assert [answer.usage for answer in answers_of(recorded)] == [
        Usage(input=40, output=7),
        Usage(input=26, output=5, cache_read=64),
    ]
    assert [len(request) for request in requests_of(recorded)] == [1, 4, 5]


def test_a_pair_without_an_answer_says_so(tmp_path: Path) -> None:
    failed = {"request": {"messages": [SYSTEM, ASKED]}, "response": {"error": {"message": "429"}}}
    path = document(tmp_path / "pair.json", failed)

    recorded, reports = read_all(OpenAIChatImporter(), path)

    assert answers_of(recorded) == []
    assert reports == [
        ("document", "Its response holds no answer; its request was read."),
    ]


def test_a_document_longer_than_its_looked_at_beginning_is_recognised(tmp_path: Path) -> None:
    long = {"role": "user", "content": "word " * 40_000}
    for name, value in (
        ("object", {"model": "m", "messages": [long, SAID]}),
        ("list", [{"messages": [SYSTEM, long, SAID]}]),
        ("messages", [SYSTEM, ASKED, SAID, long]),
        ("pair", pair([SYSTEM, long], SAID)),
    ):
        recorded, reports = read_all(
            OpenAIChatImporter(), document(tmp_path / f"{name}.json", value)
        )

        assert (len(answers_of(recorded)), reports) == (1, []), name


BLOCKS = [{"type": "tool_use", "id": "t", "name": "ls", "input": {}}]


@pytest.mark.parametrize(
    "value",
    [
        {"messages": [SYSTEM, ASKED]},
        {"messages": [{"id": "greeting", "text": "Hi"}]},
        {"messages": [{"role": "admin", "content": "x"}, SAID]},
        {"messages": [ASKED, {"role": "assistant", "content": BLOCKS}]},
        {"openapi": "3.1.0", "example": {"messages": [ASKED, SAID]}},
        {"request": {"messages": [ASKED], "system": "S"}, "response": {"content": []}},
        {"request": {"messages": [ASKED]}, "response": {"content": []}},
        {"request": {"method": "GET"}, "response": {"status": 200}},
        [{"role": "user", "parts": []}, {"role": "model", "parts": []}],
        [{"role": "admin", "name": "x"}],
        [1, 2],
        [],
        {},
    ],
)
def test_other_documents_are_no_chats(tmp_path: Path, value: Any) -> None:
    path = document(tmp_path / "other.json", value)

    assert not OpenAIChatImporter().recognises(head_of(path))

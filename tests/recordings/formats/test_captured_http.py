"""Captured HTTP becomes sessions whose requests are known as they were sent."""

import base64
import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.recordings.formats.captures import (
    Json,
    har_entry,
    reply,
    response,
    tap_line,
    user,
    write_har,
    write_lines,
)
from tests.recordings.formats.imported import import_file, sums_of
from tests.recordings.formats.reading import answers_of, line_of, only, read_all
from tests.recordings.formats.sample_files import SAMPLES

from palimpsest.recordings.captured_http.capture_importer import CapturedHttpImporter
from palimpsest.recordings.captured_http.gemini_exchange import _parts
from palimpsest.recordings.reading.importer import Head
from palimpsest.recordings.reading.json_fields import JsonValue
from palimpsest.recordings.reading.recorded import (
    CacheMark,
    Call,
    CompactionRead,
    GapRead,
    MessageRead,
    Recorded,
    RemovedRead,
    ResultRead,
    SessionBegin,
    Text,
    Thinking,
)
from palimpsest.review.recorded_sessions.recording import open_recording
from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.project_folder.layout import open_project_folder
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.values import Usage

CAPTURES = SAMPLES / "captured_http"
IMPORTER = CapturedHttpImporter()


def sessions(found: list[Recorded]) -> list[tuple[SessionBegin, list[Recorded]]]:
    """Return each session with its values."""
    made: list[tuple[SessionBegin, list[Recorded]]] = []
    for value in found:
        if isinstance(value, SessionBegin):
            made.append((value, []))
        else:
            made[-1][1].append(value)
    return made


def outline(found: list[Recorded]) -> list[tuple[str, list[str]]]:
    """Return each session's title or first prompt, and what its requests answered."""
    return [
        (begin.model, [line_of(request) for request in answers_of(values)])
        for begin, values in sessions(found)
    ]


def made_of(tmp_path: Path, *exchanges: Json) -> tuple[list[Recorded], list[str]]:
    return read_all(IMPORTER, write_lines(tmp_path / "trace.jsonl", *exchanges))


def test_a_thought_of_gemini_and_the_text_after_it_stay_apart() -> None:
    pieces = [
        {"text": "To be", "thought": True}, {"text": " read.", "thought": True}, {"text": "I"}, {"text": " read."},
    ]  # fmt: skip

    assert [*_parts(JsonValue({"parts": pieces}))] == [Thinking("To be read."), Text("I read.")]


# What real clients sent, as real recorders wrote it


@pytest.mark.parametrize("name", ["claude_code.har", "claude_tap.jsonl"])
def test_each_conversation_of_claude_code_is_a_session_and_its_subagent_has_a_parent(
    name: str,
) -> None:
    values, reports = read_all(IMPORTER, CAPTURES / name)

    assert reports == []
    opus = "anthropic/claude-opus-4-8"
    assert outline(values) == [
        ("anthropic/claude-haiku-4-5-20251001", ['{"title": "Count the files"}']),
        (
            opus,
            [
                "I ask an agent. Agent()",
                "Done: two files, after 4 messages.",
                "Done: two files, after 7 messages.",
            ],
        ),
        (opus, [SUMMARY]),
        (opus, ["Bash()", "There are two files: a.txt and b.txt."]),
    ]
    begins = [begin for begin, _ in sessions(values)]
    main, summary, agent = begins[1:]
    [call] = [part.id for part in answers_of(values)[1].parts if isinstance(part, Call)]
    assert (agent.parent, agent.parent_call) == (main.id, call)
    assert (summary.parent, summary.parent_call) == (main.id, None)


SUMMARY = (
    "<analysis>\nThe user counted files.\n</analysis>\n<summary>\n1. Primary Request: the user asked to count the files of "
    "the folder with an agent, and the agent found two of them.\n</summary>"
)


def test_the_summary_of_claude_code_replaces_what_its_writer_saw() -> None:
    values, _ = read_all(IMPORTER, CAPTURES / "claude_code.har")

    [compaction] = only(CompactionRead, values)
    writer = sessions(values)[2][0]
    assert compaction.written_by == writer.id
    assert "This session is being continued" in (compaction.summary or "")
    main = [request.id for request in answers_of(sessions(values)[1][1])]
    assert main[0] in (compaction.replaced_messages or ())
    assert main[1] not in (compaction.replaced_messages or ())  # Claude Code kept its last answer


def test_system_prompt_tools_and_cache_marks_are_those_of_each_body() -> None:
    values, _ = read_all(IMPORTER, CAPTURES / "claude_code.har")

    bodies = {}
    for entry in json.loads((CAPTURES / "claude_code.har").read_text())["log"]["entries"]:
        body = json.loads(entry["request"]["postData"]["text"])
        text = entry["response"]["content"]["text"]
        bodies[text.split('"id": "')[1].split('"')[0]] = body
    assert len(bodies) == 7
    system: tuple[str, ...] | None = None
    tools: str | None = None
    for request in answers_of(values):
        body, sent = bodies[request.id], request.captured_request
        assert sent is not None
        system, tools = sent.system or system, sent.tools or tools
        assert list(system or ()) == [block["text"] for block in body["system"]]
        assert json.loads(tools or "") == body["tools"]
        assert len(sent.cache_marks) == json.dumps(body).count('"cache_control"')
    first = answers_of(sessions(values)[1][1])[0]
    assert first.captured_request is not None
    assert [mark.place for mark in first.captured_request.cache_marks] == [
        "system block 2",
        "system block 3",
        "message 1, block 2",
    ]


def test_a_har_and_the_lines_of_one_run_tell_the_same() -> None:
    of_har, _ = read_all(IMPORTER, CAPTURES / "claude_code.har")
    of_lines, _ = read_all(IMPORTER, CAPTURES / "claude_tap.jsonl")

    def values_without_ids(found: list[Recorded]) -> list[Any]:
        return [
            (value.parts, value.usage, value.finish, value.captured_request)
            if isinstance(value, MessageRead)
            else type(value)
            for value in found
        ]

    assert values_without_ids(of_har) == values_without_ids(of_lines)


def test_the_lines_of_claude_trace_have_streams_and_whole_answers() -> None:
    recorded, reports = read_all(IMPORTER, CAPTURES / "claude_trace.jsonl")

    assert reports == [": Calls that only counted tokens are no requests and were left out: 1."]
    [(begin, values)] = sessions(recorded)
    assert begin.system == "Be brief."
    assert [line_of(request) for request in answers_of(values)] == [
        "Bash()",
        "There are two files: a.txt and b.txt.",
    ]
    [result] = only(ResultRead, values)
    assert [
        request.captured_request.cache_marks
        for request in answers_of(values)
        if request.captured_request
    ] == [
        (CacheMark("system block 1", "1h"),),
        (
            CacheMark("system block 1", "1h"),
            CacheMark("message 3, block 1", block=f"result {result.call}"),
        ),
    ]
    assert result.output == "a.txt\nb.txt"


def test_openai_and_gemini_are_read_with_their_usage() -> None:
    values, reports = read_all(IMPORTER, CAPTURES / "sdk.har")

    assert reports == [
        ": Exchanges that are no requests to a model were left out: 1 GET 127.0.0.1/v1/models."
    ]
    assert outline(values) == [
        ("openai/gpt-5", ["read()", "It says one.", "read()"]),
        ("openai/gpt-5", ["A summary of what was read so far in a.txt: it says one."]),
        ("openai/gpt-5", ["read()", "It says two."]),
        ("google/gemini-2.5-pro", ["read()", "It says one."]),
    ]
    assert [request.usage for request in answers_of(values)] == [
        Usage(input=136, output=15, reasoning=5, cache_read=64),
        Usage(input=236, output=15, reasoning=5, cache_read=64),
        Usage(input=186, output=15, reasoning=5, cache_read=64),
        Usage(input=336, output=15, reasoning=5, cache_read=64),
        Usage(input=172, output=15, cache_read=128),
        Usage(input=172, output=15, cache_read=128),
        Usage(input=150, output=12, reasoning=8, cache_read=100),
        Usage(input=150, output=12, reasoning=8, cache_read=100),
    ]
    assert [begin.system for begin, _ in sessions(values)] == [
        "Be brief.",
        "Be brief.",
        "Be exact.",
        "Be kind.",
    ]
    gemini = answers_of(sessions(values)[3][1])[0]
    assert gemini.parts[0] == Thinking("I look. ")
    assert [result.output for result in only(ResultRead, values)] == ["one", "two", "one"]
    [compaction] = only(CompactionRead, values)
    assert compaction.written_by == sessions(values)[1][0].id


# What a later request shows of an earlier one


def test_a_request_that_begins_with_another_prompt_is_another_session(tmp_path: Path) -> None:
    values, _ = made_of(
        tmp_path,
        tap_line(1, [user("One?")], response(1, "The first answer.")),
        tap_line(2, [user("Two?")], response(2, "The second answer.")),
        tap_line(3, [user("One?"), reply("The first answer."), user("More")], response(3, "Yes.")),
    )

    assert [answers for _, answers in outline(values)] == [
        ["The first answer.", "Yes."],
        ["The second answer."],
    ]


def test_messages_that_the_client_left_out_are_told(tmp_path: Path) -> None:
    first = [user("One?"), reply("The first answer."), user("Two?")]
    values, _ = made_of(
        tmp_path,
        tap_line(1, first[:1], response(1, "The first answer.")),
        tap_line(2, first, response(2, "The second answer.")),
        tap_line(3, [first[2], reply("The second answer."), user("Three?")], response(3, "Ends.")),
    )

    [session] = sessions(values)
    assert only(GapRead, session[1]) == [
        GapRead("The client left earlier messages out from here on, with nothing in their place.")
    ]
    assert [removed.messages for removed in only(RemovedRead, session[1])] == [("m1", "msg_1")]


def test_a_message_that_is_sent_in_another_form_is_no_new_one(tmp_path: Path) -> None:
    recorded, _ = made_of(
        tmp_path,
        tap_line(1, [user("One? (a note)")], response(1, "The first answer.")),
        tap_line(2, [user("One?"), reply("The first answer."), user("Two?")], response(2, "Yes.")),
    )

    [(_, values)] = sessions(recorded)
    assert only(CompactionRead, values) == []
    assert only(GapRead, values) == [
        GapRead("A later request shows this message in another form, which is not kept.", "m1")
    ]


def test_a_refused_request_is_one_without_usage_and_its_repetition_goes_on(tmp_path: Path) -> None:
    refusal = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    recorded, _ = made_of(
        tmp_path,
        tap_line(1, [user("One?")], refusal, status=529),
        tap_line(2, [user("One?")], response(2, "The first answer.")),
    )

    [(_, values)] = sessions(recorded)
    first, second = answers_of(values)
    assert (first.error, first.finish, first.usage) == ("Overloaded", "error", None)
    assert (second.error, second.usage) == (None, Usage(input=200, output=2))
    assert [removed.messages for removed in only(RemovedRead, values)] == [(first.id,)]


def test_what_was_said_before_the_capture_began_is_no_request(tmp_path: Path) -> None:
    call = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls"}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "a.txt"}
    recorded, _ = made_of(
        tmp_path,
        tap_line(
            1,
            [
                user("One?"),
                {"role": "assistant", "content": [call]},
                {"role": "user", "content": [result]},
            ],
            response(1, "There is a file."),
        ),
    )

    [(_, values)] = sessions(recorded)
    assert [line_of(request) for request in answers_of(values)] == ["There is a file."]
    texts = [
        (message.by_program, line_of(message))
        for message in only(MessageRead, values)
        if message.role == "user"
    ]
    assert texts == [(False, "One?"), (True, 'Bash {"command": "ls"}'), (True, "a.txt")]


def test_an_answer_that_breaks_off_is_kept_as_far_as_it_came(tmp_path: Path) -> None:
    events = [
        {"type": "message_start", "message": {**response(1, ""), "usage": {"input_tokens": 5}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Ab"}},
    ]
    stream = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
    path = write_har(
        tmp_path / "a.har",
        har_entry(
            "https://api.anthropic.com/v1/messages",
            {"model": "claude-opus-4-8", "messages": [user("Hi")]},
            {"mimeType": "text/event-stream", "text": stream + 'data: {"type": "content_bl'},
        ),
    )
    values, reports = read_all(IMPORTER, path)

    assert reports == []
    [answer] = answers_of(values)
    assert answer.parts == (Text("Ab"),)
    assert answer.finish == "aborted"


def test_what_the_provider_cleared_is_told(tmp_path: Path) -> None:
    edits = [{"type": "clear_tool_uses", "cleared_tool_uses": 8, "cleared_input_tokens": 50_000}]
    answer = response(1, "Yes.", context_management={"applied_edits": edits})
    values, _ = made_of(tmp_path, tap_line(1, [user("One?")], answer))

    assert only(GapRead, values) == [
        GapRead(
            "The provider cleared 8 results of tools (50,000 tokens) from the prompt before it answered, as the client had "
            "asked.",
            message="msg_1",
        )
    ]


def test_one_exchange_twice_counts_once(tmp_path: Path) -> None:
    exchange = tap_line(1, [user("One?")], response(1, "The first answer."))
    values, reports = made_of(tmp_path, exchange, exchange)

    assert len(answers_of(values)) == 1
    assert reports == ["line 2: The capture holds this exchange twice; it counts once."]


def test_subagents_with_the_same_prompt_belong_to_their_calls_in_order(tmp_path: Path) -> None:
    prompt = "Count the files of this folder."
    calls = [
        {"type": "tool_use", "id": f"toolu_{n}", "name": "Task", "input": {"prompt": prompt}}
        for n in (1, 2)
    ]
    values, _ = made_of(
        tmp_path,
        tap_line(1, [user("Count them twice.")], response(1, "", content=calls)),
        tap_line(2, [user(prompt)], response(2, "There are two files.")),
        tap_line(3, [user(prompt)], response(3, "There are three files.")),
    )

    begins = [begin for begin, _ in sessions(values)]
    assert [(begin.id, begin.parent, begin.parent_call) for begin in begins] == [
        ("msg_1", None, None),
        ("msg_2", "msg_1", "toolu_1"),
        ("msg_3", "msg_1", "toolu_2"),
    ]


def test_what_was_asked_and_taken_back_is_a_branch(tmp_path: Path) -> None:
    begun = [user("One?"), reply("The first answer.")]
    values, _ = made_of(
        tmp_path,
        tap_line(1, begun[:1], response(1, "The first answer.")),
        tap_line(2, [*begun, user("Two?")], response(2, "This was a mistake.")),
        tap_line(3, [*begun, user("Three?")], response(3, "The third answer.")),
    )

    (main, main_values), (branch, branch_values) = sessions(values)
    assert [line_of(request) for request in answers_of(main_values)] == [
        "The first answer.",
        "The third answer.",
    ]
    assert [line_of(request) for request in answers_of(branch_values)] == ["This was a mistake."]
    assert (branch.branch_of, branch.parent) == (main.id, None)


def test_answers_that_are_named_and_not_repeated_are_one_session(tmp_path: Path) -> None:
    def asks(number: int, text: str, before: str | None) -> Json:
        said_text = {"type": "output_text", "text": f"Answer {number}."}
        output = [{"type": "message", "role": "assistant", "content": [said_text]}]
        usage = {"input_tokens": 10 * number, "output_tokens": 1}
        answer = {"id": f"resp_{number}", "status": "completed", "output": output, "usage": usage}
        return tap_line(
            number,
            [],
            answer,
            path="/v1/responses",
            input=text,
            previous_response_id=before,
            instructions="Be exact.",
        )

    recorded, _ = made_of(
        tmp_path, asks(1, "One?", None), asks(2, "Two?", "resp_1"), asks(3, "Three?", "resp_2")
    )

    [(begin, values)] = sessions(recorded)
    assert begin.system == "Be exact."
    assert [line_of(message) for message in only(MessageRead, values)] == [
        "One?",
        "Answer 1.",
        "Two?",
        "Answer 2.",
        "Three?",
        "Answer 3.",
    ]


# What is no request, and what cannot be read


def test_a_capture_without_a_request_is_refused_with_a_sentence(tmp_path: Path) -> None:
    path = write_har(
        tmp_path / "a.har", har_entry("https://example.com/v1/models", {}, {"text": "{}"})
    )

    with pytest.raises(UserError, match="holds no request to a model's interface that is known"):
        read_all(IMPORTER, path)


def test_only_captures_are_recognised() -> None:
    def knows(start: bytes) -> bool:
        return IMPORTER.recognises(Head(Path("a"), start=start))

    assert knows(b'{"log": {"version": "1.2", "creator": {}')
    assert knows(b'{"timestamp":"2026","turn":1,"request":{"method":"POST","path":"/v1/messages"')
    assert knows(b'{"request":{"timestamp":1.5,"method":"POST"')
    assert not knows(b'{"log": {"version": 1}}')
    assert not knows(
        b'{"messages": [{"role": "user", "content": "\\"request\\":{\\"method\\":1"}]}'
    )
    assert not knows(b'[{"request":{"method":"POST"')


def packed(content: bytes, **more: Any) -> Json:
    return {"text": base64.b64encode(content).decode(), "encoding": "base64", **more}


ANSWER = json.dumps(response(1, "Packed.")).encode()


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (packed(gzip.compress(ANSWER)), None),
        (packed(gzip.compress(ANSWER[:20]) + gzip.compress(ANSWER[20:])), None),
        (
            packed(b"".join(gzip.compress(ANSWER[i : i + 1]) for i in range(101))),
            "it would unpack to more than is believed",
        ),
        (packed(ANSWER), None),
        ({"text": "!!!", "encoding": "base64"}, "its base64 is broken"),
        (packed(gzip.compress(ANSWER)[:-20]), "it is damaged or packed in an unknown way"),
        (packed(b"\x28\xb5\x2f\xfdxxxx"), "it is damaged or packed in an unknown way"),
        (
            packed(gzip.compress(b" " * 60_000_000)),
            "it would unpack to more than is believed",
        ),
        ({"text": "<html>"}, "it is no JSON"),
        ({"text": "[" * 5_000}, "it is no JSON"),
        ({"text": "data: {}\n\ndata: nothing\n\n"}, "an event of its stream is no JSON"),
        ({"text": '{"a":' * 200 + "1" + "}" * 200}, "it is nested too deeply"),
    ],
    ids=lambda value: None if isinstance(value, dict) else str(value)[:30],
)
def test_a_body_is_unpacked_within_limits(
    content: Json, problem: str | None, tmp_path: Path
) -> None:
    body = {"model": "claude-opus-4-8", "messages": [user("Hi")]}
    path = write_har(
        tmp_path / "a.har", har_entry("https://api.anthropic.com/v1/messages", body, content)
    )
    values, reports = read_all(IMPORTER, path)

    [answer] = answers_of(values)
    if problem is None:
        assert (reports, line_of(answer)) == ([], "Packed.")
    else:
        assert reports == [f"entry 1: The answer cannot be read and was left out: {problem}."]
        assert answer.error == f"The answer in the capture cannot be read: {problem}."


def test_a_request_that_is_no_json_costs_only_itself(tmp_path: Path) -> None:
    address = "https://api.anthropic.com/v1/messages"
    body = {"model": "claude-opus-4-8", "messages": [user("Hi")]}
    content = {"text": ANSWER.decode()}
    path = write_har(
        tmp_path / "a.har",
        har_entry(address, "nothing", content),
        har_entry(address, body, content),
    )
    values, reports = read_all(IMPORTER, path)

    assert reports == ["entry 1: The request cannot be read and was left out: it is no JSON."]
    assert [line_of(answer) for answer in answers_of(values)] == ["Packed."]


KEYS = ("SECRETSECRET", "COOKIESECRET", "sk-ant-api", "AIzaSy")


@pytest.mark.parametrize(
    "name", ["claude_code.har", "claude_tap.jsonl", "claude_trace.jsonl", "sdk.har"]
)
def test_no_key_of_a_capture_reaches_a_file(name: str, tmp_path: Path) -> None:
    text = (CAPTURES / name).read_text()
    assert any(key in text for key in KEYS)

    store = JsonlStore(open_project_folder(tmp_path))
    import_file(CAPTURES / name, store)

    written = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert len(written) > 5
    assert not [key for key in KEYS for content in written if key.encode() in content]


def test_no_key_in_an_address_or_a_tool_reaches_a_file(tmp_path: Path) -> None:
    key = "k3yThatNobodyMaySee9876543210ABCDEF"
    tool = {"type": "mcp", "server_url": "https://a.example", "authorization": key}
    body = {"model": "claude-opus-4-8", "messages": [user("Hi")], "tools": [tool]}
    content = {"text": ANSWER.decode()}
    path = write_har(
        tmp_path / "a.har",
        har_entry(f"https://user:{key}@api.anthropic.com/v1/messages?key={key}", body, content),
        har_entry(f"https://api.example.com/bot{key}/send?token={key}", {}, {"text": "{}"}),
    )
    project = tmp_path / "project"
    project.mkdir()
    store = JsonlStore(open_project_folder(project))
    _, report = import_file(path, store)

    assert [problem.what for problem in report.problems] == [
        "Exchanges that are no requests to a model were left out: 1 POST api.example.com/…/send."
    ]
    files = [path for path in project.rglob("*") if path.is_file()]
    assert not [file for file in files if key.encode() in file.read_bytes()]


# Through the front door


def test_the_sums_of_a_capture_are_those_of_its_answers() -> None:
    store, report = import_file(CAPTURES / "sdk.har")

    made = [sums_of(store, session.id) for session in report.sessions]
    assert [(one.requests, one.input, one.cached, one.output) for one in made] == [
        (3, 750, 192, 45),
        (1, 400, 64, 15),
        (2, 600, 256, 30),
        (2, 500, 200, 24),
    ]


def test_importing_the_same_capture_again_adds_nothing() -> None:
    store, _ = import_file(CAPTURES / "claude_code.har")
    _, again = import_file(CAPTURES / "claude_code.har", store)

    assert {session.outcome for session in again.sessions} == {"same"}


def test_a_request_says_that_it_is_recorded_and_what_was_marked() -> None:
    with open_recording(CAPTURES / "claude_trace.jsonl") as recording:
        request = recording[0].request(2)

    assert request.basis == "captured"
    assert request.note == (
        "System prompt, tools and cache marks are recorded, from a capture of what was sent, and no estimate; the messages "
        "are those that were recorded before it. The client marked the prompt for the cache up to: system block 1 for 1h; "
        "message 3, block 1."
    )
    assert request.system == "Be brief."
    assert [tool["name"] for tool in request.tools] == ["Bash"]
    assert request.json()["cache_marks"] == ["system block 1 for 1h", "message 3, block 1"]


def test_what_a_client_wrote_into_a_mark_draws_nothing(tmp_path: Path) -> None:
    mark = {"type": "ephemeral", "ttl": "1h\n\x1b[2J"}
    prompt = {"role": "user", "content": [{"type": "text", "text": "Hi", "cache_control": mark}]}
    path = write_lines(tmp_path / "a.jsonl", tap_line(1, [prompt], response(1, "The answer.")))

    with open_recording(path) as recording:
        (marked,) = recording[0].timeline.requests[0].cache_marks

    assert marked.startswith("message 1, block 1 for 1h")
    assert marked.isprintable()


@pytest.mark.slow
def test_importers_load_no_library_of_a_network() -> None:
    """A browser's Python has none of these; the decoder of streams is that of the live answers."""
    code = (
        "import sys\n"
        "from palimpsest.recordings.formats.built_in import BUILT_IN\n"
        "assert all(importer.name for importer in BUILT_IN)\n"
        "print(*[name for name in ('ssl', 'asyncio', 'httpx', 'litellm') if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert ran.stdout.split() == []

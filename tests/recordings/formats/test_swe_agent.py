"""SWE-agent's trajectories give the requests that were sent, message by message."""

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from tests.recordings.formats.recording import Shown, common_prefix, read_all, requests_of, unpacked

from palimpsest.recordings.formats.swe_agent import NO_MODEL_SENTENCES, SweAgentImporter
from palimpsest.recordings.reading.recorded import (
    GapRead,
    MessageRead,
    ReducedRead,
    RemovedRead,
    ResultRead,
    SessionBegin,
)
from palimpsest.transcript.errors import UserError

SAMPLE = "marshmallow-1867.traj"
Json = dict[str, Any]


def recorded_form(messages: list[Json]) -> tuple[Shown, ...]:
    """Return recorded messages without the system prompt, in the form of rebuilt ones."""
    return tuple(
        Shown(
            message["role"],
            message["content"],
            tuple(
                (
                    call["id"],
                    call["function"]["name"],
                    repr(json.loads(call["function"]["arguments"])),
                )
                for call in message.get("tool_calls") or ()
            ),
            next(iter(message.get("tool_call_ids") or ()), ""),
        )
        for message in messages
        if message["role"] != "system"
    )


def with_recorded_ids(messages: tuple[Shown, ...]) -> tuple[Shown, ...]:
    """Return messages with the ids of calls as recorded, where one is used again."""
    return tuple(
        Shown(
            message.role,
            message.text,
            tuple((name.partition("#")[0], tool, given) for name, tool, given in message.calls),
            message.result_of.partition("#")[0],
        )
        for message in messages
    )


def test_every_recorded_request_is_rebuilt_to_the_byte(tmp_path: Path) -> None:
    path = unpacked(SAMPLE, tmp_path)
    steps = json.loads(path.read_bytes())["trajectory"]

    recorded, reports = read_all(SweAgentImporter(), path)

    rebuilt = [with_recorded_ids(request) for request in requests_of(recorded)]
    assert reports == []
    assert len(rebuilt) == 14
    assert [len(request) for request in rebuilt] == list(range(1, 28, 2))
    assert rebuilt[1:] == [recorded_form(step["messages"]) for step in steps]


def test_the_prefixes_with_the_request_before_are_the_recorded_ones(tmp_path: Path) -> None:
    recorded, _ = read_all(SweAgentImporter(), unpacked(SAMPLE, tmp_path))

    found = requests_of(recorded)[1:]
    shared = [common_prefix(*pair) + 1 for pair in itertools.pairwise(found)]
    assert shared == [4, 6, 8, 10, 3, 5, 7, 9, 11, 13, 15, 17]  # the system prompt is the first


def test_outputs_are_whole_and_their_elisions_are_named(tmp_path: Path) -> None:
    recorded, _ = read_all(SweAgentImporter(), unpacked(SAMPLE, tmp_path))

    begin = recorded[0]
    assert isinstance(begin, SessionBegin)
    assert begin.system is not None
    assert begin.system.startswith("SETTING: You are an autonomous programmer")
    assert begin.model == ""
    assert GapRead(NO_MODEL_SENTENCES["replay"]) in recorded
    reduced = [reduction for reduction in recorded if isinstance(reduction, ReducedRead)]
    assert len(reduced) == 8
    assert {reduction.rule for reduction in reduced} == {"last_n_observations"}
    assert reduced[0].shown_text == "Old environment output: (7 lines omitted)"
    results = {result.call: result.output for result in recorded if isinstance(result, ResultRead)}
    assert len(results) == 13
    assert results[reduced[0].call].startswith("AUTHORS.rst\t    LICENSE")
    answers = [
        message
        for message in recorded
        if isinstance(message, MessageRead) and message.role == "assistant"
    ]
    assert [answer.usage for answer in answers] == [None] * 13
    assert [answer.created for answer in answers] == [None] * 13
    assert any("no tokens" in gap.sentence for gap in recorded if isinstance(gap, GapRead))


def trajectory(**fields: Any) -> Json:
    return {"environment": "main", "info": {}, "replay_config": None, **fields}


def step(query: list[Json] | None, response: str, observation: str = "ok") -> Json:
    return {
        "action": "ls",
        "observation": observation,
        "response": response,
        "thought": "",
        "execution_time": 0.1,
        "state": {},
        "query": query or [{}],
        "extra_info": {},
    }


def recorded_message(role: str, content: Any, **more: Any) -> Json:
    return {"role": role, "content": content, "agent": "main", **more}


SYSTEM = recorded_message("system", "Be careful.", message_type="system_prompt")
TASK = recorded_message("user", "Fix it.", message_type="observation")


def write_file(path: Path, value: Json) -> Path:
    path.write_text(json.dumps(value, indent=2))
    return path


def output(text: Any) -> Json:
    return recorded_message("user", text, message_type="observation")


def answer(text: str) -> Json:
    return recorded_message("assistant", text, message_type="action", tool_calls=None)


def test_commands_written_as_text_get_their_outputs_as_results(tmp_path: Path) -> None:
    history = [
        SYSTEM,
        TASK,
        answer("look\n```ls```"),
        output("a.py b.py"),
        answer("done"),
        output(""),
    ]
    marked = [{"type": "text", "text": "a.py b.py", "cache_control": {"type": "ephemeral"}}]
    path = write_file(
        tmp_path / "one.traj",
        trajectory(
            trajectory=[
                step([SYSTEM, TASK], "look\n```ls```"),
                step([SYSTEM, TASK, history[2], output(marked)], "done", ""),
            ],
            history=history,
        ),
    )

    recorded, _ = read_all(SweAgentImporter(), path)

    assert requests_of(recorded) == [
        (Shown("user", "Fix it."),),
        (
            Shown("user", "Fix it."),
            Shown("assistant", "look\n```ls```", (("m2.command", "command", "{}"),)),
            Shown("tool", "a.py b.py", (), "m2.command"),
        ),
        (
            Shown("user", "Fix it."),
            Shown("assistant", "look\n```ls```", (("m2.command", "command", "{}"),)),
            Shown("tool", "a.py b.py", (), "m2.command"),
            Shown("assistant", "done", (("m3.command", "command", "{}"),)),
        ),
    ]
    assert not any(isinstance(entry, ReducedRead) for entry in recorded)


def test_a_failed_answer_is_a_request_and_is_not_sent_again(tmp_path: Path) -> None:
    failed_answer = recorded_message("assistant", "no command", message_type="assistant")
    error = recorded_message("user", "Your output was not formatted.", message_type="user")
    path = write_file(
        tmp_path / "one.traj",
        trajectory(
            trajectory=[
                step([SYSTEM, TASK], "no command", ""),
                step([SYSTEM, TASK, failed_answer, error], "ls"),
                step([SYSTEM, TASK, answer("ls"), output("ok")], "submit"),
            ],
            history=[SYSTEM, TASK, answer("ls"), output("ok"), answer("submit"), output("diff")],
        ),
    )

    recorded, _ = read_all(SweAgentImporter(), path)

    texts = [[message.text for message in request] for request in requests_of(recorded)]
    assert texts == [
        ["Fix it."],
        ["Fix it.", "no command", "Your output was not formatted."],
        ["Fix it.", "ls", "ok"],
        ["Fix it.", "ls", "ok", "submit", "diff"],
    ]
    assert [removed for removed in recorded if isinstance(removed, RemovedRead)] == [
        RemovedRead(("m2", "m3"), None)
    ]


def test_an_output_that_is_left_out_and_shown_again_is_restored(tmp_path: Path) -> None:
    def call(name: str) -> Json:
        function = {"name": "bash", "arguments": '{"command": "ls"}'}
        return recorded_message("assistant", "", tool_calls=[{"id": name, "function": function}])

    def result(name: str, text: str) -> Json:
        return recorded_message("tool", text, tool_call_ids=[name], message_type="observation")

    first_call, second_call = (
        [call("c1"), result("c1", "long")],
        [call("c2"), result("c2", "short")],
    )
    masked = [first_call[0], result("c1", "(omitted)")]
    path = write_file(
        tmp_path / "one.traj",
        trajectory(
            trajectory=[
                step([SYSTEM, TASK], ""),
                step([SYSTEM, TASK, *first_call], ""),
                step([SYSTEM, TASK, *masked, *second_call], ""),
                step([SYSTEM, TASK, *first_call, *second_call, call("c3"), result("c3", "x")], ""),
            ],
            history=[],
        ),
    )

    recorded, _ = read_all(SweAgentImporter(), path)

    assert [reduced for reduced in recorded if isinstance(reduced, ReducedRead)] == [
        ReducedRead("c1", "(omitted)"),
        ReducedRead("c1", "long", restored=True),
    ]
    assert [[message.text for message in request] for request in requests_of(recorded)][:4] == [
        ["Fix it."],
        ["Fix it.", "", "long"],
        ["Fix it.", "", "(omitted)", "", "short"],
        ["Fix it.", "", "long", "", "short", "", "x"],
    ]


def test_answers_of_a_demonstration_are_no_requests(tmp_path: Path) -> None:
    demo = [
        recorded_message("user", "An example:", is_demo=True),
        recorded_message("assistant", "ls", is_demo=True),
        recorded_message("user", "files", is_demo=True),
    ]
    path = write_file(
        tmp_path / "one.traj",
        trajectory(
            trajectory=[step([SYSTEM, *demo, TASK], "ls")],
            history=[SYSTEM, *demo, TASK, answer("ls"), output("ok")],
        ),
    )

    recorded, _ = read_all(SweAgentImporter(), path)

    messages = [message for message in recorded if isinstance(message, MessageRead)]
    assert [(message.role, message.by_program) for message in messages] == [
        ("user", True),
        ("user", True),
        ("user", True),
        ("user", False),
        ("assistant", False),
    ]


def test_an_exit_without_a_request_is_no_answer(tmp_path: Path) -> None:
    path = write_file(
        tmp_path / "one.traj",
        trajectory(
            trajectory=[
                step([SYSTEM, TASK], "ls"),
                step(None, "Exit due to context window", "Exited (autosubmitted)"),
            ],
            history=[
                *(SYSTEM, TASK, answer("ls"), output("ok")),
                *(answer("Exit due to context window"), output("Exited (autosubmitted)")),
            ],
        ),
    )

    recorded, _ = read_all(SweAgentImporter(), path)

    answers = [
        message
        for message in recorded
        if isinstance(message, MessageRead) and message.role == "assistant"
    ]
    assert len(answers) == 1


def test_a_file_without_requests_says_so(tmp_path: Path) -> None:
    steps = [step(None, "ls")]
    del steps[0]["query"]
    path = write_file(
        tmp_path / "one.traj",
        trajectory(trajectory=steps, history=[SYSTEM, TASK, answer("ls"), output("ok")]),
    )

    recorded, _ = read_all(SweAgentImporter(), path)

    assert any(
        gap.sentence.startswith("The requests were not recorded")
        for gap in recorded
        if isinstance(gap, GapRead)
    )
    assert len(requests_of(recorded)) == 2


@pytest.mark.parametrize("text", ["{}", '{"trajectory": []}', "{", "[1]"])
def test_a_file_without_steps_is_refused_in_one_sentence(tmp_path: Path, text: str) -> None:
    path = tmp_path / "one.traj"
    path.write_text(text)

    with pytest.raises(UserError, match="holds no step"):
        list(SweAgentImporter().read(path, lambda _place, _what: None))

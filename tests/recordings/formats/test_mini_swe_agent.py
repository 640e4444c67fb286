"""mini-swe-agent's trajectories give each request with its usage, and the failed ones too."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.recordings.formats.recording import SAMPLES, read_all, requests_of

from palimpsest.recordings.formats.built_in import REGISTRY
from palimpsest.recordings.formats.mini_swe_agent import MiniSweAgentImporter
from palimpsest.recordings.formats.swe_agent import SweAgentImporter
from palimpsest.recordings.reading.recorded import (
    GapRead,
    MessageRead,
    ResultRead,
    SessionBegin,
    TotalsRead,
)
from palimpsest.recordings.reading.sources import head_of
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.values import Usage

REAL = SAMPLES / "mini-swe-agent.traj.json"
"""Written by mini-swe-agent 2.4.6 with scripted answers; the second one has no call and failed."""


def test_each_answer_has_its_usage_and_cost() -> None:
    recorded, reports = read_all(MiniSweAgentImporter(), REAL)

    begin = recorded[0]
    assert isinstance(begin, SessionBegin)
    assert (begin.model, begin.format_version) == ("openai/gpt-4o", "2.4.6")
    assert begin.system == "You are a helpful assistant."
    answers = [
        message
        for message in recorded
        if isinstance(message, MessageRead) and message.role == "assistant"
    ]
    assert [answer.usage for answer in answers] == [
        Usage(input=1200, output=28, reasoning=12),
        Usage(input=148, output=9, cache_read=1152),
        Usage(input=198, output=20, cache_read=1152),
        Usage(input=140, output=25, cache_read=1280),
    ]
    assert sum(answer.cost or 0 for answer in answers) == pytest.approx(
        json.loads(REAL.read_bytes())["info"]["model_stats"]["instance_cost"]
    )
    assert [answer.finish for answer in answers] == [
        "tool-calls",
        "stop",
        "tool-calls",
        "tool-calls",
    ]
    assert reports == []


def test_a_failed_answer_was_a_request_but_is_not_sent_again() -> None:
    recorded, _ = read_all(MiniSweAgentImporter(), REAL)

    texts = [[message.text for message in request] for request in requests_of(recorded)]
    listing = "<returncode>0</returncode>\n<output>\na.txt\nb.txt\n</output>"
    mistake = (
        "Please give one call. No tool calls found in the response. Every response MUST "
        "include at least one tool call."
    )
    assert texts[:4] == [
        ["Please solve this: list the files"],
        ["Please solve this: list the files", "Let me look.", listing],
        ["Please solve this: list the files", "Let me look.", listing, mistake],
        [
            *("Please solve this: list the files", "Let me look.", listing, mistake, ""),
            "<returncode>3</returncode>\n<output>\n</output>",
        ],
    ]


def test_results_have_their_exit_codes_and_times() -> None:
    recorded, _ = read_all(MiniSweAgentImporter(), REAL)

    results = [result for result in recorded if isinstance(result, ResultRead)]
    assert [result.metadata for result in results] == [{"exit": 0}, {"exit": 3}]
    assert all(result.ended for result in results)
    assert [gap for gap in recorded if isinstance(gap, GapRead)][1:] == []


def test_the_older_form_without_calls_is_read(tmp_path: Path) -> None:
    messages: list[Any] = [
        {"role": "system", "content": "S"},
        {"role": "user", "content": "Task"},
        {
            "role": "assistant",
            "content": "```bash\nls\n```",
            "extra": {"response": {"usage": None}},
        },
        {"role": "user", "content": "a.txt"},
        7,
        {"role": "assistant", "content": "done"},
        {"role": "exit", "content": "bye"},
    ]
    path = tmp_path / "old.traj.json"
    path.write_text(
        json.dumps(
            {
                "info": {"model_stats": {"api_calls": 3}, "mini_version": "1.9.0"},
                "messages": messages,
                "trajectory_format": "mini-swe-agent-1",
            }
        )
    )

    recorded, reports = read_all(MiniSweAgentImporter(), path)

    assert [result for result in recorded if isinstance(result, ResultRead)] == [
        ResultRead("m2.command", "a.txt")
    ]
    assert reports == [("message 5", "It is no JSON object and was left out.")]
    assert "The recording counts 3 requests, but has the answers of 2." in [
        gap.sentence for gap in recorded if isinstance(gap, GapRead)
    ]


OLD = SAMPLES / "mini-swe-agent-1.1.0.traj.json"
"""Written by mini-swe-agent 1.1.0 with scripted answers; the second one has no command."""
LIST = SAMPLES / "mini-swe-agent-list.json"
"""The messages of the same run alone, as the versions before 1.0 wrote them."""


@pytest.mark.parametrize("form", ["old", "list", "messages", "history"])
def test_older_files_are_read(tmp_path: Path, form: str) -> None:
    path = {"old": OLD, "list": LIST}.get(form, tmp_path / "run.json")
    if form in {"messages", "history"}:
        path.write_text(json.dumps({form: json.loads(LIST.read_bytes()), "cost": 1}, indent=2))

    recorded, reports = read_all(MiniSweAgentImporter(), path)

    assert reports == []
    begin = recorded[0]
    assert isinstance(begin, SessionBegin)
    assert begin.system == "You are a helpful assistant that can do anything."
    assert [entry for entry in recorded if isinstance(entry, ResultRead)] == [
        ResultRead("m2.command", "Observation: {'output': 'a.txt\\nb.txt\\n', 'returncode': 0}"),
        ResultRead("m5.command", "Observation: {'output': '', 'returncode': 3}"),
        ResultRead("m6.command", "x"),
    ]
    last = [message.text for message in requests_of(recorded)[-1]]
    assert last[3:5] == [
        "I forgot the command.",
        "Please always provide EXACTLY ONE action in triple backticks.",
    ]
    totals = [entry.totals for entry in recorded if isinstance(entry, TotalsRead)]
    assert [(total.cost, total.requests) for total in totals] == [(1.0, 4)] * (form == "old")


def test_a_file_named_as_all_others_is_named_by_its_folder(tmp_path: Path) -> None:
    path = tmp_path / "task_7" / "traj.json"
    path.parent.mkdir()
    path.write_bytes(LIST.read_bytes())

    begin = read_all(MiniSweAgentImporter(), path)[0][0]

    assert isinstance(begin, SessionBegin)
    assert begin.id == "task_7"


@pytest.mark.parametrize("path", [OLD, LIST, REAL])
def test_no_other_importer_is_asked_before_it(path: Path) -> None:
    importer = REGISTRY.recognise(path)

    assert importer is not None
    assert importer.name == "mini-swe-agent"


@pytest.mark.parametrize(
    "value",
    [
        [{"role": "user", "content": "Write ls in a ```bash block."}],
        {"info": {"id": "ses_1"}, "messages": []},
        {"notes": [{"role": "user", "content": "SUBMIT_FINAL_OUTPUT"}]},
        [],
    ],
)
def test_other_documents_are_no_runs(tmp_path: Path, value: Any) -> None:
    path = tmp_path / "x.traj.json"
    path.write_text(json.dumps(value, indent=2))

    assert not MiniSweAgentImporter().recognises(head_of(path))


def test_answers_of_the_responses_interface_are_read(tmp_path: Path) -> None:
    call = {
        "type": "function_call",
        "call_id": "c1",
        "name": "bash",
        "arguments": '{"command":"ls"}',
    }
    answer = {
        "object": "response",
        "model": "gpt-5",
        "output": [
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]},
            {"type": "message", "content": [{"type": "output_text", "text": "Look."}]},
            call,
        ],
        "usage": {
            "input_tokens": 100,
            "input_tokens_details": {"cached_tokens": 64},
            "output_tokens": 30,
            "output_tokens_details": {"reasoning_tokens": 10},
        },
        "extra": {"timestamp": 1764000000.5, "cost": 0.25},
    }
    path = tmp_path / "one.traj.json"
    path.write_text(
        json.dumps(
            {
                "info": {"mini_version": "2.4.6"},
                "messages": [
                    {"role": "user", "content": "Task"},
                    answer,
                    {"type": "function_call_output", "call_id": "c1", "output": "a.txt"},
                ],
            }
        )
    )

    recorded, _ = read_all(MiniSweAgentImporter(), path)

    found = next(
        message for message in recorded if isinstance(message, MessageRead) and message.usage
    )
    assert found.usage == Usage(input=36, output=20, reasoning=10, cache_read=64)
    assert (found.cost, found.completed) == (0.25, 1764000000500)
    assert [type(part).__name__ for part in found.parts] == ["Thinking", "Text", "Call"]
    assert ResultRead("c1", "a.txt") in recorded


def test_the_two_trajectories_are_told_apart(tmp_path: Path) -> None:
    assert not SweAgentImporter().recognises(head_of(REAL))
    path = tmp_path / "a.traj"
    path.write_text('{"trajectory": [{"action": "", "observation": ""}]}')
    assert not MiniSweAgentImporter().recognises(head_of(path))


def test_a_file_without_messages_is_refused_in_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "a.traj.json"
    path.write_text('{"info": {"mini_version": "2"}, "messages": []}')

    with pytest.raises(UserError, match="holds no message"):
        list(MiniSweAgentImporter().read(path, lambda _place, _what: None))

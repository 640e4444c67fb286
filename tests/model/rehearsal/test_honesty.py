"""The rehearsal model says that it is one, stops when refused, and invents nothing."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.harness.rehearsal import RehearsalHarness
from tests.model.rehearsal.random_dataset import unseen

from palimpsest.model.rehearsal.reply_rules import reply
from palimpsest.transcript.values import ToolSpec

MARK = "No language model is configured"


def test_says_once_what_it_is_and_how_to_get_a_real_model(tmp_path: Path) -> None:
    harness = RehearsalHarness(tmp_path, trips=pd.DataFrame({"miles": [1.0, 2.0]}))
    harness.ask("mean miles")
    harness.ask("and the median?")
    said = [
        message["content"] or "" for message in harness.messages if message["role"] == "assistant"
    ]

    assert MARK in said[0]
    assert "%%agent -m provider/name" in said[0]
    assert sum(MARK in text for text in said) == 1


@pytest.mark.parametrize(
    "prompt",
    [
        "help",
        "what can you do?",
        "How do I use this?",
        "what are your capabilities?",
        "commands",
        "help me",
        "what can I ask?",
    ],
)
def test_says_what_it_can_do(prompt: str, tmp_path: Path) -> None:
    answer = RehearsalHarness(tmp_path).ask(prompt)

    assert "group by" in answer.text
    assert answer.calls == []


@pytest.mark.parametrize(
    "prompt", ["hi", "Hello!", "good morning", "hey there", "Hi, how are you?", "hello again"]
)
def test_greets(prompt: str, tmp_path: Path) -> None:
    assert "Hello!" in RehearsalHarness(tmp_path).ask(prompt).text


@pytest.mark.parametrize(
    "prompt",
    ["thanks", "Thank you!", "great, thanks", "thx", "perfect, thank you very much", "cheers"],
)
def test_takes_thanks(prompt: str, tmp_path: Path) -> None:
    assert "You are welcome." in RehearsalHarness(tmp_path).ask(prompt).text


@pytest.mark.parametrize(
    "prompt",
    [
        "who are you?",
        "are you an AI?",
        "what model is this?",
        "which model are you",
        "are you ChatGPT?",
    ],
)
def test_does_not_pretend_to_be_a_language_model(prompt: str, tmp_path: Path) -> None:
    assert "I am no language model" in RehearsalHarness(tmp_path).ask(prompt).text


@pytest.mark.parametrize(
    "prompt",
    [
        "tell me a joke",
        "write a poem about whales",
        "wie viele Pinguine gibt es?",
        "请画图",
        "{}{{}} $x$ <b>!</b>",
        "???",
        "translate this to French",
        "\x00\x01",
        "   ",
    ],
)
def test_says_plainly_that_it_does_not_understand(prompt: str, tmp_path: Path) -> None:
    answer = RehearsalHarness(tmp_path).ask(prompt)

    assert "I did not understand" in answer.text or "There are no words" in answer.text
    assert answer.text.count("\n- `") == 3
    assert "python" not in answer.tools


def test_gives_examples_from_the_data_that_is_there(tmp_path: Path) -> None:
    data = unseen(6)
    answer = RehearsalHarness(tmp_path, **data.variables()).ask("tell me a joke")

    assert f"`describe {data.name}`" in answer.text
    assert f"by {data.kind}`" in answer.text


@pytest.mark.parametrize(
    ("permission", "prompt", "shown"),
    [
        ("python", "mean miles", 'trips["miles"].mean()'),
        ("bash", "run `ls` in the shell", "ls"),
        ("write", "create a.txt with 'x'", "a.txt"),
    ],
)
def test_stops_when_permission_is_refused_and_shows_what_it_would_have_done(
    permission: str, prompt: str, shown: str, tmp_path: Path
) -> None:
    harness = RehearsalHarness(
        tmp_path, refuse=[permission], trips=pd.DataFrame({"miles": [1.0, 2.0]})
    )
    answer = harness.ask(prompt)

    assert answer.tools.count({"write": "write"}.get(permission, permission)) == 1
    assert "was not permitted" in answer.text
    assert shown in answer.text


def test_asks_for_no_tool_when_none_may_be_called(tmp_path: Path) -> None:
    harness = RehearsalHarness(tmp_path, trips=pd.DataFrame({"miles": [1.0, 2.0]}))
    messages: tuple[dict[str, Any], ...] = ({"role": "user", "content": "mean miles"},)

    assert reply(messages).calls == ()
    assert reply(messages, harness.specs, parameters={"tool_choice": "none"}).calls == ()
    assert "No more tools" in reply(messages).text


def test_tells_what_is_known_at_the_step_limit(tmp_path: Path) -> None:
    harness = RehearsalHarness(tmp_path, trips=pd.DataFrame({"miles": [1.0, 2.0]}))
    harness.ask("mean miles")
    without_answer = tuple(harness.messages[:-1])

    assert "**1.500**" in reply(without_answer, (), "step").text


def test_uses_only_tools_that_are_offered(tmp_path: Path) -> None:
    harness = RehearsalHarness(
        tmp_path, tools=["read", "list"], trips=pd.DataFrame({"miles": [1.0, 2.0]})
    )
    answer = harness.ask("mean miles")

    assert answer.calls == []
    assert "neither is offered" in answer.text


def test_uses_the_parameter_names_of_the_schema() -> None:
    spec = ToolSpec(
        name="read",
        description="",
        parameters={"type": "object", "properties": {"filePath": {"type": "string"}}},
    )
    answer = reply(({"role": "user", "content": "read notes.txt"},), [spec])

    assert answer.calls[0].input == {"filePath": "notes.txt"}


def test_states_no_number_when_the_result_was_lost(tmp_path: Path) -> None:
    harness = RehearsalHarness(tmp_path, trips=pd.DataFrame({"miles": [1.0, 2.0]}))
    harness.ask("mean miles")
    messages = [dict(message) for message in harness.messages[:-1]]
    messages[-1]["content"] = "[Old tool result content cleared]"

    assert "1.5" not in reply(tuple(messages), harness.specs).text


def test_reports_an_error_of_the_tool(tmp_path: Path) -> None:
    frame = pd.DataFrame({"miles": [[1], [2]], "boat": ["a", "b"]})
    answer = RehearsalHarness(tmp_path, trips=frame).ask("plot miles by boat")

    assert "The code failed with `TypeError: unhashable type: 'list'`" in answer.text


def test_the_same_request_gets_the_same_reply(tmp_path: Path) -> None:
    def played() -> list[dict[str, Any]]:
        data = unseen(2)
        harness = RehearsalHarness(tmp_path, **data.variables())
        harness.ask(f"mean {data.say(data.mass)} by {data.say(data.kind)}")
        harness.ask("and the median?")
        return harness.messages

    assert played() == played()


def test_tells_what_was_done_so_far(tmp_path: Path) -> None:
    harness = RehearsalHarness(tmp_path, trips=pd.DataFrame({"miles": [1.0, 2.0]}))
    harness.ask("mean miles")
    answer = harness.ask("what did we do so far?")

    assert "`mean miles` (tools: variables, python)" in answer.text


def test_passes_over_what_the_engine_wrote(tmp_path: Path) -> None:
    harness = RehearsalHarness(tmp_path, trips=pd.DataFrame({"miles": [1.0, 2.0]}))
    harness.messages.append(
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "<system-reminder>plot everything</system-reminder>"},
                {"type": "text", "text": "mean miles"},
            ],
        }
    )
    answer = reply(tuple(harness.messages), harness.specs)

    assert "statistic" in answer.thoughts

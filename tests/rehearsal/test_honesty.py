"""The rehearsal model says that it is one, stops when refused, and invents nothing."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.harness.rehearsal import RehearsalHarness

from palimpsest.rehearsal.reply_rules import reply

MARK = "No language model is configured"
TRIPS = pd.DataFrame({"miles": [1.0, 2.0], "boat": ["a", "b"]})


def test_says_once_what_it_is_and_how_to_get_a_real_model(tmp_path: Path) -> None:
    harness = RehearsalHarness(tmp_path, trips=TRIPS)
    harness.ask("mean miles")
    harness.ask("median of miles")
    said = [
        message["content"] or "" for message in harness.messages if message["role"] == "assistant"
    ]

    assert MARK in said[0]
    assert "%%agent -m provider/name" in said[0]
    assert sum(MARK in text for text in said) == 1


@pytest.mark.parametrize(
    ("said", "prompts"),
    [
        ("group by", ["help", "what can you do?", "How do I use this?", "help me", "what can I ask?"]),
        ("Hello!", ["hi", "Hello!", "good morning", "Hi, how are you?", "hello again"]),
        ("You are welcome.", ["thanks", "Thank you!", "great, thanks", "cheers"]),
        ("I am no language model", ["who are you?", "are you an AI?", "what model is this?"]),
    ],
)  # fmt: skip
def test_talks_without_a_tool(said: str, prompts: list[str], tmp_path: Path) -> None:
    for prompt in prompts:
        answer = RehearsalHarness(tmp_path).ask(prompt)

        assert said in answer.text
        assert answer.calls == []


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
    answer = RehearsalHarness(tmp_path, trips=TRIPS).ask("tell me a joke")

    assert "`describe trips`" in answer.text
    assert "`plot miles by boat`" in answer.text


def test_says_which_words_it_did_not_link(tmp_path: Path) -> None:
    harness = RehearsalHarness(tmp_path, trips=TRIPS)

    assert "I could link `purple` to no column" in harness.ask("count purple rows by boat").text
    assert "`tallest`" in harness.ask("what is the tallest?").text


@pytest.mark.parametrize(
    ("permission", "prompt", "shown"),
    [
        ("python", "mean miles", 'trips["miles"].mean()'),
        ("bash", "Run the shell command `ls`", "ls"),
        ("write", "create a.txt with 'x'", "a.txt"),
    ],
)
def test_stops_when_permission_is_refused_and_shows_what_it_would_have_done(
    permission: str, prompt: str, shown: str, tmp_path: Path
) -> None:
    harness = RehearsalHarness(tmp_path, refuse=[permission], trips=TRIPS)
    answer = harness.ask(prompt)

    assert answer.tools.count(permission) == 1
    assert "was not permitted" in answer.text
    assert shown in answer.text


def test_asks_for_no_tool_when_none_may_be_called(tmp_path: Path) -> None:
    harness = RehearsalHarness(tmp_path, trips=TRIPS)
    messages: tuple[dict[str, Any], ...] = ({"role": "user", "content": "mean miles"},)

    assert reply(messages).tool_uses == ()
    assert reply(messages, harness.specs, parameters={"tool_choice": "none"}).tool_uses == ()
    assert "No more tools" in reply(messages).text


def test_tells_what_is_known_at_the_step_limit(tmp_path: Path) -> None:
    harness = RehearsalHarness(tmp_path, trips=TRIPS)
    harness.ask("mean miles")
    without_answer = tuple(harness.messages[:-1])

    assert "**1.500**" in reply(without_answer, (), "step").text


def test_uses_only_tools_that_are_offered(tmp_path: Path) -> None:
    harness = RehearsalHarness(tmp_path, tools=["read", "list"], trips=TRIPS)
    answer = harness.ask("mean miles")

    assert answer.calls == []
    assert "it is not offered in this step" in answer.text


def test_states_no_number_when_the_result_was_lost(tmp_path: Path) -> None:
    harness = RehearsalHarness(tmp_path, trips=TRIPS)
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
        harness = RehearsalHarness(tmp_path, trips=TRIPS)
        harness.ask("mean miles by boat")
        harness.ask("what did we do so far?")
        return harness.messages

    assert played() == played()


def test_tells_what_was_done_so_far(tmp_path: Path) -> None:
    harness = RehearsalHarness(tmp_path, trips=TRIPS)
    harness.ask("mean miles")
    answer = harness.ask("what did we do so far?")

    assert "`mean miles` (tools: variables, python)" in answer.text


def test_passes_over_what_the_engine_wrote(tmp_path: Path) -> None:
    harness = RehearsalHarness(tmp_path, trips=TRIPS)
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

    assert "statistic" in answer.reasoning

"""Titles and summaries of the rehearsal model are extracts: short, in order, nothing invented."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.harness.rehearsal import RehearsalHarness

from palimpsest.rehearsal.reply_rules import reply


def titled(prompt: str) -> str:
    messages: tuple[dict[str, Any], ...] = (
        {"role": "system", "content": "You write titles."},
        {"role": "user", "content": "Generate a title for this conversation:\n"},
        {"role": "user", "content": prompt},
    )
    return reply(messages, purpose="title").text


@pytest.mark.parametrize(
    ("prompt", "title"),
    [
        ("plot bill length by species", "Plot bill length by species"),
        ("Please plot `bill length`. Then save it.", "Plot bill length"),
        ("could you fix the bug in app.py?", "Fix the bug in app.py"),
        ("```python\ndf.head()\n```", "Run df.head()"),
        ("", "Conversation"),
        ("鲸鱼有多少?", "鲸鱼有多少"),
    ],
)
def test_a_title_is_the_first_prompt_shortened(prompt: str, title: str) -> None:
    assert titled(prompt) == title


@pytest.mark.parametrize("prompt", ["word " * 60, "x" * 300, "a\nb\n" * 40, "<b>" * 40])
def test_a_title_is_one_line_of_at_most_fifty_characters(prompt: str) -> None:
    title = titled(prompt)

    assert 0 < len(title) <= 50
    assert "\n" not in title


def test_a_title_in_one_message_leaves_the_instruction_out() -> None:
    content = "Generate a title for this conversation:\ncount the whales"

    assert reply(({"role": "user", "content": content},)).text == "Count the whales"


def worked(folder: Path) -> RehearsalHarness:
    (folder / "notes.txt").write_text("alpha\n")
    harness = RehearsalHarness(
        folder, trips=pd.DataFrame({"miles": [1.0, 2.0], "boat": ["a", "b"]})
    )
    harness.ask("mean miles by boat")
    harness.ask("read notes.txt")
    harness.ask("run whales = 3")
    return harness


def test_a_summary_holds_goal_work_files_variables_and_numbers(tmp_path: Path) -> None:
    harness = worked(tmp_path)
    messages = (*harness.messages, {"role": "user", "content": "Summarise the work so far."})
    summary = reply(messages, purpose="compaction").text

    assert summary.startswith("## Goal\n- mean miles by boat\n- read notes.txt")
    assert '- python: trips.groupby("boat")["miles"].mean().reset_index()' in summary
    assert "## Files\n- notes.txt" in summary
    assert "- trips: pandas.DataFrame" in summary
    assert "- whales" in summary
    assert "| b | 2 |" in summary
    assert "## Open questions\n- (none)" in summary


SERIALISED = """Here is the conversation so far: <conversation>
[User]: count the boats in boats.csv

[Assistant tool call]: python({"code": "boats = pd.read_csv('boats.csv')\\nlen(boats)"})

[Tool result]: [error]
FileNotFoundError: boats.csv

[Assistant]: The file is missing. I counted 0 boats.

[User]: and the whales?
</conversation>
<prior-summary>
## Goal
- study the sea
</prior-summary>
Output exactly the Markdown structure:
<template>
## Objective
## Work State
### Completed
### Blocked
## Next Move
## Relevant Files
</template>"""


def test_a_summary_follows_the_template_and_keeps_the_one_before() -> None:
    summary = reply(({"role": "user", "content": SERIALISED},), purpose="compaction").text

    assert summary.startswith(
        "## Objective\n- study the sea\n- count the boats in boats.csv\n- and the whales?\n## Work State\n### Completed\n- python:"
    )
    assert "### Blocked\n- FileNotFoundError: boats.csv" in summary
    assert "## Next Move\n- Answer the prompt: and the whales?" in summary
    assert "## Relevant Files\n- boats.csv" in summary


def test_an_open_question_is_answered_when_told_to_continue(tmp_path: Path) -> None:
    harness = RehearsalHarness(tmp_path, trips=pd.DataFrame({"miles": [1.0, 2.0]}))
    harness.messages += [
        {"role": "user", "content": "What did we do so far?"},
        {"role": "assistant", "content": "## Open questions\n- Answer the prompt: mean miles"},
    ]
    answer = harness.ask("Continue if you have next steps, or stop and ask for clarification.")

    assert "**1.500**" in answer.text


@pytest.mark.parametrize("gap", ["\n", "\n\n"])
def test_a_summary_leaves_out_what_the_engine_noted_beside_a_prompt(gap: str) -> None:
    history = (
        f"[User]: How many whales are there?{gap}<variables>\nThe user's kernel holds:\n- df: 3 rows\n"
        "</variables>\n\n[Assistant]: There are 3."
    )
    content = f"Summarise this.\n<conversation>\n{history}\n</conversation>\n## Goal\n## Numbers"

    summary = reply(({"role": "user", "content": content},), purpose="compaction").text

    assert "- How many whales are there?\n" in summary
    assert "<variables>" not in summary

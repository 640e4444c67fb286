"""A tool's output is truncated as in the recorded OpenCode, under its presets."""

from typing import Any

import pytest
from tests.golden.data import load

from palimpsest.context.policy_overrides import preset_policy
from palimpsest.context.reduction.truncation import (
    RECALL_HINT,
    TASK_HINT,
    apply_truncation,
    truncate,
)
from palimpsest.transcript.context_values.decisions import Facts
from palimpsest.transcript.context_values.policies import TruncatePolicy

FACTS = Facts(now=0, estimator="chars/4", window=200_000, reserve=0)
CONFIGURED = {"max_lines": "max_lines", "max_bytes": "max_bytes"}
OPTIONS = {"maxLines": "max_lines", "maxBytes": "max_bytes", "direction": "direction"}
THEIR_HINT = "The tool call succeeded but the output was truncated."
THEIR_TASK = "Use the Task tool"


def text_of(name: str, recipe: list[Any]) -> str:
    if len(recipe) == 1:
        return str(recipe[0])
    template, count, *tail = recipe
    line = str(template).replace("y*1000", "y" * 1_000)
    text = "".join(line.replace("{i}", str(number)) for number in range(count))
    if name != "trailing_newlines":
        text = text.removesuffix("\n")
    return text + "".join(tail)


def policy_of(preset: str, case: dict[str, Any]) -> TruncatePolicy:
    configured = (case.get("cfg") or {}).get("tool_output", {})
    update = {ours: configured[name] for name, ours in CONFIGURED.items() if name in configured}
    update |= {ours: case["opts"][name] for name, ours in OPTIONS.items() if name in case["opts"]}
    rules = (case["agent"] or {}).get("permission", ())
    update["task"] = any((one["permission"], one["action"]) == ("task", "allow") for one in rules)
    return preset_policy(preset).truncate.model_copy(update=update)


def with_our_hint(content: str) -> str:
    """Replace OpenCode's hint by ours.

    OpenCode's names a file, and the task tool where the agent may call it; our whole text is kept in the
    session, where the recall tool finds it.
    """
    at = content.find(THEIR_HINT)
    if at < 0:
        return content
    end = content.find("\n\n", at)
    hint = TASK_HINT if THEIR_TASK in content[at:] else RECALL_HINT
    return content[:at] + hint.format(name="1") + (content[end:] if end >= 0 else "")


@pytest.mark.parametrize("preset", ["opencode-1.1", "opencode-1.18"])
def test_every_recorded_output_is_shortened_alike(preset: str) -> None:
    recorded = load("opencode", "truncate")
    texts = {name: text_of(name, recipe) for name, recipe in recorded["inputs"].items()}
    ours, theirs = {}, {}
    for number, case in enumerate(recorded["cases"]):
        name = f"{number} {case['input']} {case['opts']}"
        text = texts[case["input"]]
        found = truncate("dec_1", "prt_1", "msg_1", text, policy_of(preset, case), FACTS, len)
        ours[name] = (found is not None, apply_truncation(text, found.numbers) if found else text)
        content = text if case["content"] == "<SAME AS INPUT>" else case["content"]
        theirs[name] = (case["truncated"], with_our_hint(content))

    assert {name for name in ours if ours[name] != theirs[name]} == set()

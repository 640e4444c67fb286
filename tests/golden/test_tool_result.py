"""A tool result that is too long for the window is truncated as in the recorded OpenClaw."""

from collections.abc import Mapping
from typing import Any

import pytest
from tests.golden.data import load, only
from tests.golden.openclaw import MIDDLE, NEWEST, OLDEST

from palimpsest.context.policy_overrides import preset_policy
from palimpsest.context.reduction.oversized_results import cut_result
from palimpsest.context.reduction.truncation import apply_truncation
from palimpsest.transcript.context_values.policies import RecoveryPolicy

BETWEEN = preset_policy("openclaw-2026.9").recovery.model_copy(
    update={"result_form": "ends", "result_suffix": "[... {omitted} more characters truncated]"}
)
"""The version between the two presets: it keeps the tail, and may exceed the limit."""
MARKER = "middle content omitted"


def lines(line: str, length: int) -> str:
    text, number = "", 0
    while len(text) < length:
        text, number = text + line.replace("{i}", str(number)), number + 1
    return text[:length]


def text_of(recipe: dict[str, Any]) -> str:
    length = recipe["n"]
    match recipe["kind"]:
        case "flat":
            return "x" * length
        case "lines":
            return lines("line {i} lorem ipsum dolor sit amet\n", length)
        case "errtail":
            end = "\nTraceback (most recent call last): ValueError: boom"
            return (lines("row {i} data data data data\n", length - 60) + end).ljust(length, ".")
        case "json":
            return '{"a":"' + "y" * max(length - 9, 0) + '"}'
        case "cjk":
            return ("上下文" * length)[:length]
        case kind:
            raise AssertionError(kind)


def digest(text: str, shown: str) -> dict[str, Any]:
    same = next(
        (at for at, pair in enumerate(zip(text, shown, strict=False)) if pair[0] != pair[1]),
        min(len(text), len(shown)),
    )
    return {
        "length": len(shown),
        "head80": shown[:80],
        "tail160": shown[-160:],
        "hasMiddleMarker": MARKER in shown,
        "keptPrefixLen": same,
    }


def ending(recovery: RecoveryPolicy, options: Mapping[str, Any]) -> RecoveryPolicy:
    """Return the policy with the suffix that a call names, if any."""
    suffix = options.get("suffix")
    if suffix is None:
        return recovery
    literal = suffix.replace("{", "{{").replace("}", "}}")
    return recovery.model_copy(update={"result_suffix": literal})


@pytest.mark.parametrize(
    ("version", "recovery"),
    [
        (OLDEST, preset_policy("openclaw-2026.2").recovery),
        (MIDDLE, BETWEEN),
        (NEWEST, preset_policy("openclaw-2026.9").recovery),
    ],
    ids=[OLDEST, MIDDLE, NEWEST],
)
def test_every_recorded_result_is_cut_alike(version: str, recovery: RecoveryPolicy) -> None:
    ours, theirs = {}, {}
    for case in load("openclaw", "truncateToolResultText")["cases"]:
        given, name = case["input"], case["name"]
        text = text_of(given["textGenerator"])
        options = only(given["options"], "minKeepChars", "suffix")
        cut = cut_result(
            text, given["maxChars"], ending(recovery, options), options.get("minKeepChars")
        )
        shown = text if cut is None else apply_truncation(text, cut.numbers)
        ours[name] = digest(text, shown) | {"changed": cut is not None}
        theirs[name] = case["expected"][version]

    assert ours == theirs

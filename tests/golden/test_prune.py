"""Old outputs are pruned as in the recorded agents: by age, and when the cache is cold."""

from itertools import count as counter
from typing import Any

import pytest
from tests.builders import Builder
from tests.golden.data import load
from tests.golden.openclaw import MIDDLE, OLDEST, plain
from tests.golden.prune_settings import prune_settings

from palimpsest.context.budget.request_tokens import quarter_chars
from palimpsest.context.policy_overrides import preset_policy
from palimpsest.context.reduction.applied_decisions import apply_decisions
from palimpsest.context.reduction.pruning import prune
from palimpsest.context.visible_messages import View
from palimpsest.transcript.context_values.decisions import Decision, Facts
from palimpsest.transcript.context_values.policies import Policy, PrunePolicy
from palimpsest.transcript.messages import Message, Messages
from palimpsest.transcript.parts import Attachment, ToolCompleted, ToolPart

GENERATIONS = [(OLDEST, "openclaw-2026.2"), (MIDDLE, "openclaw-2026.9")]
"""The newest agent was not recorded pruning; its preset follows the newest version that was."""
COLD = 1e9
"""Seconds since the cache was used: the recorded function prunes only when the cache is cold."""


def decide(view: View, chosen: Policy, window: int = 200_000) -> tuple[Decision, ...]:
    facts = Facts(now=0, estimator="chars/4", window=window, reserve=0, cache_age_seconds=COLD)
    numbers = counter(1)
    return prune(view, chosen, facts, lambda: f"dec_{next(numbers)}", quarter_chars)


# ------------------------------------------------------------------ after a turn, by age


def opencode_policy(preset: str, case: dict[str, Any]) -> Policy:
    chosen = preset_policy(preset)
    configured = case["cfg"].get("compaction", {}).get("prune")
    if configured is None:
        return chosen
    rule = chosen.prune.model_copy(update={"rule": "opencode" if configured else "none"})
    return chosen.model_copy(update={"prune": rule})


def opencode_view(case: dict[str, Any]) -> View:
    build, messages, decisions = Builder(), [], []
    for recorded in case["messages"]:
        parts = [_call(build, tool) for tool in recorded["tools"]]
        if recorded["role"] == "user":
            messages.append(build.user("prompt"))
        else:
            messages.append(build.assistant(*parts, summary=recorded["summary"]))
        decisions += [
            Decision(id="dec_0", action="clear", rule="prune/opencode", part_id=tool["id"])
            for tool in recorded["tools"]
            if tool["compacted"]
        ]
    return View(tuple(messages), tuple(decisions))


def _call(build: Builder, tool: dict[str, Any]) -> ToolPart:
    match tool["status"]:
        case "completed":
            part = build.ran(tool["tool"], "x" * tool["outputChars"])
        case "error":
            part = build.failed(tool["tool"], "no")
        case _:
            part = build.running(tool["tool"])
    return part.model_copy(update={"id": tool["id"]})


@pytest.mark.parametrize(
    ("folder", "preset"),
    [
        ("", "opencode-1.18"),
        ("seed-era-1.1.34/", "opencode-1.1"),
        ("seed-era-1.1.65/", "opencode-1.1"),
    ],
)
def test_every_recorded_session_is_pruned_alike(folder: str, preset: str) -> None:
    ours, theirs = {}, {}
    for number, case in enumerate(load("opencode", f"{folder}prune")["cases"]):
        decisions = decide(opencode_view(case), opencode_policy(preset, case))
        ours[f"{number} {case['name']}"] = [decision.part_id for decision in decisions]
        theirs[f"{number} {case['name']}"] = case["prunedPartIDs"]

    assert ours == theirs


# ------------------------------------------------------------------ when the cache is cold


def renamed(settings: Any) -> Any:
    if not isinstance(settings, dict):
        return settings
    tools, soft = settings.get("tools") or {}, settings.get("softTrim") or {}
    hard = settings.get("hardClear") or {}
    return {
        "mode": settings.get("mode"),
        "ttl": settings.get("ttl"),
        "keep_assistants": settings.get("keepLastAssistants"),
        "soft_ratio": settings.get("softTrimRatio"),
        "hard_ratio": settings.get("hardClearRatio"),
        "min_prunable_chars": settings.get("minPrunableToolChars"),
        "allow_tools": tools.get("allow"),
        "deny_tools": tools.get("deny"),
        "soft_max_chars": soft.get("maxChars"),
        "soft_head_chars": soft.get("headChars"),
        "soft_tail_chars": soft.get("tailChars"),
        "hard_clear": hard.get("enabled"),
        "placeholder": hard.get("placeholder"),
    }


def settled(rule: PrunePolicy) -> dict[str, Any] | None:
    if rule.rule == "none":
        return None
    lists = {"allow": list(rule.allow_tools), "deny": list(rule.deny_tools)}
    return {
        "mode": rule.rule,
        "ttlMs": rule.ttl_seconds * 1_000,
        "keepLastAssistants": rule.keep_assistants,
        "softTrimRatio": rule.soft_ratio,
        "hardClearRatio": rule.hard_ratio,
        "minPrunableToolChars": rule.min_prunable_chars,
        "tools": {name: names for name, names in lists.items() if names},
        "softTrim": {
            "maxChars": rule.soft_max_chars,
            "headChars": rule.soft_head_chars,
            "tailChars": rule.soft_tail_chars,
        },
        "hardClear": {"enabled": rule.hard_clear, "placeholder": rule.placeholder},
    }


@pytest.mark.parametrize(("version", "preset"), GENERATIONS)
def test_every_recorded_setting_is_read_alike(version: str, preset: str) -> None:
    ours, theirs = {}, {}
    for case in load("openclaw", "contextPruningSettings")["cases"]:
        given = renamed(plain(case["input"]).get("raw"))
        ours[case["name"]] = settled(prune_settings(given, preset_policy(preset).prune))
        theirs[case["name"]] = plain(case["expected"][version])

    assert ours == theirs


def sized(sizes: list[int]) -> list[dict[str, Any]]:
    """Return the messages that the recording describes by the sizes of their results."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "start"}]
    for number, size in enumerate(sizes):
        call = {"type": "toolCall", "id": f"c{number}", "name": "exec", "arguments": {}}
        text = ("abcdefghij" * (size // 10 + 1))[:size]
        messages += [
            {"role": "assistant", "content": [call]},
            {
                "role": "toolResult",
                "toolCallId": f"c{number}",
                "toolName": "exec",
                "content": [{"type": "text", "text": text}],
            },
            {"role": "user", "content": f"n{number}"},
            {"role": "assistant", "content": [{"type": "text", "text": f"a{number}"}]},
        ]
    return messages


def transcript(recorded: list[dict[str, Any]]) -> Messages:
    """Return our messages, with each result in the part of its call."""
    build = Builder()
    results = {one["toolCallId"]: one for one in recorded if one["role"] == "toolResult"}
    messages: list[Message] = []
    for one in recorded:
        content = one["content"]
        if one["role"] == "user":
            texts = [content] if isinstance(content, str) else [b["text"] for b in content]
            messages.append(build.user(*texts))
        elif one["role"] == "assistant":
            messages.append(build.assistant(*(_block(build, block, results) for block in content)))
    return tuple(messages)


def _block(build: Builder, block: dict[str, Any], results: dict[str, Any]) -> Any:
    if block["type"] == "text":
        return block["text"]
    content = results[block["id"]]["content"]
    part = build.ran(
        block["name"],
        "\n".join(piece["text"] for piece in content if piece["type"] == "text"),
        call_id=block["id"],
        **block["arguments"],
    )
    images = tuple(
        Attachment(mime=piece["mimeType"], url=f"data:{piece['mimeType']};base64,{piece['data']}")
        for piece in content
        if piece["type"] == "image"
    )
    return part.model_copy(update={"state": part.state.model_copy(update={"attachments": images})})


def shown(view: View, decisions: tuple[Decision, ...]) -> list[tuple[str, int]]:
    applied = apply_decisions(view.messages, View(view.messages, decisions))
    return [
        (part.state.output, len(part.state.attachments))
        for message in applied
        for part in message.parts
        if isinstance(part, ToolPart) and isinstance(part.state, ToolCompleted)
    ]


def recorded_results(expected: Any) -> list[tuple[str, int]]:
    return [
        (
            "\n".join(piece["text"] for piece in one["content"] if piece["type"] == "text"),
            sum(piece["type"] == "image" for piece in one["content"]),
        )
        for one in expected
        if one["role"] == "toolResult"
    ]


@pytest.mark.parametrize(("version", "preset"), GENERATIONS)
def test_every_recorded_request_is_pruned_alike(version: str, preset: str) -> None:
    ours, theirs = {}, {}
    for case in load("openclaw", "pruneContextMessages")["cases"]:
        given, expected = plain(case["input"]), plain(case["expected"][version])
        rule = prune_settings(renamed(given["settings"]), preset_policy(preset).prune)
        sizes = given.get("resultSizes")
        view = View(transcript(given["messages"] if sizes is None else sized(sizes)))
        chosen = preset_policy(preset).model_copy(update={"prune": rule})
        found = shown(view, decide(view, chosen, given["contextWindowTokens"]))
        if sizes is None:
            ours[case["name"]] = found
            theirs[case["name"]] = recorded_results(expected)
        else:
            ours[case["name"]] = [digest(text) for text, _ in found]
            theirs[case["name"]] = expected["results"]

    assert ours == theirs


DIGEST_FROM, DIGEST_HEAD, DIGEST_TAIL = 200, 20, 90


def digest(text: str) -> dict[str, Any]:
    """Shorten a text in the same way as the recording."""
    short = text
    if len(text) > DIGEST_FROM:
        short = f"{text[:DIGEST_HEAD]}…{text[-DIGEST_TAIL:]}"
    return {"len": len(text), "text": short}

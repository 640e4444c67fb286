"""Validate a request body by the rules of Anthropic's Messages API: what it answers with a 400.

The server joins consecutive messages of one role before it checks pairs of calls and results, and so does
this. Signatures of thinking are opaque; only their presence is checked.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from tests.provider_rules.json_checks import (
    Check,
    among,
    anything,
    filled,
    flag,
    items,
    mapping,
    matching,
    nullable,
    number,
    record,
    sayable,
    spoken,
    tagged,
    text,
    whole,
    words_or,
)
from tests.provider_rules.media import content_problems
from tests.provider_rules.tool_schemas import anthropic_problems

IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
DOCUMENT_TYPES = frozenset({"application/pdf"})
MAX_MARKS = 4
MIN_BUDGET = 1024
THOUGHTS = frozenset({"thinking", "redacted_thinking"})
MODEL_VERSION = re.compile(r"claude-[a-z]+-(\d{1,2})(?:-(\d{1,2}))?(?!\d)")
NO_PREFILL_SINCE = (4, 6)
"""From this version on a model does not continue a prefilled answer."""

ID = matching(r"[a-zA-Z0-9_-]+", "letters, digits, underscores and dashes, at least one")
NAME = matching(r"[a-zA-Z0-9_-]{1,128}", "1 to 128 letters, digits, underscores and dashes")

mark = nullable(record({"type": among("ephemeral")}, {"ttl": among("5m", "1h")}))
MARKED: Mapping[str, Check] = {"cache_control": mark}


def _source(types: frozenset[str]) -> Check:
    encoded = record({"type": anything, "media_type": text, "data": text})

    def check(value: Any, where: str) -> list[str]:
        return encoded(value, where) or content_problems(
            value["media_type"], value["data"], where, types
        )

    return check


FROM_ELSEWHERE: Mapping[str, Check] = {
    "url": record({"type": anything, "url": matching(r"https?://.+", "a web address")}),
    "file": record({"type": anything, "file_id": filled}),
}
PLAIN = record({"type": anything, "media_type": among("text/plain"), "data": spoken})

said = record({"type": anything, "text": spoken}, {**MARKED, "citations": anything})
image = record(
    {"type": anything, "source": tagged({"base64": _source(IMAGE_TYPES), **FROM_ELSEWHERE})},
    MARKED,
)
document = record(
    {
        "type": anything,
        "source": tagged(
            {"base64": _source(DOCUMENT_TYPES), "text": PLAIN, "content": mapping, **FROM_ELSEWHERE}
        ),
    },
    {**MARKED, "title": nullable(text), "context": nullable(text), "citations": anything},
)
output = words_or(
    items(tagged({"text": said, "image": image, "document": document, "search_result": mapping})),
    text,
)
result = record(
    {"type": anything, "tool_use_id": ID}, {**MARKED, "content": output, "is_error": flag}
)
call = record({"type": anything, "id": ID, "name": NAME, "input": mapping}, MARKED)
thought = record({"type": anything, "thinking": text, "signature": filled})
hidden_thought = record({"type": anything, "data": filled})

BLOCKS: dict[str, dict[str, Check]] = {
    "user": {"text": said, "image": image, "document": document, "tool_result": result},
    "assistant": {
        "text": said,
        "thinking": thought,
        "redacted_thinking": hidden_thought,
        "tool_use": call,
    },
}
messages_shape = items(
    tagged(
        {
            role: record({"role": anything, "content": words_or(items(tagged(blocks), least=1))})
            for role, blocks in BLOCKS.items()
        },
        "role",
    ),
    least=1,
)


def _schema(value: Any, where: str) -> list[str]:
    if not isinstance(value, dict):
        return [f"{where} must be an object."]
    return [] if value.get("type") == "object" else [f"{where}.type must be 'object'."]


tool = record(
    {"name": NAME, "input_schema": _schema},
    {
        **MARKED,
        "type": among("custom"),
        "description": text,
        "strict": flag,
        "input_examples": items(mapping),
        "defer_loading": flag,
        "eager_input_streaming": nullable(flag),
        "allowed_callers": items(text),
    },
)
CHOICE = {"disable_parallel_tool_use": flag}
FIELDS: Mapping[str, Check] = {
    **MARKED,
    "container": anything,
    "context_management": anything,
    "mcp_servers": items(mapping),
    "metadata": record({}, {"user_id": nullable(text)}),
    "output_config": mapping,
    "service_tier": among("auto", "standard_only"),
    "speed": among("standard", "fast"),
    "stop_sequences": items(spoken),
    "stream": flag,
    "system": words_or(items(tagged({"text": said}))),
    "temperature": number(0, 1),
    "thinking": tagged(
        {
            "enabled": record(
                {"type": anything, "budget_tokens": whole(MIN_BUDGET)}, {"display": text}
            ),
            "adaptive": record({"type": anything}, {"display": text}),
            "disabled": record({"type": anything}),
        }
    ),
    "tool_choice": tagged(
        {
            "auto": record({"type": anything}, CHOICE),
            "any": record({"type": anything}, CHOICE),
            "none": record({"type": anything}),
            "tool": record({"type": anything, "name": NAME}, CHOICE),
        }
    ),
    "tools": items(tool),
    "top_k": whole(0),
    "top_p": number(0, 1),
}
body_shape = record({"model": filled, "max_tokens": whole(1), "messages": messages_shape}, FIELDS)


class SpeakerTurn:
    """Consecutive messages of one role."""

    def __init__(self, role: str, where: str) -> None:
        self.role = role
        self.where = where
        self.blocks: list[dict[str, Any]] = []

    def ids(self, kind: str, field: str) -> list[str]:
        """Return the ids of blocks of one type, in order."""
        return [block[field] for block in self.blocks if block["type"] == kind]

    @property
    def calls(self) -> list[str]:
        """The ids of the tool calls in it."""
        return self.ids("tool_use", "id")

    @property
    def results(self) -> list[str]:
        """The ids of the calls whose results are in it."""
        return self.ids("tool_result", "tool_use_id")


def problems(body: Any) -> list[str]:
    """Return the problems for which Anthropic would refuse the body of a Messages request."""
    faults = sayable(body) + body_shape(body, "")
    if faults:
        return faults
    turns = _turns(body["messages"])
    return [
        *_order(turns),
        *_pairs(turns),
        *_results(turns),
        *_thinking(turns, body),
        *_end(turns[-1], body),
        *_marks(body),
        *_tools(turns, body),
        *(
            problem
            for i, tool in enumerate(body.get("tools", []))
            for problem in anthropic_problems(i, tool["input_schema"])
        ),
        *_parameters(body),
    ]


def _turns(messages: list[dict[str, Any]]) -> list[SpeakerTurn]:
    turns: list[SpeakerTurn] = []
    for i, message in enumerate(messages):
        if not turns or turns[-1].role != message["role"]:
            turns.append(SpeakerTurn(message["role"], f"messages[{i}]"))
        content = message["content"]
        turns[-1].blocks += (
            [{"type": "text", "text": content}] if isinstance(content, str) else content
        )
    return turns


def _order(turns: list[SpeakerTurn]) -> list[str]:
    faults = [] if turns[0].role == "user" else ["messages[0] must be the user's."]
    uses = Counter(one for turn in turns for one in turn.calls)
    return faults + [f"The id {one!r} stands for {n} calls." for one, n in uses.items() if n > 1]


def _pairs(turns: list[SpeakerTurn]) -> list[str]:
    faults: list[str] = []
    for before, turn in zip([None, *turns], [*turns, None], strict=True):
        made = before.calls if before is not None else []
        given = turn.results if turn is not None else []
        faults += [
            f"The call {one!r} has no result directly after." for one in made if one not in given
        ]
        faults += [
            f"The result of {one!r} follows no such call." for one in given if one not in made
        ]
        faults += [f"The call {one!r} is answered twice." for one in sorted(_twice(given))]
    return faults


def _twice(given: list[str]) -> set[str]:
    return {one for one, n in Counter(given).items() if n > 1}


def _results(turns: list[SpeakerTurn]) -> list[str]:
    faults: list[str] = []
    for turn in turns:
        kinds = [block["type"] == "tool_result" for block in turn.blocks]
        if kinds != sorted(kinds, reverse=True):
            faults.append(f"{turn.where}: results must come before everything else.")
        faults += [
            f"{turn.where}: the result of an error may hold text only."
            for block in turn.blocks
            if block.get("is_error") and _holds_more_than_text(block.get("content", ""))
        ]
    return faults


def _holds_more_than_text(content: Any) -> bool:
    return isinstance(content, list) and any(one["type"] != "text" for one in content)


def _thinking(turns: list[SpeakerTurn], body: dict[str, Any]) -> list[str]:
    faults: list[str] = []
    for turn in turns:
        thoughts = [block["type"] in THOUGHTS for block in turn.blocks]
        if thoughts and thoughts[-1]:
            faults.append(f"{turn.where} ends with thinking.")
        if thoughts != sorted(thoughts, reverse=True):
            faults.append(f"{turn.where}: thinking must come before everything else.")
    if body.get("thinking", {}).get("type") == "enabled":
        faults += _missing_thinking(turns)
    return faults


def _missing_thinking(turns: list[SpeakerTurn]) -> list[str]:
    """A turn that still waits for results must begin with thinking, unless thinking is off."""
    first: SpeakerTurn | None = None
    for turn in reversed(turns):
        if turn.role == "assistant" and turn.calls:
            first = turn
        elif not turn.results:
            break
    if first is None or first.blocks[0]["type"] in THOUGHTS:
        return []
    return [f"{first.where} calls tools and must begin with thinking, since thinking is enabled."]


def _end(last: SpeakerTurn, body: dict[str, Any]) -> list[str]:
    if last.role != "assistant":
        return []
    if body.get("thinking", {}).get("type") in {"enabled", "adaptive"}:
        return ["The user must speak last while thinking is enabled."]
    version = MODEL_VERSION.match(body["model"])
    if version and (int(version[1]), int(version[2] or 0)) >= NO_PREFILL_SINCE:
        return ["The user must speak last: this model goes on in no answer."]
    end = last.blocks[-1].get("text", "")
    return [f"{last.where} is last and ends with white space."] if end != end.rstrip() else []


def _marks(body: dict[str, Any]) -> list[str]:
    count = sum(1 for _ in _marked(body))
    return [f"There are {count} cache marks; {MAX_MARKS} are allowed."] if count > MAX_MARKS else []


def _marked(value: Any) -> Iterator[None]:
    if isinstance(value, dict):
        if value.get("cache_control") is not None:
            yield None
        # The content of a call's input or of a schema is the caller's own.
        inner = [one for name, one in value.items() if name not in {"input", "input_schema"}]
    else:
        inner = value if isinstance(value, list) else []
    for one in inner:
        yield from _marked(one)


def _tools(turns: list[SpeakerTurn], body: dict[str, Any]) -> list[str]:
    tools = body.get("tools", [])
    if not tools:
        faults = (
            ["tool_choice is only allowed together with tools."] if "tool_choice" in body else []
        )
        if any(turn.calls or turn.results for turn in turns):
            faults.append("There are calls or results, so tools must be offered.")
        return faults
    names = Counter(one["name"] for one in tools)
    faults = [f"{n} tools have the name {one!r}." for one, n in names.items() if n > 1]
    chosen = body.get("tool_choice", {}).get("name")
    if chosen is not None and chosen not in names:
        faults.append(f"tool_choice names {chosen!r}, which is not offered.")
    return faults


def _parameters(body: dict[str, Any]) -> list[str]:
    thinking = body.get("thinking", {})
    if thinking.get("type") != "enabled":
        return []
    faults = []
    if thinking["budget_tokens"] >= body["max_tokens"]:
        faults.append("max_tokens must be greater than thinking.budget_tokens.")
    if body.get("temperature", 1) != 1 or "top_k" in body:
        faults.append("temperature and top_k cannot be set while thinking is enabled.")
    if body.get("tool_choice", {}).get("type") in {"any", "tool"}:
        faults.append("tool_choice cannot force a tool while thinking is enabled.")
    return faults

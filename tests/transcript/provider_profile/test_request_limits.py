"""What a provider takes in a request is known from a page or a refusal, and the page for people says the same."""

import re
from dataclasses import asdict
from typing import Any

import pytest
from tests.doc_tables import DOCS, table

from palimpsest.tools.registration.tool_limits import ToolLimits, tools_within
from palimpsest.transcript.provider_profile.profile import limits_of, profile
from palimpsest.transcript.provider_profile.request_limits import (
    CLAUDE,
    CLAUDE_ELSEWHERE,
    CLAUDE_LARGE,
    MEBIBYTE,
    MEGABYTE,
    PROVIDER_LIMITS,
    WIRE_LIMITS,
    LimitRow,
    RequestLimits,
)
from palimpsest.transcript.values import ModelInfo, ModelRef, ToolSpec

ROWS: dict[str, LimitRow] = {
    "claude": CLAUDE,
    "claude with a large window": CLAUDE_LARGE,
    "claude elsewhere": CLAUDE_ELSEWHERE,
    **WIRE_LIMITS,
    **PROVIDER_LIMITS,
}
PUBLIC = re.compile(r"[a-z-]+\.[a-z.]+/|refusals of 20\d\d-\d\d")
MONTH = re.compile(r"\b20\d\d-(0[1-9]|1[0-2])\b")


def model_of(name: str, window: int = 200_000) -> ModelInfo:
    provider, _, model = name.partition("/")
    return ModelInfo(ref=ModelRef(provider=provider, name=model), window=window, output_limit=8_000)


@pytest.mark.parametrize("name", ROWS)
def test_each_row_says_where_and_when_it_was_read(name: str) -> None:
    assert PUBLIC.search(ROWS[name].source), ROWS[name].source
    assert MONTH.search(ROWS[name].source), ROWS[name].source


@pytest.mark.parametrize(
    ("name", "window", "pictures", "mebibytes"),
    [
        ("anthropic/claude-sonnet-4-5", 200_000, 100, 10),
        ("anthropic/claude-sonnet-4-5", 0, 100, 10),
        ("anthropic/claude-opus-4-8", 1_000_000, 600, 10),
        ("bedrock/anthropic.claude-opus-4-8", 1_000_000, 600, 5_000_000 / MEBIBYTE),
        ("vertex_ai/claude-opus-4-8", 1_000_000, 600, 5),
        ("openrouter/anthropic/claude-sonnet-4-5", 200_000, 100, 5),
    ],
)
def test_claude_takes_what_its_window_and_its_server_allow(
    name: str, window: int, pictures: int, mebibytes: float
) -> None:
    limits = limits_of(model_of(name, window))

    assert (limits.pictures, limits.picture_bytes) == (pictures, mebibytes * MEBIBYTE)
    assert (limits.side, limits.many, limits.many_side) == (8_000, 20, 2_000)


def test_a_number_that_no_page_gives_for_a_request_is_not_kept() -> None:
    assert limits_of(model_of("bedrock/amazon.nova-pro")).pictures is None, "20 hold for a message"
    assert limits_of(model_of("azure/gpt-5.4")).request_bytes is None
    assert limits_of(model_of("somebody/sees")) == RequestLimits()


EXAMPLES = {
    "Claude, wherever it is served": "openrouter/anthropic/claude-sonnet-4-5",
    "Anthropic": "anthropic/claude-sonnet-4-5",
    "OpenAI": "openai/gpt-5.6",
    "Azure": "azure/gpt-5.4",
    "Gemini": "gemini/gemini-3.5-flash",
    "Vertex": "vertex_ai/gemini-3.5-flash",
    "Mistral": "mistral/mistral-large-2512",
    "Bedrock": "bedrock/amazon.nova-pro",
    "DeepSeek": "deepseek/deepseek-flash",
    "Groq": "groq/qwen3.6-27b",
    "xAI": "xai/grok-4.5",
    "Fireworks": "fireworks_ai/kimi",
    "Alibaba (`dashscope/`)": "dashscope/qwen3.8-flash",
    "Scaleway": "scaleway/pixtral",
}


def words_of(name: str, number: int) -> str:
    if name.endswith("bytes"):
        unit, size = ("MiB", MEBIBYTE) if number % MEBIBYTE == 0 else ("MB", MEGABYTE)
        return f"{number // size} {unit}"
    return f"{number:,}"


def test_the_page_for_people_has_each_row_with_its_numbers() -> None:
    title = "## What a provider takes in one request"
    rows = {row[0]: row[1] for row in table(DOCS / "models.md", "provider", title)}

    assert set(rows) == set(EXAMPLES)
    for server, example in EXAMPLES.items():
        model = model_of(example)
        numbers: dict[str, Any] = asdict(limits_of(model)) | {"tools": profile(model.ref).max_tools}
        if server == "Anthropic":
            numbers = {key: numbers[key] for key in ("picture_bytes", "request_bytes")}
        for name, number in numbers.items():
            if number is not None:
                assert words_of(name, number) in rows[server], (server, name, number)


class Offered:
    """A tool with a schema."""

    def __init__(self, name: str) -> None:
        self.name = name


def left_out(parameters: dict[str, Any]) -> str:
    def spec(tool: Any) -> ToolSpec:
        return ToolSpec(name=tool.name, description="", parameters=parameters)

    limits = ToolLimits(model="openai/x", schema_chars=120_000)
    return tools_within([Offered("other")], spec, {}, limits)[1]  # type: ignore[list-item]


def test_words_that_describe_do_not_count_and_names_and_values_do() -> None:
    long = "x" * 120_001
    field = {"type": "string", "description": long, "title": long, "default": long}
    assert left_out({"type": "object", "properties": {"a": field}}) == ""
    for schema in (
        {"properties": {long: {"type": "string"}}},
        {"properties": {"a": {"enum": [long]}}},
        {"properties": {"a": {"anyOf": [{"const": long}]}}},
        {"$defs": {long: {"type": "string"}}},
        {"properties": {"properties": {"items": {"properties": {long: {}}}}}},
        {"properties": {f"field_{at:05}": {} for at in range(20_000)}},
    ):
        assert "Left out, since theirs has more: other." in left_out({"type": "object", **schema})

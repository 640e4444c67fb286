"""Hypothesis strategies for flat histories as imports, cuts and other agents' data leave them."""

from itertools import product
from typing import Any, get_args

from hypothesis import strategies as st

from palimpsest.transcript.context_values.neutral_messages import (
    Block,
    CallBlock,
    MediaBlock,
    NeutralMessage,
    NeutralMessages,
    ReasoningBlock,
    ResultBlock,
    Stop,
    TextBlock,
)
from palimpsest.transcript.provider_profile.profile import profile
from palimpsest.transcript.provider_profile.recorded_agents import ProviderFamily
from palimpsest.transcript.values import ModelRef

FAMILIES: tuple[ProviderFamily, ...] = get_args(ProviderFamily)
MODELS: dict[ProviderFamily, ModelRef] = {
    "openai": ModelRef(provider="openai", name="gpt-test"),
    "anthropic": ModelRef(provider="anthropic", name="claude-test"),
    "google": ModelRef(provider="gemini", name="gemini-test"),
    "mistral": ModelRef(provider="mistral", name="mistral-test"),
    "compatible": ModelRef(provider="ollama", name="llama-test"),
}
"""One model for each provider family of the laws."""
PROFILES = {name: profile(ref) for name, ref in MODELS.items()}
PNG = "data:image/png;base64,iVBORw0KGgo="

IDS = ("a", "b", "call_1", "", " ", "a ", "toolu_01", "x" * 60, "\ud800")
TOOLS = ("read", "python", "", " read ", "web.search", "no name!", "n" * 80)
WORDS = ("hello", "", "  ", "企鹅", "\ud83d", "🐧", "long " * 50)
INPUTS: tuple[dict[str, Any], ...] = ({}, {"code": "1+1"}, {"text": "\ud83d"})

TEXTS: list[Block] = [TextBlock(text=text) for text in WORDS]
THOUGHTS: list[Block] = [ReasoningBlock(text=text) for text in WORDS]
MEDIA: list[Block] = [MediaBlock(mime="image/png", url=url) for url in (PNG, "", "data:,")]
CALLS: list[Block] = [
    CallBlock(call_id=name, tool=tool, input=given, incomplete=given is INPUTS[2])
    for (name, tool), given in zip(product(IDS, TOOLS), INPUTS * 21, strict=True)
]
RESULTS: list[Block] = [
    ResultBlock(call_id=name, tool=tool, text=text, is_error=text == "")
    for (name, tool), text in zip(product(IDS, TOOLS), WORDS * 9, strict=True)
]
SAYABLE: dict[str, list[Block]] = {
    "system": TEXTS,
    "user": TEXTS + MEDIA,
    "assistant": TEXTS * 4 + CALLS + THOUGHTS,
    "tool": RESULTS,
}
ANY: list[Block] = TEXTS + MEDIA + CALLS[::7] + RESULTS[::7] + THOUGHTS


def messages(role: Any) -> st.SearchStrategy[NeutralMessage]:
    """Return a strategy for messages of a role, mostly with blocks that the role can have."""
    said = st.lists(st.sampled_from(SAYABLE[role] * 4 + ANY), max_size=4)
    return st.builds(
        NeutralMessage,
        role=st.just(role),
        blocks=said.map(tuple),
        stop=st.sampled_from([None, *get_args(Stop)]),
        plain=st.booleans(),
    )


def histories() -> st.SearchStrategy[NeutralMessages]:
    """Return a strategy for histories of any kind."""
    roles = ("user", "assistant", "assistant", "tool", "tool", "system")
    return st.lists(st.one_of(*map(messages, roles)), max_size=12).map(tuple)

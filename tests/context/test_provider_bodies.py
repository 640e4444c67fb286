"""Requests for a model under any provider name satisfy both the server's and the template's rules.

For every chat model of litellm's table and for chains of provider prefixes, requests made under the default
policy are checked by the strict validators, once for each distinct profile.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.context.damaged_histories import flat_history
from tests.context.random_sessions import session
from tests.context.request_checks import (
    info_of,
    judged,
    ref_of,
    schema_problems,
    written_history,
    written_session,
)
from tests.sample_size import sample_size, thinned

from palimpsest.model.catalog import litellm_table
from palimpsest.model.wire.tool_schema import in_subset
from palimpsest.tools.registration.registry import Registry, builtin_tools
from palimpsest.transcript.provider_profile.profile import ProviderProfile, profile
from palimpsest.transcript.values import ModelRef

SEEDS = range(sample_size(5, 12))
MAX_PROFILES = 80
"""Upper limit of distinct sets of rules, so that a new one is added on purpose."""
PREFIXES = (
    "openrouter", "vertex_ai", "vertex_ai_beta", "bedrock", "bedrock/converse", "bedrock/us-east-1",
    "bedrock_converse", "azure", "azure_ai", "ollama", "ollama_chat", "github", "github_copilot",
    "litellm_proxy", "openai", "somebody", "somebody/else",
)  # fmt: skip

GATEWAYS = (
    # Two earlier tables disagreed about these.
    ("openrouter/mistralai/mistral-large", "openai", "mistral"),
    ("vertex_ai/mistral-large", "openai", "mistral"),
    ("azure_ai/mistral-large-2407", "openai", "mistral"),
    ("azure/mistral-large", "openai", "mistral"),
    ("bedrock/mistral.mistral-large-2402-v1:0", "openai", "mistral"),
    ("bedrock/us-east-1/mistral.mixtral-8x7b-instruct-v0:1", "openai", "mistral"),
    ("github/mistral-large", "openai", "mistral"),
    ("ollama/mistral:7b", "openai", "mistral"),
    ("somebody/devstral-small", "openai", "mistral"),
    ("openai/mistral-large", "openai", "mistral"),
    ("openrouter/google/gemini-3-pro-preview", "openai", "gemini"),
    ("openrouter/anthropic/claude-sonnet-4.5", "openai", "anthropic"),
    ("github_copilot/claude-sonnet-4.5", "openai", "anthropic"),
    ("somebody/claude-sonnet-4-5", "openai", "anthropic"),
)

pytestmark = pytest.mark.usefixtures("litellm")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model_id", "wire", "family"), thinned(GATEWAYS, 3), ids=lambda one: str(one)
)
def test_a_gateway_and_the_model_behind_it_both_take_a_request(
    model_id: str, wire: str, family: str
) -> None:
    ref = ref_of(model_id)

    assert refusals(ref, wire, family) == {}


@pytest.mark.soak  # with each commit a gateway of each kind takes a body, above; this adds every model and every chain
def test_every_chat_model_and_every_chain_of_prefixes_is_taken() -> None:
    models = [*chat_models(), *[*chained()][:: sample_size(35, 1)]]

    distinct = {rules(profile(ref)): ref for ref in models}

    assert len(models) > sample_size(1_400, 50_000)
    assert len(distinct) < MAX_PROFILES
    refused = {
        ref.id: found
        for ref in distinct.values()
        if (found := refusals(ref, profile(ref).wire, profile(ref).family))
    }
    assert refused == {}


def test_tools_are_described_in_the_subset_that_the_model_knows() -> None:
    registry = Registry(builtin_tools())
    specs = [registry.spec(tool) for tool in registry.offered_tools()]
    written = [in_subset(spec.parameters, "openapi") for spec in specs]

    assert {
        spec.name: schema_problems(spec_written)
        for spec, spec_written in zip(specs, written, strict=True)
    } == {spec.name: [] for spec in specs}
    assert any(schema_problems(spec.parameters) for spec in specs)
    assert profile(ref_of("openrouter/google/gemini-3-pro")).schema_subset == "openapi"
    # The adapter translates for Gemini's own interface.
    assert profile(ref_of("gemini/gemini-3-pro")).schema_subset == "json_schema"


def refusals(ref: ModelRef, wire: str, family: str) -> dict[str, list[str]]:
    """Return the problems found, by the history or session that shows them."""
    model = info_of(ref)
    asked = {f"flat {seed}": written_history(flat_history(seed), model) for seed in SEEDS}
    asked |= {f"session {seed}": written_session(session(seed), model) for seed in SEEDS}
    return {
        named: problems
        for named, messages in asked.items()
        if (problems := judged(messages, wire, family, ref.name))
    }


def rules(target: ProviderProfile) -> tuple[Any, ...]:
    """Return the fields of a profile that change a body: not lifetimes, nor rules of recorded agents."""
    left_out = {"name", "cache_lifetimes"}
    return tuple(
        getattr(target, name) for name in target.__dataclass_fields__ if name not in left_out
    )


def chat_models() -> Iterator[ModelRef]:
    """Yield every chat model of litellm's table, as a user would name it and as it is listed."""
    for key, found in json.loads(litellm_table.table_path().read_text(encoding="utf-8")).items():
        if found.get("mode") not in {"chat", "responses"}:
            continue
        yield ModelRef(provider=found["litellm_provider"], name=key)
        if "/" in key:
            yield ref_of(key)


def chained() -> Iterator[ModelRef]:
    """Yield every chat model behind every chain of prefixes."""
    for ref in chat_models():
        for prefix in PREFIXES:
            yield ref_of(f"{prefix}/{ref.name}")

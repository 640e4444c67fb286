"""Find the model in litellm's list that a gateway's name means, such as ``inf-codex/gpt-5.4``.

It is used only for names that are not in the list themselves. The match is an estimate: the gateway may charge another
price or accept shorter prompts. So names must be equal, not just similar, and a name of several models with different
prices or windows matches none. The price of a model with open weights depends on the provider that runs it, so such a
model matches only where the name contains the provider.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from palimpsest.model.catalog import litellm_table
from palimpsest.transcript.values import ModelInfo, ModelRef

MAKERS = (
    "openai", "anthropic", "gemini", "vertex_ai-language-models", "xai", "mistral", "codestral", "deepseek", "cohere_chat",
    "cohere", "moonshot", "zai", "minimax", "dashscope", "amazon_nova", "ai21", "perplexity", "meta_llama", "inception",
)  # fmt: skip
"""Providers in litellm's list that sell their own models, whose names mean the same models at any gateway."""
EXCLUSIVE_MAKERS = frozenset({"openai", "anthropic", "gemini", "vertex_ai-language-models", "xai"})
"""Makers that alone serve their models, so that a local server with such a model must be a gateway."""
VENDORS = {
    "google": "gemini", "x-ai": "xai", "mistralai": "mistral", "moonshotai": "moonshot", "z-ai": "zai", "zai-org": "zai",
    "deepseek-ai": "deepseek", "qwen": "dashscope", "alibaba": "dashscope", "amazon": "bedrock", "aws": "bedrock",
    "google-vertex": "vertex_ai", "vertex": "vertex_ai", "codex": "openai",
}  # fmt: skip
"""Gateways' names of a maker or a server, with the list's name."""
COPY_DATE = re.compile(r"[-@](?:\d{4}-\d{2}-\d{2}|20\d{6})$")
"""The date of a dated copy of a model, which has the same price."""
VERSION_SUFFIX = re.compile(r":(?:latest|\d+)$")
"""Suffixes after a colon that may be dropped; others (``:free``, ``:online``) change the price."""
NAME_SEPARATOR = re.compile(r"--|[-._:]")
"""Separators of a provider's and a model's name within one word: ``azure-gpt-4o``, ``anthropic--claude-opus-4-5``."""


@dataclass(frozen=True, slots=True)
class MeantModel:
    """The model that a gateway's name means; without a key where it is unknown or ambiguous."""

    key: str | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    """The model's entry in litellm's list."""
    is_ambiguous: bool = False
    """Whether the list has several models of this name with different prices or windows."""


@cache
def meant_model(ref: ModelRef) -> MeantModel:
    """Return the model in litellm's list that a name outside of the list means."""
    match = next(_models_by_provider(ref.id.split("/")), None)
    if match is not None:
        return match
    plain_name = ref.name.rpartition("/")[2]
    is_ambiguous = False
    for name in _spellings(plain_name):
        match = _makers_model(name) or _model_of_joined_name(name)
        if match is not None and match.key is not None:
            return match
        is_ambiguous = is_ambiguous or match is not None
    is_ambiguous = is_ambiguous or bool(litellm_table.entries_of_name(plain_name))
    return MeantModel(is_ambiguous=is_ambiguous)


def source_remark(info: ModelInfo) -> str:
    """Return a remark on the source of limits and price of a model outside of the list; empty for any other model."""
    if info.listed_as is not None:
        return f"limits and price are estimates (~), by the name {info.listed_as} of litellm's list"
    is_unknown = info.window_assumed and info.price.input is None
    is_known = not is_unknown or litellm_table.find_model(info.ref) is not None
    if not is_known and meant_model(info.ref).is_ambiguous:
        return (
            "window and price are not known: litellm's list has this name at other servers with different prices or "
            f'windows; set them below [models."{info.ref.id}"]'
        )
    return ""


def _models_by_provider(name_parts: list[str]) -> Iterator[MeantModel]:
    """Yield the models meant by tails of the name that begin with a provider: ``gw/groq/llama`` as ``groq/llama``."""
    for index in range(len(name_parts) - 1):
        provider = VENDORS.get(name_parts[index].lower(), name_parts[index].lower())
        for name in _spellings("/".join(name_parts[index + 1 :])):
            ref = ModelRef(provider=provider, name=name)
            facts = litellm_table.find_model(ref)
            if facts is not None and facts.get("mode") in litellm_table.CHAT_MODES:
                yield MeantModel(_key(ref), facts)


def _key(ref: ModelRef) -> str:
    has_bare_key = litellm_table.entry(ref.id) is None and litellm_table.entry(ref.name) is not None
    return ref.name if has_bare_key else ref.id


def _spellings(name: str) -> Iterator[str]:
    """Yield a name unchanged, and without capitals, region, version and date, which make no other model of it."""
    regionless = litellm_table.REGION.sub("", name.lower())
    at_sign = regionless.replace("@", "-")
    undated = COPY_DATE.sub("", VERSION_SUFFIX.sub("", regionless))
    spellings = (name, name.lower(), regionless, at_sign, VERSION_SUFFIX.sub("", at_sign), undated)
    yield from filter(None, dict.fromkeys(spellings))


def _makers_model(name: str) -> MeantModel | None:
    """Return the model that its maker, or a single provider, sells under exactly this name."""
    own_entry = litellm_table.entry(name)
    if own_entry is not None and own_entry.get("mode") in litellm_table.CHAT_MODES:
        return MeantModel(name, litellm_table.completed_entry(name, own_entry))
    entries = litellm_table.entries_of_name(name).items()
    makers_by_key = {key: entry.get("litellm_provider") for key, entry in entries}
    ranked_keys = [
        (MAKERS.index(maker), key)
        for key, maker in makers_by_key.items()
        if maker in MAKERS and key.count("/") <= 1
    ]
    return _single_model([key for _, key in sorted(ranked_keys)])


def _model_of_joined_name(name: str) -> MeantModel | None:
    """Return the model meant by a name such as ``azure-gpt-4o``: a provider's name and the full name of its model."""
    for separator in NAME_SEPARATOR.finditer(name):
        provider_part, model_part = name[: separator.start()], name[separator.end() :]
        provider = VENDORS.get(provider_part, provider_part)
        if not model_part or (provider not in _providers() and provider not in VENDORS):
            continue
        ref = ModelRef(provider=provider, name=model_part)
        facts = litellm_table.find_model(ref)
        if facts is not None and facts.get("mode") in litellm_table.CHAT_MODES:
            return MeantModel(_key(ref), facts)
        if (match := _makers_model(model_part)) is not None:
            return match
    return None


def _single_model(keys: Sequence[str]) -> MeantModel | None:
    """Return the model that keys mean; several keys mean one model if price and window are the same."""
    if not keys:
        return None
    entries = [(key, litellm_table.entry(key) or {}) for key in keys]
    offers = {(litellm_table.price(entry), entry.get("max_input_tokens")) for _, entry in entries}
    if len(offers) > 1:
        return MeantModel(is_ambiguous=True)
    key, facts = entries[0]
    return MeantModel(key, litellm_table.completed_entry(key, facts))


@cache
def _providers() -> frozenset[str]:
    return frozenset(provider.partition("-")[0] for _, provider in litellm_table.chat_models())

"""A table of what servers and models' templates accept; the only place that names providers.

Border: pure data, read by ``transcript/provider_profile/profile.py`` alone, which overlays a wire's row with
a family's. A row states what is documented, or was learned from refused requests; an unknown
provider is ``chat``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Family = Literal["anthropic", "gemini", "mistral", "openai", "other"]
"""The family of a model. Written into recorded thinking, so a name is never changed."""
Wire = Literal[
    "openai", "azure", "anthropic", "gemini", "vertex", "mistral", "bedrock", "deepseek",
    "gateway", "copilot", "proxy", "ollama", "chat",
]  # fmt: skip
"""The kind of server that takes the request; ``chat`` is any other with OpenAI's interface."""
IdRule = Literal["any", "short", "words", "short_words", "nine"]
"""``any`` text; ``short``: at most 40 characters; ``words``: letters, digits, underscores and dashes;
``short_words``: both of these; ``nine``: exactly nine letters and digits."""

TurnOrder = Literal["any", "user_first", "user_last", "alternating"]
"""``user_first``: the first message is a user's, and no assistant message follows another; ``user_last``:
also, a user message or a tool result comes last; ``alternating``: also, no user message follows another."""
LeadingRole = Literal["system", "systems"]
"""One system message, or several, each with a cache mark of its own."""
MediaInResults = Literal["none", "images", "all"]
CacheMarks = Literal["none", "cache_control", "copilot_cache_control"]
"""The name of the field that marks where a prompt cache ends."""
SchemaSubset = Literal["json_schema", "openapi"]
"""``openapi``: only the fields of a schema that OpenAPI 3.0 has, and enumerations of strings."""
Guidance = Literal["codex", "reasoning", "gpt", "gemini", "claude", "other"]

PDF = "application/pdf"
USUAL_PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
GEMINI_PICTURES = frozenset({"image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"})
OPENAI_MAX_TOOLS = 128
"""Maximum functions in one request, as OpenAI documents it."""
GEMINI_MAX_TOOLS = 512
"""Maximum function declarations in one request, as Google documents it."""


CacheLifetimes = Mapping[str, tuple[float, float]]
"""Seconds that a prompt stays cached after it was last read, at least and at most, by the lifetime that its cache mark
requests; the key is empty for the provider's default."""
MARKED_LIFETIMES: CacheLifetimes = {
    "": (300.0, 300.0),
    "5m": (300.0, 300.0),
    "1h": (3_600.0, 3_600.0),
}
"""Lifetimes that Anthropic documents for its ``ttl``; each read restarts the time."""
IDLE_LIFETIMES: CacheLifetimes = {"": (300.0, 600.0)}
"""The lifetime that OpenAI documents: usually five to ten minutes without use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileRow:
    """The rules of a wire format, or of a model family."""

    id_rule: IdRule = "any"
    turn_order: TurnOrder = "any"
    leading_role: LeadingRole = "system"
    media_in_results: MediaInResults = "none"
    cache_marks: CacheMarks = "none"
    max_tools: int | None = None
    """Maximum number of tools in a request; None where no limit is known."""
    schema_subset: SchemaSubset = "json_schema"
    needs_answer_after_results: bool = False
    """Whether a user message may not directly follow a tool result, so that an assistant message is put between."""
    letter_first: bool = False
    """Whether a tool's name must begin with a letter or an underscore."""
    restricted_property_names: bool = False
    """Whether names of a tool's parameters may have only letters, digits, dots, dashes and underscores."""
    pictures: frozenset[str] = USUAL_PICTURES
    documents: frozenset[str] = frozenset({PDF})
    """Types of files that a user's message may contain."""
    calls_need_thinking: bool = False
    """Whether thinking can be enabled in a request with results only if the answer that made the calls contains thinking."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WireProfileRow(ProfileRow):
    """The rules that depend on the server or its adapter, and not on the model."""

    cache_lifetimes: Mapping[Family, CacheLifetimes] = field(default_factory=dict)
    """Lifetimes by the model's family, where documented; none where a server may route a request to any cache."""
    signed_by: frozenset[Family] = frozenset()
    """Families whose signatures the server accepts back."""
    thinking_field: str | None = None
    """The field beside the text in which an answer's thinking is sent back."""
    translates_schemas: bool = False
    """Whether the adapter itself converts schemas to the subset."""
    results_named: bool = False
    """Whether a result contains the name of its tool."""
    results_parsed: bool = False
    """Whether the adapter parses JSON and ``data:`` urls in a result's text before it sends them as values."""
    equal_calls_once_below_version: int | None = None
    """Models of a version below this one receive identical calls of one answer as one call; None: no version does."""
    ids_contain_signature: bool = False
    """Whether a call's id contains the signature of the thinking before it, and must be sent back unchanged."""
    openai_client: bool = False
    """Whether the adapter uses OpenAI's client library."""
    caches_by_session: bool = False
    """Whether a key in the request routes all requests of a session to the server that has them in its cache."""
    needs_window_size: bool = False
    """Whether the server silently cuts a long prompt unless the request sets the size of the window."""
    input_limit_listed: bool = False
    """Whether the table of models lists the limit of the input: the window minus the longest answer."""


WIRES: dict[Wire, WireProfileRow] = {
    "openai": WireProfileRow(
        cache_lifetimes={"openai": IDLE_LIFETIMES},
        id_rule="short",
        max_tools=OPENAI_MAX_TOOLS,
        openai_client=True,
        caches_by_session=True,
        input_limit_listed=True,
    ),
    "azure": WireProfileRow(
        cache_lifetimes={"openai": IDLE_LIFETIMES},
        id_rule="short",
        max_tools=OPENAI_MAX_TOOLS,
        openai_client=True,
        input_limit_listed=True,
    ),
    "anthropic": WireProfileRow(
        cache_lifetimes={"anthropic": MARKED_LIFETIMES},
        id_rule="words",
        turn_order="user_last",
        leading_role="systems",
        media_in_results="all",
        signed_by=frozenset({"anthropic"}),
        cache_marks="cache_control",
        restricted_property_names=True,
    ),
    "gemini": WireProfileRow(
        turn_order="alternating",
        signed_by=frozenset({"gemini"}),
        pictures=GEMINI_PICTURES,
        max_tools=GEMINI_MAX_TOOLS,
        letter_first=True,
        translates_schemas=True,
        results_named=True,
        results_parsed=True,
        # Gemini before version 3 has no call ids, and litellm sends identical calls once.
        equal_calls_once_below_version=3,
        ids_contain_signature=True,
    ),
    # Third-party models on Vertex; Gemini and Claude have a wire each.
    "vertex": WireProfileRow(id_rule="short", turn_order="alternating", openai_client=True),
    "mistral": WireProfileRow(
        id_rule="nine",
        turn_order="user_last",
        needs_answer_after_results=True,
        documents=frozenset(),
        results_named=True,
    ),
    # Bedrock's Converse: ids of at most 64 letters, digits, underscores and dashes, and a user's message first and last.
    "bedrock": WireProfileRow(
        cache_lifetimes={"anthropic": MARKED_LIFETIMES},
        id_rule="short_words",
        turn_order="user_last",
        leading_role="systems",
        media_in_results="images",
        signed_by=frozenset({"anthropic"}),
        cache_marks="cache_control",
    ),
    "deepseek": WireProfileRow(
        id_rule="short", turn_order="user_first", thinking_field="reasoning_content"
    ),
    # OpenAI's interface, with cache marks in the blocks of a message as their documentation says.
    "gateway": WireProfileRow(
        cache_lifetimes={"anthropic": MARKED_LIFETIMES},
        id_rule="short",
        turn_order="user_first",
        leading_role="systems",
        cache_marks="cache_control",
        openai_client=True,
    ),
    "copilot": WireProfileRow(
        id_rule="short",
        turn_order="user_first",
        leading_role="systems",
        cache_marks="copilot_cache_control",
        openai_client=True,
    ),
    # A litellm proxy accepts all that litellm accepts here, and converts it for the provider itself.
    "proxy": WireProfileRow(
        cache_lifetimes={"anthropic": MARKED_LIFETIMES},
        id_rule="short",
        turn_order="user_first",
        leading_role="systems",
        media_in_results="all",
        signed_by=frozenset({"anthropic"}),
        cache_marks="cache_control",
        openai_client=True,
    ),
    "ollama": WireProfileRow(
        id_rule="short", turn_order="user_first", openai_client=True, needs_window_size=True
    ),
    "chat": WireProfileRow(id_rule="short", turn_order="user_first", openai_client=True),
}

FAMILIES: dict[Family, ProfileRow] = {
    "anthropic": ProfileRow(
        id_rule="words",
        turn_order="user_last",
        leading_role="systems",
        media_in_results="all",
        cache_marks="cache_control",
        restricted_property_names=True,
        calls_need_thinking=True,
    ),
    "gemini": ProfileRow(
        turn_order="alternating",
        schema_subset="openapi",
        letter_first=True,
        pictures=GEMINI_PICTURES,
    ),
    "mistral": ProfileRow(
        id_rule="nine",
        turn_order="user_last",
        needs_answer_after_results=True,
        # Mistral takes documents from the web or its own store only.
        documents=frozenset(),
    ),
    "openai": ProfileRow(),
    "other": ProfileRow(),
}

NAME_FAMILIES: tuple[tuple[str, Family], ...] = (
    ("claude", "anthropic"),
    ("gemini", "gemini"),
    *(
        (name, "mistral")
        for name in (
            "mistral", "mixtral", "codestral", "pixtral", "devstral", "ministral", "magistral",
            "voxtral", "mathstral", "leanstral",
        )
    ),
    ("gpt", "openai"),
    ("codex", "openai"),
)  # fmt: skip
"""Parts of a model's name and the family that each shows; the first match counts."""

PROVIDERS: dict[str, tuple[Wire, Family]] = {
    "openai": ("openai", "openai"),
    "azure": ("azure", "openai"),
    "anthropic": ("anthropic", "anthropic"),
    "gemini": ("gemini", "gemini"),
    "google": ("gemini", "gemini"),
    "mistral": ("mistral", "mistral"),
    "codestral": ("mistral", "mistral"),
    "bedrock": ("bedrock", "other"),
    "bedrock_converse": ("bedrock", "other"),
    "deepseek": ("deepseek", "other"),
    "moonshot": ("deepseek", "other"),
    "openrouter": ("gateway", "other"),
    "databricks": ("gateway", "other"),
    "github_copilot": ("copilot", "other"),
    "litellm_proxy": ("proxy", "other"),
    "ollama": ("ollama", "other"),
    "ollama_chat": ("ollama", "other"),
    "vertex_ai": ("vertex", "other"),
}
"""The wire of each provider's prefix, and the family of its models whose name shows none."""

FAMILY_WIRES: dict[tuple[str, Family], Wire] = {
    ("vertex_ai", "anthropic"): "anthropic",
    ("vertex_ai", "gemini"): "gemini",
    ("azure_ai", "anthropic"): "anthropic",
}
"""The wires of providers that have another interface for one family of models."""

GUIDANCE: tuple[tuple[str, Guidance], ...] = (
    ("codex", "codex"),
    ("gpt-5", "reasoning"),
    ("gpt-6", "reasoning"),
    ("gpt-oss", "reasoning"),
    ("gpt-", "gpt"),
    ("o1", "gpt"),
    ("o3", "gpt"),
    ("o4", "gpt"),
    ("gemini-", "gemini"),
    ("claude", "claude"),
)
"""Parts of model names, each with the guidance for these models; the first match is used."""

WHOLE_WORDS = frozenset({"o1", "o3", "o4"})
"""Parts that must be whole words, since they are short: ``llama-pro1`` contains ``o1``."""

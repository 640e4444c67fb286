"""Decide which models receive requests directly, and give the reason where a model is left to litellm.

Requests are direct where the server certainly speaks OpenAI's chat completions or Anthropic's messages, and the table
below determines all that litellm would change. All others stay with litellm, with a sentence about the reason.
Border: no network; litellm's table of models is read as data, and litellm is not imported.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import dropwhile
from typing import Any, Literal
from urllib.parse import urlsplit

from palimpsest.model.catalog import litellm_table
from palimpsest.model.catalog.model_check import EFFORTS, providers
from palimpsest.model.interface import ModelRequest
from palimpsest.transcript.values import ModelRef

Format = Literal["openai", "anthropic"]


@dataclass(frozen=True, slots=True)
class DirectProvider:
    """A provider with direct requests: its address, and the parameters it accepts."""

    format: Format = "openai"
    base_url: str | None = None
    """The default address; None where one must be configured."""
    base_variables: tuple[str, ...] = ()
    """Environment variables that may hold the address; they win over ``base_url``."""
    needs_key: bool = True
    takes_effort: bool = True
    """Whether ``reasoning_effort`` is sent unchanged; else it is left out, as litellm does."""
    effort_by_litellm: bool = False
    """Whether ``reasoning_effort`` needs litellm's translation, which depends on further facts about the model."""
    asks_usage: bool = True
    """Whether ``stream_options`` requests the token counts; else the server sends them anyway."""


def _other_provider(name: str, address: str | None = None, **options: Any) -> DirectProvider:
    """Return a provider of OpenAI's format whose address is in the usual variable."""
    return DirectProvider(base_url=address, base_variables=(f"{name}_API_BASE",), **options)


DIRECT_PROVIDERS: dict[str, DirectProvider] = {
    "openai": DirectProvider(
        base_url="https://api.openai.com/v1", base_variables=("OPENAI_BASE_URL", "OPENAI_API_BASE")
    ),
    "anthropic": DirectProvider(
        format="anthropic",
        base_url="https://api.anthropic.com",
        base_variables=("ANTHROPIC_API_BASE", "ANTHROPIC_BASE_URL"),
    ),
    "openrouter": _other_provider("OPENROUTER", "https://openrouter.ai/api/v1"),
    "deepseek": _other_provider(
        "DEEPSEEK", "https://api.deepseek.com/beta", effort_by_litellm=True
    ),
    "groq": _other_provider("GROQ", "https://api.groq.com/openai/v1", effort_by_litellm=True),
    "cerebras": _other_provider(
        "CEREBRAS", "https://api.cerebras.ai/v1", effort_by_litellm=True, asks_usage=False
    ),
    "xai": _other_provider("XAI", "https://api.x.ai/v1", effort_by_litellm=True),
    "together_ai": _other_provider(
        "TOGETHER_AI", "https://api.together.ai/v1", effort_by_litellm=True
    ),
    "hosted_vllm": _other_provider("HOSTED_VLLM", needs_key=False),
    "lm_studio": _other_provider("LM_STUDIO", needs_key=False, takes_effort=False),
    "llamafile": _other_provider(
        "LLAMAFILE", "http://127.0.0.1:8080/v1", needs_key=False, takes_effort=False
    ),
}
"""The providers whose servers speak one of the two formats; a provider unknown to litellm has OpenAI's format, at its
configured address. Providers of nearly OpenAI's format stay with litellm, which adapts requests: Mistral requires other
tool schemas and messages, Moonshot no lists, ``reasoning_content`` with each call and other temperatures, and the tools
and parameters of Fireworks depend on the model."""

COMPATIBLE = DirectProvider(needs_key=False)
"""A server with OpenAI's interface under a name that the user chose."""
REHEARSAL = "rehearsal"
PARAMETERS = frozenset({"temperature", "top_p", "max_tokens", "reasoning_effort", "tool_choice"})
"""The request parameters that a direct request can hold."""
SERIES = re.compile(r"gpt-(\d+)(?:\.(\d+))?(?=[.-]|$)")
"""A name of OpenAI's series and its version."""
MIN_RESPONSES_VERSION = (5, 4)
"""From this version on, OpenAI's chat completions refuse tools while the model thinks."""
TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
"""The names of tools that Anthropic accepts."""
DATE_SUFFIX = re.compile(r"-\d{8}$")
OAUTH_KEY_PREFIX = "sk-ant-oat"
CHANGED_ADDRESS_VARIABLE = "LITELLM_ANTHROPIC_DISABLE_URL_SUFFIX"
FEDERATION_VARIABLES = ("ANTHROPIC_FEDERATION_RULE_ID", "ANTHROPIC_IDENTITY_TOKEN_FILE")
OTHER_MODES = {
    "responses": "OpenAI serves it by its Responses API",
    "completion": "it completes texts and does not chat",
}
"""Modes of litellm's table other than chat, each with the reason it gives."""


def direct_provider(provider: str) -> DirectProvider | None:
    """Return the settings for direct requests to a provider; None where litellm sends them."""
    settings = DIRECT_PROVIDERS.get(provider)
    return COMPATIBLE if settings is None and provider not in providers() else settings


def needs_litellm(ref: ModelRef, api_base: str | None, direct: bool = True) -> bool:  # noqa: FBT001, FBT002 - a setting's value
    """Return whether requests to a model need litellm; ``direct`` is the setting of that name."""
    return ref.provider != REHEARSAL and litellm_reason(ref, api_base, direct=direct) is not None


def litellm_reason(
    ref: ModelRef,
    api_base: str | None,
    *,
    direct: bool = True,
    environment: Mapping[str, str] | None = None,
) -> str | None:
    """Return why requests to a model go through litellm; None where they are direct.

    >>> litellm_reason(ModelRef(provider="bedrock", name="nova"), None)
    "the wire format of 'bedrock' is left to litellm"
    """
    variables = os.environ if environment is None else environment
    if not direct:
        return "the setting 'direct' is off"
    provider = direct_provider(ref.provider)
    if provider is None:
        return f"the wire format of {ref.provider!r} is left to litellm"
    if ref.variant is not None and provider.effort_by_litellm:
        return f"what {ref.provider!r} makes of a reasoning effort is left to litellm"
    if provider.format == "anthropic":
        return _anthropic_reason(ref, variables)
    if ref.name.startswith("responses/"):
        return OTHER_MODES["responses"]
    table_provider = ref.provider if ref.provider in DIRECT_PROVIDERS else "openai"
    facts = (
        litellm_table.entry(f"{table_provider}/{ref.name}") or litellm_table.entry(ref.name) or {}
    )
    if (mode_reason := OTHER_MODES.get(str(facts.get("mode")))) is not None:
        return mode_reason
    if ref.provider == "openai" or provider is COMPATIBLE:
        return _openai_reason(ref, base_url(provider, api_base, variables))
    if ref.provider == "together_ai" and facts.get("supports_function_calling") is False:
        return "it takes no tools, which litellm leaves out"
    return None


def request_reason(request: ModelRequest) -> str | None:
    """Return why one request to a model with direct requests goes through litellm; None where it does not."""
    if unknown_names := request.parameters.keys() - PARAMETERS:
        return f"the parameter {min(unknown_names)!r} is left to litellm"
    ref, effort = request.model.ref, request.parameters.get("reasoning_effort")
    if effort is not None:
        with_effort = ref.model_copy(update={"variant": effort})
        if (reason := litellm_reason(with_effort, request.model.api_base)) is not None:
            return reason
    provider = direct_provider(ref.provider)
    if provider is not None and provider.format == "anthropic":
        return _anthropic_request_reason(request)
    for message in request.messages:
        content = message.get("content")
        if not isinstance(content, list):
            continue
        if ref.provider == "deepseek":
            return "what 'deepseek' takes of pictures is left to litellm"
        if message["role"] == "tool" and any(block["type"] != "text" for block in content):
            return "pictures in results are left to litellm"
    return None


def _anthropic_request_reason(request: ModelRequest) -> str | None:
    if not all(TOOL_NAME.fullmatch(tool.name) for tool in request.tools):
        return "a tool's name that Anthropic does not take is left to litellm"
    later_messages = dropwhile(lambda message: message["role"] == "system", request.messages)
    if any(message["role"] == "system" for message in later_messages):
        return "a system message in the middle is left to litellm"
    return None


def base_url(
    provider: DirectProvider, api_base: str | None, environment: Mapping[str, str]
) -> str | None:
    """Return the address of a provider's interface: configured, from the environment, or its own."""
    values = (environment.get(variable, "").strip() for variable in provider.base_variables)
    return api_base or next((address for address in values if address), None) or provider.base_url


def _anthropic_reason(ref: ModelRef, environment: Mapping[str, str]) -> str | None:
    key = environment.get("ANTHROPIC_API_KEY", "").strip()
    if key.startswith(OAUTH_KEY_PREFIX):
        return "Anthropic's OAuth tokens are left to litellm"
    if environment.get(CHANGED_ADDRESS_VARIABLE):
        return f"an address that {CHANGED_ADDRESS_VARIABLE} changes is left to litellm"
    if not key and any(environment.get(name) for name in FEDERATION_VARIABLES):
        return "Anthropic's workload identities are left to litellm"
    if ref.variant is not None and not _takes_effort(ref):
        return "what becomes of this model's reasoning effort is left to litellm"
    return None


def _takes_effort(ref: ModelRef) -> bool:
    """Return whether a reasoning effort can be sent directly: for a listed model that needs no header for it."""
    is_listed = litellm_table.entry(ref.name) is not None
    return is_listed and "opus-4-5" not in ref.name and ref.variant in EFFORTS


def _openai_reason(ref: ModelRef, address: str | None) -> str | None:
    name = ref.name.rpartition("/")[2]
    if "audio" in name or "search" in name:
        return "models for audio and search are left to litellm"
    match = SERIES.match(name)
    version = (int(match[1]), int(match[2] or 0)) if match else (0, 0)
    if version >= MIN_RESPONSES_VERSION and (is_openai(address) or ref.variant is not None):
        return "OpenAI takes tools of this model by its Responses API"
    return None


def is_openai(address: str | None) -> bool:
    """Return whether an address is OpenAI's own.

    >>> is_openai("https://eu.api.openai.com/v1"), is_openai("https://openai.com.example/v1"), is_openai(None)
    (True, False, True)
    """
    host = urlsplit(address or "").hostname
    return host is None or host == "openai.com" or host.endswith(".openai.com")


def model_facts(ref: ModelRef) -> dict[str, Any]:
    """Return the entry of litellm's table for a model, completed by the entry of its family."""
    defaults = {"litellm_provider": ref.provider}
    return litellm_table.find_model(ref) or litellm_table.completed_entry(ref.name, defaults)


def is_denied(name: str, ability: str) -> bool:
    """Return whether the table denies an ability of a model, by its name without a date or with dashes for dots."""
    undated = DATE_SUFFIX.sub("", name)
    for candidate in (name, undated, name.replace(".", "-"), undated.replace(".", "-")):
        support = (litellm_table.entry(candidate) or {}).get(ability)
        if isinstance(support, bool):
            return not support
    return False

"""Query local model servers for their models and context windows.

They are Ollama and any OpenAI-compatible server that the environment names; with a short timeout. The kinds of
failure are distinguished, since the user configured the server. Ollama silently cuts a prompt to its own
small window unless the request sets another, so the adapter sets our window with every request.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any, Literal
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

from palimpsest.model.providers import is_loopback, key_of

PROVIDER = "ollama"
LOCALHOST = "127.0.0.1"
DEFAULT_PORT = 11434
DEFAULT_BASE = f"http://{LOCALHOST}:{DEFAULT_PORT}"
VARIABLES = ("OLLAMA_API_BASE", "OLLAMA_HOST")
REFUSED_KEY_STATUSES = frozenset({401, 403})
LISTING_ERRORS = (OSError, HTTPException, ValueError, KeyError, TypeError, AttributeError)
"""Errors raised when the queried server is down, or is no model server."""
TIMEOUT_SECONDS = 0.5
REMOTE_TIMEOUT_SECONDS = 2.0
"""Timeout for a server on another machine, which is queried only where the environment names it."""
MAX_WINDOW = 32_768
"""A longer window costs gigabytes of memory on the user's machine; config may raise it."""
DEFAULT_WINDOW = 4_096
"""Tokens; Ollama's window where a model states none."""
MAX_QUERIED_MODELS = 12


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A model that a local server offers."""

    name: str
    window: int
    calls_tools: bool


MissingReason = Literal["", "silent", "refused", "other"]
"""Why a server did not list its models: no answer, a missing or wrong key, or an answer that is no list."""


@dataclass(frozen=True, slots=True)
class LocalModels:
    """The models that the user's Ollama listed."""

    models: tuple[LocalModel, ...] = ()
    missing_reason: MissingReason = ""


@dataclass(frozen=True, slots=True)
class ServedModels:
    """The models that an OpenAI-compatible server listed."""

    names: tuple[str, ...] = ()
    """Names of the models that can chat."""
    missing_reason: MissingReason = ""


def address_variable(environment: Mapping[str, str]) -> str | None:
    """Return the environment variable with the address of an Ollama server; None if none is set."""
    return next((name for name in VARIABLES if environment.get(name, "").strip()), None)


def ollama_address(environment: Mapping[str, str]) -> str:
    """Return the address of the user's Ollama."""
    name = address_variable(environment)
    address = environment[name].strip().rstrip("/") if name is not None else DEFAULT_BASE
    if "://" not in address:
        # As in Ollama itself: a host alone gets the default port, a port alone this machine.
        host, colon, port = address.rpartition(":")
        is_without_port = not colon or "]" in port
        server = f"{address}:{DEFAULT_PORT}" if is_without_port else f"{host or LOCALHOST}:{port}"
        address = f"http://{server}"
    return address.replace("//0.0.0.0", f"//{LOCALHOST}")


def ollama_models(environment: Mapping[str, str]) -> LocalModels:
    """Return the models of the user's Ollama, newest first; empty when none runs."""
    address = ollama_address(environment)
    timeout = _timeout(address)
    try:
        entries = _query(f"{address}/api/tags", timeout=timeout)["models"] or ()
        names = [str(entry["name"]) for entry in entries]
    except LISTING_ERRORS as error:
        return LocalModels(missing_reason=_missing_reason(error))
    read_models = (_queried_model(address, name, timeout) for name in names[:MAX_QUERIED_MODELS])
    return LocalModels(tuple(model for model in read_models if model is not None))


NO_CHAT = re.compile(
    r"embed|rerank|whisper|(?:^|[-_/])tts(?:[-_]|$)|dall-e|stable-diffusion|moderation|transcri|(?:^|[-_/])bge[-_]"
    r"|(?:^|[-_/])e5[-_]|(?:^|[-_/])clip(?:[-_]|$)|nomic-bert|colbert|davinci-002|babbage-002|gpt-image|sora",
    re.IGNORECASE,
)
"""Matches names of models that are not made for chat."""
CHAT_TYPES = frozenset({"llm", "vlm", "chat", "language", "text-generation", "model"})


def served_models(
    base_url: str, environment: Mapping[str, str] | None = None, provider: str = "openai"
) -> ServedModels:
    """Return the models that an OpenAI-compatible server lists; it is queried with the provider's key."""
    key = key_of(provider, environment or {})
    headers = {"authorization": f"Bearer {key}"} if key else {}
    try:
        address = f"{base_url.rstrip('/')}/models"
        listing = _query(address, headers=headers, timeout=_timeout(base_url))
        entries = listing.get("data") or listing.get("models") or ()
        chat_models = (model for model in entries if _is_chat_model(model))
        names = tuple(str(model.get("id") or model["name"]) for model in chat_models)
    except LISTING_ERRORS as error:
        return ServedModels(missing_reason=_missing_reason(error))
    return ServedModels(names, missing_reason="" if entries else "other")


def _missing_reason(error: Exception) -> MissingReason:
    """Return why a server did not list its models, from the error raised."""
    if isinstance(error, HTTPError):
        return "refused" if error.code in REFUSED_KEY_STATUSES else "other"
    return "silent" if isinstance(error, OSError) else "other"


def _timeout(address: str) -> float:
    return TIMEOUT_SECONDS if is_loopback(address) else REMOTE_TIMEOUT_SECONDS


def _is_chat_model(entry: dict[str, Any]) -> bool:
    """Return whether a listed model can chat, by its type where the server names one, else by its name."""
    model_type = entry.get("type")
    if isinstance(model_type, str) and model_type != "model":
        return model_type in CHAT_TYPES
    abilities = entry.get("capabilities")
    if isinstance(abilities, dict) and abilities.get("completion_chat") is False:
        return False
    return not NO_CHAT.search(str(entry.get("id") or entry.get("name")))


def _queried_model(address: str, name: str, timeout: float) -> LocalModel | None:
    """Return Ollama's facts about a model; None where the query fails, so that the others are still listed."""
    try:
        details = _query(f"{address}/api/show", {"model": name}, timeout=timeout)
        facts = dict(details.get("model_info") or {})
    except LISTING_ERRORS:
        return None
    stated_lengths = (value for name, value in facts.items() if name.endswith(".context_length"))
    # A window of 0 means no limit, which only the user may set.
    lengths = [value for value in stated_lengths if isinstance(value, int) and value > 0]
    window = min(max(lengths, default=DEFAULT_WINDOW), MAX_WINDOW)
    return LocalModel(name, window, "tools" in (details.get("capabilities") or ()))


def _query(
    url: str,
    body: dict[str, Any] | None = None,
    *,
    headers: Mapping[str, str] | None = None,
    timeout: float = TIMEOUT_SECONDS,
) -> dict[str, Any]:
    data = None if body is None else json.dumps(body).encode()
    all_headers = {"content-type": "application/json", **(headers or {})}
    request = Request(url, data=data, headers=all_headers)
    # Requests to this machine must not go through a proxy that the environment names.
    direct_handlers = (ProxyHandler({}),) if is_loopback(url) else ()
    opener = build_opener(*direct_handlers, _RedirectRefuser())
    with opener.open(request, timeout=timeout) as response:
        value = json.load(response)
    return value if isinstance(value, dict) else {}


class _RedirectRefuser(HTTPRedirectHandler):
    """Follows no redirect, which could carry a key to another server."""

    def redirect_request(self, *_: Any) -> None:
        return None

"""Ask the model servers of this machine which models they have and how much they can read.

Ollama, and any OpenAI-compatible server on loopback that the environment names; with a short
timeout, and no answer means that there is none. Ollama cuts a prompt silently to its own small window unless told otherwise, so the
window we state is the one that the adapter asks for with every request.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

from palimpsest.model.providers import is_loopback, key_of

PROVIDER = "ollama"
PROVIDERS = frozenset({PROVIDER, "ollama_chat"})
"""The prefixes of its models; the second one is what the adapter calls its format for chats."""
DEFAULT_BASE = "http://127.0.0.1:11434"
TIMEOUT_SECONDS = 0.5
REMOTE_SECONDS = 2.0
"""A server elsewhere is only asked where the environment names it."""
WINDOW_CAP = 32_768
"""A longer window costs gigabytes of memory on the user's machine; config may raise it."""
USUAL_WINDOW = 4_096
ASKED_MODELS = 12


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A model that a local server offers."""

    name: str
    window: int
    tools: bool


def base(environment: Mapping[str, str]) -> str:
    """Return the address of the user's Ollama."""
    named = environment.get("OLLAMA_API_BASE") or environment.get("OLLAMA_HOST") or DEFAULT_BASE
    address = named if "://" in named else f"http://{named}"
    return address.replace("//0.0.0.0", "//127.0.0.1").rstrip("/")


def models(environment: Mapping[str, str]) -> tuple[LocalModel, ...]:
    """Return the models of the user's Ollama, newest first; empty when none runs."""
    address = base(environment)
    try:
        listed = _ask(f"{address}/api/tags").get("models") or ()
        names = [str(item["name"]) for item in listed]
        return tuple(_model(address, name) for name in names[:ASKED_MODELS])
    except (OSError, ValueError, KeyError, TypeError):
        return ()


@dataclass(frozen=True, slots=True)
class ServedModels:
    """What a server answered when it was asked for its models."""

    names: tuple[str, ...] = ()
    """Those that can chat."""
    answered: bool = False
    """It listed models, even if none of them can chat."""


NO_CHAT = re.compile(
    r"embed|rerank|whisper|(?:^|[-_/])tts(?:[-_]|$)|dall-e|stable-diffusion|moderation|transcri|(?:^|[-_/])bge[-_]"
    r"|(?:^|[-_/])e5[-_]|(?:^|[-_/])clip(?:[-_]|$)|nomic-bert|colbert|davinci-002|babbage-002|gpt-image|sora",
    re.IGNORECASE,
)
"""Names of models that were made for something else than a chat."""
CHAT_TYPES = frozenset({"llm", "vlm", "chat", "language", "text-generation", "model"})


def served(
    base_url: str, environment: Mapping[str, str] | None = None, provider: str = "openai"
) -> ServedModels:
    """Return the models that an OpenAI-compatible server lists; it is asked with the provider's key."""
    key = key_of(provider, environment or {})
    headers = {"authorization": f"Bearer {key}"} if key else {}
    timeout = TIMEOUT_SECONDS if is_loopback(base_url) else REMOTE_SECONDS
    try:
        listed = _ask(f"{base_url.rstrip('/')}/models", headers=headers, timeout=timeout)
        found = listed.get("data") or listed.get("models") or ()
        names = tuple(str(one.get("id") or one["name"]) for one in found if _chats(one))
        return ServedModels(names, answered=bool(found))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return ServedModels()


def _chats(listed: dict[str, Any]) -> bool:
    """Say whether a listed model can chat, by its type where the server names one, else by its name."""
    kind = listed.get("type")
    if isinstance(kind, str) and kind != "model":
        return kind in CHAT_TYPES
    abilities = listed.get("capabilities")
    if isinstance(abilities, dict) and abilities.get("completion_chat") is False:
        return False
    return not NO_CHAT.search(str(listed.get("id") or listed.get("name")))


def _model(address: str, name: str) -> LocalModel:
    shown = _ask(f"{address}/api/show", {"model": name})
    facts = shown.get("model_info") or {}
    lengths = [v for k, v in facts.items() if k.endswith(".context_length") and isinstance(v, int)]
    window = min(max(lengths, default=USUAL_WINDOW), WINDOW_CAP)
    return LocalModel(name, window, "tools" in (shown.get("capabilities") or ()))


def _ask(
    url: str,
    body: dict[str, Any] | None = None,
    *,
    headers: Mapping[str, str] | None = None,
    timeout: float = TIMEOUT_SECONDS,
) -> dict[str, Any]:
    data = None if body is None else json.dumps(body).encode()
    request = Request(
        url, data=data, headers={"content-type": "application/json"} | dict(headers or {})
    )
    # A proxy of the environment must not be asked for a server on this machine.
    here = (ProxyHandler({}),) if is_loopback(url) else ()
    with build_opener(*here, _Unmoved()).open(request, timeout=timeout) as response:
        value = json.load(response)
    return value if isinstance(value, dict) else {}


class _Unmoved(HTTPRedirectHandler):
    """Follows no redirect, which could carry a key elsewhere."""

    def redirect_request(self, *_: Any) -> None:
        return None

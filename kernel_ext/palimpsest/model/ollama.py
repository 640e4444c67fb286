"""Ask the model servers of this machine which models they have and how much they can read.

Ollama, and any OpenAI-compatible server on loopback that the environment names; with a short
timeout, and no answer means that there is none. Ollama cuts a prompt silently to its own small window unless told otherwise, so the
window we state is the one that the adapter asks for with every request.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.request import ProxyHandler, Request, build_opener

DEFAULT_BASE = "http://127.0.0.1:11434"
TIMEOUT_SECONDS = 0.5
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


def served(base_url: str) -> tuple[str, ...]:
    """Return the models that an OpenAI-compatible server lists; empty when it does not answer."""
    try:
        listed = _ask(f"{base_url.rstrip('/')}/models").get("data") or ()
        return tuple(str(item["id"]) for item in listed)
    except (OSError, ValueError, KeyError, TypeError):
        return ()


def _model(address: str, name: str) -> LocalModel:
    shown = _ask(f"{address}/api/show", {"model": name})
    facts = shown.get("model_info") or {}
    lengths = [v for k, v in facts.items() if k.endswith(".context_length") and isinstance(v, int)]
    window = min(max(lengths, default=USUAL_WINDOW), WINDOW_CAP)
    return LocalModel(name, window, "tools" in (shown.get("capabilities") or ()))


def _ask(url: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    data = None if body is None else json.dumps(body).encode()
    request = Request(url, data=data, headers={"content-type": "application/json"})
    # A proxy of the environment must not be asked for a server on this machine.
    with build_opener(ProxyHandler({})).open(request, timeout=TIMEOUT_SECONDS) as response:
        value = json.load(response)
    return value if isinstance(value, dict) else {}

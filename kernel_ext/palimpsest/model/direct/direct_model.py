"""Send requests directly to a model's server, and leave every unsupported model to litellm.

The two formats of nearly all servers, OpenAI's chat completions and Anthropic's messages, are written and read here,
over HTTP: a request costs a twentieth of litellm's time, a delta a tenth, and litellm is not imported. The adapter
joins, counts, classifies errors and retries for both, so that answers are the same. ``supported_models`` chooses
between both, with a reason. The setting ``direct = false`` sends all requests through litellm.
"""

import asyncio
import importlib
import json
import os
import sys
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import aclosing
from functools import partial
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from palimpsest.model.adapter.answer_events import (
    PLACEHOLDER_KEY,
    answer_events,
    read_timeout_seconds,
    yielding_to_others,
)
from palimpsest.model.adapter.litellm_model import LitellmModel, no_provider
from palimpsest.model.adapter.raw_stream import StreamTap
from palimpsest.model.direct.anthropic_body import anthropic_body
from palimpsest.model.direct.anthropic_events import AnthropicEvents
from palimpsest.model.direct.deltas import Delta
from palimpsest.model.direct.event_stream import stream_values
from palimpsest.model.direct.openai_body import openai_body
from palimpsest.model.direct.openai_chunks import openai_delta
from palimpsest.model.direct.supported_models import (
    DirectProvider,
    base_url,
    direct_provider,
    litellm_reason,
    request_reason,
)
from palimpsest.model.errors.exception_details import AnswerInterrupted
from palimpsest.model.interface import ModelRequest, StreamEvent
from palimpsest.model.providers import key_of, key_variable
from palimpsest.paused_collection import collection_paused
from palimpsest.transcript.errors import ModelFailed, UnknownError
from palimpsest.transcript.values import ModelInfo

CLIENTS_MODULE = "palimpsest.model.direct.http_clients"
LAST_DEFINED = "_certificates"
"""The function that ``CLIENTS_MODULE`` defines last: with it, the module is imported to its end."""
COMMAND_LINE_MODULE = "httpx._main"
"""httpx's command line, which is not imported."""
USER_AGENT = "jupyter-palimpsest"
"""The name of this program in the ``User-Agent`` header."""
ANTHROPIC_VERSION = "2023-06-01"
ENDPOINTS = {"openai": "/chat/completions", "anthropic": "/v1/messages"}
NAMED_HEADERS: dict[str, dict[str, tuple[str, ...]]] = {
    "openai": {
        "OpenAI-Organization": ("OPENAI_ORGANIZATION", "OPENAI_ORG_ID"),
        "OpenAI-Project": ("OPENAI_PROJECT_ID",),
    },
    "openrouter": {"HTTP-Referer": ("OR_SITE_URL",), "X-Title": ("OR_APP_NAME",)},
}
"""Headers for a provider, and the environment variables of their values."""


class MissingKey(Exception):
    """A provider requires a key, and the environment has none."""


def preload() -> None:
    """Begin to import the HTTP client in the background."""
    if CLIENTS_MODULE not in sys.modules:
        threading.Thread(target=import_clients, name="palimpsest-http", daemon=True).start()


def import_clients() -> ModuleType:
    """Import the HTTP client, without httpx's command line, which it has where rich and click are installed.

    The command line is two thirds of httpx's import, and only the separate program ``httpx`` uses it.
    """
    is_hidden = "httpx" not in sys.modules and COMMAND_LINE_MODULE not in sys.modules
    if is_hidden:
        sys.modules[COMMAND_LINE_MODULE] = None  # type: ignore[assignment]  # makes its import fail
    try:
        with collection_paused():
            return importlib.import_module(CLIENTS_MODULE)
    finally:
        if is_hidden:
            sys.modules.pop(COMMAND_LINE_MODULE, None)


class DirectModel:
    """Answers requests from the provider's own server, or through litellm; see ``model.interface.Model``.

    ``litellm`` answers all other requests; ``direct`` returns the setting of that name, for each request.
    """

    def __init__(
        self,
        litellm: LitellmModel,
        *,
        direct: Callable[[], bool] = lambda: True,
        read_timeout_seconds: float | None = None,
    ) -> None:
        self._litellm = litellm
        self._is_direct = direct
        self._read_timeout_seconds = read_timeout_seconds

    def reason(self, request: ModelRequest) -> str | None:
        """Return why a request goes through litellm; None where it does not."""
        model = request.model
        is_direct = self._is_direct()
        return litellm_reason(model.ref, model.api_base, direct=is_direct) or request_reason(
            request
        )

    def pending_import(self, model: ModelInfo) -> Coroutine[Any, Any, None] | None:
        """Return a coroutine that imports the client, or litellm; None where it is imported."""
        if litellm_reason(model.ref, model.api_base, direct=self._is_direct()) is not None:
            return self._litellm.pending_import(model)
        return None if _loaded_clients() is not None else _clients()

    def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        """Send the request and yield the events of its answer."""
        if self.reason(request) is not None:
            return self._litellm.stream(request)
        return answer_events(request, self._deltas)

    async def _deltas(self, request: ModelRequest, tap: StreamTap) -> AsyncGenerator[Any, None]:
        """Yield None once the request was accepted, then the deltas."""
        ref = request.model.ref
        provider = direct_provider(ref.provider) or DirectProvider()
        base_address = base_url(provider, request.model.api_base, os.environ)
        if base_address is None:
            raise ModelFailed(UnknownError(message=no_provider(ref.provider, ref.id)))
        headers = request_headers(ref.provider, provider, request.model.api_base)
        body = anthropic_body(request) if provider.format == "anthropic" else openai_body(request)
        clients = await _clients()
        address = endpoint(base_address, ENDPOINTS[provider.format])
        timeout_seconds = read_timeout_seconds(base_address, self._read_timeout_seconds)
        request_context = clients.post(address, headers, _encoded_body(body), timeout_seconds)
        read_delta: Callable[[Any], Delta | None] = partial(openai_delta, tap=tap)
        if provider.format == "anthropic":
            read_delta = AnthropicEvents(tap).delta
        async with request_context as answer:
            yield None
            has_begun = False
            values = stream_values(answer.byte_pieces, answer.response, tap.mark_end)
            try:
                async with aclosing(values), aclosing(yielding_to_others(values)) as paced:
                    async for value in paced:
                        delta = read_delta(value)
                        if delta is not None:
                            has_begun = True
                            yield delta
                        if tap.is_exhausted:
                            break
            except Exception as error:
                raise AnswerInterrupted(error, is_pre_first_chunk=not has_begun) from error
            if tap.is_exhausted or tap.is_done:
                await answer.read_rest()
            else:
                answer.is_whole = True


async def _clients() -> Any:
    """Return the module of HTTP clients, whose import takes 200 ms, without blocking the event loop."""
    clients = _loaded_clients()
    if clients is not None:
        return clients
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(None, import_clients)


def _loaded_clients() -> Any:
    """Return the module of HTTP clients; None before it is imported to its end."""
    module = sys.modules.get(CLIENTS_MODULE)
    return module if hasattr(module, LAST_DEFINED) else None


def endpoint(base_address: str, path: str) -> str:
    """Return the address of a request.

    >>> endpoint("http://localhost:8000/v1/?a=1", "/chat/completions")
    'http://localhost:8000/v1/chat/completions?a=1'
    """
    try:
        parts = urlsplit(base_address.strip())
    except ValueError:
        return base_address.rstrip("/") + path
    folder = parts.path.rstrip("/")
    full_path = folder if folder.endswith(path) else folder + path
    return urlunsplit(parts._replace(path=full_path))


def request_headers(
    provider_name: str, provider: DirectProvider, api_base: str | None
) -> dict[str, str]:
    """Return the headers of a request to a provider: its key, and those of its format.

    Raises MissingKey where the provider's own server requires a key and none is set.
    """
    key = key_of(provider_name, os.environ)
    json_type = "application/json"
    headers = {"content-type": json_type, "accept": json_type, "user-agent": USER_AGENT}
    if provider.format == "anthropic":
        headers["anthropic-version"] = ANTHROPIC_VERSION
        token = os.environ.get("ANTHROPIC_AUTH_TOKEN", "").strip()
        if key is None and token:
            return headers | {"authorization": f"Bearer {token}"}
        return headers | {"x-api-key": _required_key(key, provider_name, provider, api_base)}
    for header, names in NAMED_HEADERS.get(provider_name, {}).items():
        value = next((v for variable in names if (v := os.environ.get(variable, "").strip())), None)
        if value is not None:
            headers[header] = value
    return headers | {
        "authorization": f"Bearer {_required_key(key, provider_name, provider, api_base)}"
    }


def _required_key(
    key: str | None, provider_name: str, provider: DirectProvider, api_base: str | None
) -> str:
    if key is None and provider.needs_key and api_base is None:
        raise MissingKey(f"No API key is set in {key_variable(provider_name)}.")
    return key or PLACEHOLDER_KEY


def _encoded_body(body: dict[str, Any]) -> bytes:
    """Return a body as JSON; raises ValueError for a number that JSON lacks."""
    options: dict[str, Any] = {"separators": (",", ":"), "allow_nan": False}
    try:
        return json.dumps(body, ensure_ascii=False, **options).encode()
    except UnicodeEncodeError:  # half of a character, which JSON can hold as an escape
        return json.dumps(body, **options).encode()

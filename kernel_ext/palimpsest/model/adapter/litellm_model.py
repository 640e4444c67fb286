"""Send requests to any provider through litellm, and check its results against the provider's stream.

This is the only module that imports litellm: in the background, with an environment in which litellm neither reads
``.env`` files nor uses the network; if the user imported it first, its globals stay unchanged. Every answer is observed
below litellm's own wrapper, because that wrapper reports broken answers as finished: a step is complete only when the
provider itself reported its end.
"""

import asyncio
import copy
import gc
import importlib
import logging
import os
import sys
import threading
import warnings
import weakref
from collections.abc import AsyncGenerator, Coroutine
from concurrent.futures import Future
from contextlib import aclosing, suppress
from typing import Any

from palimpsest.model.adapter.answer_events import (
    PLACEHOLDER_KEY,
    answer_events,
    read_timeout_seconds,
    yielding_to_others,
)
from palimpsest.model.adapter.litellm_patches import disable_resending, leave_bodies_unchecked
from palimpsest.model.adapter.provider_blocks import patch_to_restore_blocks, translatable_messages
from palimpsest.model.adapter.raw_stream import DiscardingList, StreamTap
from palimpsest.model.interface import ModelRequest, StreamEvent
from palimpsest.model.providers import has_key, key_of
from palimpsest.model.tokenizer import give_back_memory, lazy_encoding
from palimpsest.model.wire.provider_messages import can_think, sendable_messages
from palimpsest.model.wire.tool_schema import tool_definition
from palimpsest.paused_collection import collection_paused
from palimpsest.transcript.errors import ModelFailed, UnknownError
from palimpsest.transcript.provider_profile.profile import profile
from palimpsest.transcript.values import ModelInfo, ModelRef

ENVIRONMENT = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",
    "LITELLM_MODE": "PRODUCTION",
}
"""Without these, the import uses the network and reads the ``.env`` files of parent folders."""

LATE_IMPORTS = (
    "anyio._backends._asyncio",
    "litellm._service_logger",
    "litellm.proxy.openai_files_endpoints.common_utils",
    "litellm.llms.openai_like.dynamic_config",
    "litellm.llms.vertex_ai.vertex_ai_partner_models.anthropic.transformation",
    "litellm.llms.fal_ai.chat",
    "litellm.llms.edenai.chat.transformation",
)
"""Modules that litellm imports during its first call, which would block the event loop for half a second."""
OPENAI_LATE_IMPORTS = ("openai.resources.chat",)


class LitellmLoader:
    """Loads litellm once per process, in the background."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._import_future: Future[Any] | None = None
        self.is_imported_by_us = False
        """Whether this class imported litellm, and not the user, so that its global settings may be changed."""
        self._first_call_imports: set[bool] = set()
        """The values of ``openai`` for which the modules of a first call are imported."""
        self._known_loops: weakref.WeakSet[asyncio.AbstractEventLoop] = weakref.WeakSet()

    def preload(self, *, openai: bool = False) -> Future[Any]:
        """Begin to import litellm and the modules of its first call, unless that has begun; returns at once."""
        with self._lock:
            if self._import_future is None:
                self._import_future = Future()
                threading.Thread(
                    target=self._import_in_thread,
                    args=(self._import_future, openai),
                    name="palimpsest-litellm",
                    daemon=True,
                ).start()
            return self._import_future

    async def imported_litellm(self) -> Any:
        """Return litellm as soon as it is imported, without blocking the event loop."""
        # Shielded: a cancelled request must not cancel the import that all others wait for.
        litellm = await asyncio.shield(asyncio.wrap_future(self.preload()))
        if self.is_imported_by_us:
            self._drop_old_clients(asyncio.get_running_loop(), litellm)
        return litellm

    def _drop_old_clients(self, loop: asyncio.AbstractEventLoop, litellm: Any) -> None:
        """Drop litellm's cached connections when a new event loop appears.

        litellm keeps them under the loop's memory address, which a new loop may get again.
        """
        if loop not in self._known_loops:
            self._known_loops.add(loop)
            litellm.in_memory_llm_clients_cache.cache_dict.clear()
            litellm.__dict__.pop("module_level_aclient", None)

    async def import_first_call_modules(self, *, openai: bool) -> None:
        """Import the modules of the first call in a thread, since that call would block the event loop."""
        if openai not in self._first_call_imports:
            await asyncio.get_running_loop().run_in_executor(None, _import_late, openai)
            self._first_call_imports.add(openai)

    def pending_import(self, *, openai: bool) -> Coroutine[Any, Any, None] | None:
        """Return a coroutine that imports everything a call needs; None where it is imported."""
        import_future = self._import_future
        is_imported = (
            import_future is not None
            and import_future.done()
            and openai in self._first_call_imports
        )
        return None if is_imported else self._import_modules(openai=openai)

    async def _import_modules(self, *, openai: bool) -> None:
        with suppress(ImportError):  # the request itself reports it
            await self.imported_litellm()
            await self.import_first_call_modules(openai=openai)

    def wait_for_litellm(self, timeout: float | None = None) -> Any:
        """Return litellm, blocking the thread until it is imported."""
        return self.preload().result(timeout)

    def _import_in_thread(self, module_future: Future[Any], openai: bool) -> None:  # noqa: FBT001 - a thread's argument
        try:
            module_future.set_result(self._import_litellm())
        except BaseException as error:  # noqa: BLE001 - ``imported_litellm`` and ``wait_for_litellm`` raise it
            module_future.set_exception(error)
        else:
            _import_late(openai)
            self._first_call_imports.add(openai)

    def _import_litellm(self) -> Any:
        if "litellm" in sys.modules:
            import litellm

            return litellm
        self.is_imported_by_us = True
        for name, value in ENVIRONMENT.items():
            os.environ.setdefault(name, value)
        with collection_paused():
            import litellm
            import litellm.llms.custom_httpx.http_handler
            import litellm.main
            import litellm.rust_bridge.tokenizer
        # litellm counts an empty text at every call; its encodings for that take 80 MB.
        litellm.rust_bridge.tokenizer._python_encoding = lazy_encoding  # noqa: SLF001
        leave_bodies_unchecked(litellm.main)
        disable_resending(litellm.llms.custom_httpx.http_handler)
        patch_to_restore_blocks(litellm)
        # The parsed copy of a tokenizer that litellm stores as text: 20 MB that nothing uses.
        litellm.utils.json_data = {}
        litellm.suppress_debug_info = True
        litellm.disable_hf_tokenizer_download = True
        # aiohttp's sessions print warnings when a loop ends before them.
        litellm.disable_aiohttp_transport = True
        # Its warnings, and tracebacks of failures that we report, would be printed into the user's cell.
        logging.getLogger("LiteLLM").setLevel(logging.CRITICAL)
        warnings.filterwarnings(
            "ignore", message="Pydantic serializer warnings", category=UserWarning
        )
        warnings.filterwarnings("ignore", module=r"(?:litellm|openai|httpx|httpcore)(?:\.|$)")
        # litellm makes a million objects that never die; walking them again at each full
        # collection would stop a stream for 400 ms.
        gc.collect()
        gc.freeze()
        give_back_memory()
        return litellm


def _import_late(openai: bool) -> None:  # noqa: FBT001 - a thread's argument
    for name in (*LATE_IMPORTS, *(OPENAI_LATE_IMPORTS if openai else ())):
        # Another version of litellm may have it elsewhere; then the first call is slower.
        with suppress(ImportError):
            importlib.import_module(name)


LOADER = LitellmLoader()


def preload(ref: ModelRef) -> None:
    """Begin to import litellm in the background, and what it imports for a first call of this model."""
    LOADER.preload(openai=profile(ref).openai_client)


class LitellmModel:
    """Answers requests through litellm; see ``model.interface.Model`` for the contract."""

    def __init__(self, *, read_timeout_seconds: float | None = None) -> None:
        self._read_timeout_seconds = read_timeout_seconds

    def pending_import(self, model: ModelInfo) -> Coroutine[Any, Any, None] | None:
        """Return a coroutine that imports litellm; None where it is imported."""
        return LOADER.pending_import(openai=profile(model.ref).openai_client)

    def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        """Send the request and yield the events of its answer."""
        return answer_events(request, self._deltas)

    async def _deltas(self, request: ModelRequest, tap: StreamTap) -> AsyncGenerator[Any, None]:
        """Yield None once the request was accepted, then the deltas."""
        try:
            litellm = await LOADER.imported_litellm()
        except ImportError as error:
            message = f"litellm cannot be imported: {error}. Reinstall jupyter-palimpsest."
            raise ModelFailed(UnknownError(message=message)) from error
        arguments = self.arguments(request, litellm)
        await LOADER.import_first_call_modules(openai=profile(request.model.ref).openai_client)
        stream = await litellm.acompletion(**arguments)
        try:
            is_lazy = tap.attach(stream)
            stream.chunks = DiscardingList()
            if not is_lazy:
                yield None
            chunks = _chunks_within(stream, arguments["timeout"]) if is_lazy else stream
            async with aclosing(yielding_to_others(chunks)) as paced_chunks:
                async for chunk in paced_chunks:
                    if is_lazy:
                        is_lazy = False
                        yield None
                    if chunk.choices:
                        yield chunk.choices[0].delta
                    if tap.is_exhausted:
                        break
            tap.adopt_wrapper_finish(stream)
        finally:
            await stream.aclose()

    def arguments(self, request: ModelRequest, litellm: Any) -> dict[str, Any]:
        """Return the arguments of litellm's call for a request."""
        model = request.model
        target_profile = profile(model.ref)
        messages = copy.deepcopy(list(sendable_messages(request.messages, model)))
        arguments: dict[str, Any] = {
            "model": model.ref.id,
            "messages": translatable_messages(messages, restores_blocks=LOADER.is_imported_by_us),
            "stream": True,
            "stream_options": {"include_usage": True},
            "max_tokens": request.parameters.get("max_tokens", model.output_limit),
            "timeout": read_timeout_seconds(model.api_base, self._read_timeout_seconds),
            "num_retries": 0,
            "max_retries": 0,
            "drop_params": True,
            # Otherwise every call with tools imports litellm's proxy, and fails where ``mcp`` is missing.
            "_skip_mcp_handler": True,
        }
        if model.ref.variant is not None:
            arguments["reasoning_effort"] = model.ref.variant
        if request.tools:
            # Copies, since litellm changes its arguments.
            tools = [tool_definition(spec, target_profile) for spec in request.tools]
            arguments["tools"] = copy.deepcopy(tools)
        if target_profile.needs_window_size:
            # Only Ollama's own chat format takes the window; where none is given, the server's default holds.
            options = {"num_ctx": model.window} if model.window else {}
            arguments |= {"model": f"ollama_chat/{model.ref.name}", **options}
        arguments |= {k: v for k, v in request.parameters.items() if v is not None}
        if not can_think(request.messages, model):
            arguments.pop("reasoning_effort", None)
        arguments |= self._server_arguments(request, litellm)
        if target_profile.caches_by_session and model.api_base is None and request.session_id:
            # Another server with the same interface would refuse the parameter.
            arguments["prompt_cache_key"] = request.session_id
        return arguments

    def _server_arguments(self, request: ModelRequest, litellm: Any) -> dict[str, Any]:
        """Return the arguments for a server that is not the provider's own: address, format and key."""
        ref, base_url = request.model.ref, request.model.api_base
        providers = {str(getattr(item, "value", item)) for item in litellm.provider_list}
        is_unknown = ref.provider not in providers
        if base_url is None:
            if is_unknown:
                raise ModelFailed(UnknownError(message=no_provider(ref.provider, ref.id)))
            return {}
        server_arguments: dict[str, Any] = {"api_base": base_url}
        if is_unknown:
            server_arguments["model"] = f"openai/{ref.name}"
            # Without this key, the server would be sent the user's key for OpenAI.
            server_arguments["api_key"] = key_of(ref.provider, os.environ) or PLACEHOLDER_KEY
        elif not has_key(ref.provider, os.environ):
            server_arguments["api_key"] = PLACEHOLDER_KEY
        return server_arguments


async def _chunks_within(stream: Any, seconds: float) -> AsyncGenerator[Any, None]:
    """Yield the chunks, and raise TimeoutError after a silence: for Gemini, litellm waits an hour or more."""
    chunks = aiter(stream)
    while True:
        try:
            async with asyncio.timeout(seconds):
                chunk = await anext(chunks)
        except StopAsyncIteration:
            return
        yield chunk


def no_provider(provider: str, model_id: str) -> str:
    """Return the error sentence for an unknown provider without an address."""
    return (
        f"There is no provider {provider!r}. Check the model's name, or set "
        f"models.{model_id!r}.api_base to the address of an OpenAI-compatible server."
    )

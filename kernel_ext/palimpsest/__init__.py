"""Palimpsest: an LLM agent that runs in a notebook's kernel and shows what is in its context window.

How a message passes through the packages::

    frontends -> session -> loop -> context -> model -> processor -> store -> frontends

A prompt arrives by a magic or a control message (``frontends``), is admitted to the session's inbox (``session``), and
starts or steers a turn (``loop``). Each step projects the transcript to a request (``context``), streams the answer
(``model``) into parts (``processor``), which run tools (``tools``), and every change is journaled (``store``) before
any front end receives it. ``render`` turns parts into text and HTML, ``transcript`` defines the values that all
packages share. ``recordings`` reads sessions that were recorded, here or by other agents, ``context_policies`` replays
them under other policies, and ``review`` shows both in tables and views.
"""

from typing import Any

from palimpsest.import_guard import guard_imports
from palimpsest.paused_collection import collection_paused

__version__ = "0.1.0"

# Before any other import: a notebook's folder may contain a file named like a library.
guard_imports()

__all__ = [
    "AgentTurnFailed", "Answer", "App", "Change", "Compacting", "CompactingEvent", "DecideEvent",
    "Event", "PastView", "Probe", "PromptEvent", "Record", "Refuse", "Reply", "RequestEvent",
    "Session", "SystemEvent", "SystemPrompt", "ToolAfter", "ToolBefore", "UserError",
    "__version__", "agents", "commands", "compare_sessions", "config", "corpus",
    "current_session", "distrust", "hook", "import_session", "keyed_storage", "lesson",
    "load_ipython_extension", "models", "new_session", "open_recording", "open_session",
    "policies", "policy", "problems", "prune", "redecide", "sessions", "skills", "storage",
    "tool", "trust", "unhook", "unload_ipython_extension", "whatif",
]  # fmt: skip

_MODULE_BY_NAME = {
    "load_ipython_extension": "palimpsest.ipython_extension",
    "unload_ipython_extension": "palimpsest.ipython_extension",
    "App": "palimpsest.app.wiring",
    "Session": "palimpsest.public.session_object",
    "current_session": "palimpsest.ipython_extension",
    **dict.fromkeys(
        (
            *(
                "agents",
                "commands",
                "config",
                "distrust",
                "import_session",
                "keyed_storage",
                "models",
            ),
            *("new_session", "open_session", "problems", "prune", "sessions", "skills", "storage"),
            "trust",
        ),
        "palimpsest.project",
    ),
    "tool": "palimpsest.app.wiring",
    "AgentTurnFailed": "palimpsest.frontends.cell_turn.cell_failure",
    "policies": "palimpsest.context_policies.public_policies",
    "policy": "palimpsest.context_policies.own_policies.custom",
    "redecide": "palimpsest.recordings.reconstruction.redecision",
    "whatif": "palimpsest.review.whatif",
    "compare_sessions": "palimpsest.review.recorded_sessions.session_comparison",
    "corpus": "palimpsest.review.corpus.corpus",
    "open_recording": "palimpsest.public.recorded_session",
    "lesson": "palimpsest.public.lesson",
    "hook": "palimpsest.session.extensions.hooks",
    "unhook": "palimpsest.session.extensions.hooks",
    **dict.fromkeys(
        (
            *("Compacting", "CompactingEvent", "DecideEvent", "PromptEvent", "Refuse"),
            *("RequestEvent", "SystemEvent", "SystemPrompt", "ToolAfter", "ToolBefore"),
        ),
        "palimpsest.transcript.session_record.hook_values",
    ),
    "Event": "palimpsest.transcript.session_record.events",
    "Record": "palimpsest.transcript.session_record.events",
    "Reply": "palimpsest.transcript.values",
    "UserError": "palimpsest.transcript.errors",
    "Answer": "palimpsest.session.interfaces.prompt_answer",
    "Change": "palimpsest.context_policies.interface.policy",
    "PastView": "palimpsest.context_policies.own_policies.past_view",
    "Probe": "palimpsest.context_policies.interface.policy",
}
"""Public names and their modules; each is imported on first use, since the application takes a second
to import and ``%load_ext`` must not. ``__init__.pyi`` declares the same names for type checkers."""


def __getattr__(name: str) -> Any:
    """Import a public name on its first use (PEP 562)."""
    from importlib import import_module

    module_name = _MODULE_BY_NAME.get(name)
    if module_name is None:
        raise AttributeError(f"module 'palimpsest' has no attribute {name!r}")
    try:
        with collection_paused():
            value = getattr(import_module(module_name), name)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"palimpsest.{name} needs the package {error.name}, which is not installed; all that are needed come with "
            "pip install jupyter-palimpsest.",
            name=error.name,
        ) from error
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)

"""The only place of wiring: which store, which models, which tools, which kernel.

Everything below gets what it needs handed down from here. ``App`` is one per kernel (or one per
script, without a kernel); ``Session`` is what a person holds in a variable.
"""

import atexit
import functools
import getpass
import os
import random
import secrets
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from palimpsest.context.changes import names, possible_values
from palimpsest.context.guard import remark
from palimpsest.context.presets import PRESETS
from palimpsest.model import catalog, ollama
from palimpsest.model.litellm_model import LitellmModel, preload
from palimpsest.model.model import Model
from palimpsest.model.ollama import LocalModel
from palimpsest.model.tokenizer import counter
from palimpsest.review.ledger import Ledger
from palimpsest.review.occasions import Redecision
from palimpsest.review.redecide import redecide
from palimpsest.review.requests import Rebuilt, rebuild, requests
from palimpsest.review.standins import SUMMARY_TOKENS
from palimpsest.review.weighing import weigh, weigh_recorded
from palimpsest.review.whatif import WhatIf, whatif
from palimpsest.session.agents import known_agents
from palimpsest.session.api import Answer, LiveSession, PromptOptions, Snapshot
from palimpsest.session.config import Config, LoadedConfig, load
from palimpsest.session.engine import EngineThread
from palimpsest.session.naming import small_model
from palimpsest.session.policies import DEFAULT, policy_from
from palimpsest.session.services import Services
from palimpsest.session.wishes import Wish
from palimpsest.session.workspace import Workspace
from palimpsest.store.jsonl import JsonlStore
from palimpsest.store.lease import this_owner
from palimpsest.store.opening import find_project, open_store
from palimpsest.store.snapshots import Snapshots
from palimpsest.store.store import Store
from palimpsest.tools.ignore import ALWAYS_LEFT_OUT, Ignore
from palimpsest.tools.permissions import DEFAULT_RULES, Rules, from_config, merge
from palimpsest.tools.registry import Registry, builtin_tools
from palimpsest.tools.tool import Namespace, PythonRunner
from palimpsest.transcript.decisions import StepRequest
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.ids import Ids
from palimpsest.transcript.messages import Messages
from palimpsest.transcript.policies import Policy
from palimpsest.transcript.reverts import FileDiff, RevertPreview
from palimpsest.transcript.scrub import scrub, secret_values
from palimpsest.transcript.values import ModelInfo, Reply

APPS: list["App"] = []
"""The apps of this process that are open; the newest last."""

USER_TOOLS: list[Callable[..., Any]] = []
"""Functions offered with ``@palimpsest.tool`` before an app exists."""

OLLAMA_SECONDS = 30.0

NOT_IN_A_CELL = (
    "In a notebook, ask with %agent or %%agent: the agent's Python needs the thread that this call "
    "would block. start() sends a prompt without waiting."
)


class App:
    """One kernel's engine, workspace and configuration."""

    def __init__(
        self,
        *,
        start: Path | None = None,
        kernel_id: str | None = None,
        environment: Mapping[str, str] | None = None,
        overrides: Mapping[str, Any] | None = None,
        python: Callable[[str], PythonRunner] | None = None,
        namespace: Callable[[str], Namespace] | None = None,
        model: Callable[[ModelInfo], Model] | None = None,
        engine: EngineThread | None = None,
        notebook: Callable[[], str | None] = lambda: None,
    ) -> None:
        self.start = (start or Path.cwd()).resolve()
        self.environment = environment if environment is not None else os.environ
        self.engine = engine or EngineThread()
        self.notebook = notebook
        """Names the notebook that this kernel belongs to."""
        self.in_kernel = python is not None
        self.config: LoadedConfig = load(self.start, self.environment, dict(overrides or {}))
        self.project = find_project(self.start)
        store, self.warning = open_store(self.project)
        self.ids = Ids(_now_ms, secrets.token_bytes)
        self.registry = Registry(builtin_tools(kernel=python is not None))
        for function in USER_TOOLS:
            self.registry.add(function)
        self.views: dict[str, Any] = {}
        """The widgets that ``Session.view`` made, by session."""
        self._litellm: LitellmModel | None = None
        self._local_models: tuple[float, tuple[LocalModel, ...]] = (-OLLAMA_SECONDS, ())
        self._closed = False
        atexit.register(self.close)
        APPS.append(self)
        config, policy = self.config.value, self.config.policy
        agents = known_agents(*_agents(config))
        self.services = Services(
            store=store,
            ids=self.ids,
            clock=_now_ms,
            jitter=random.random,
            root=self.project,
            cwd=self.start,
            registry=self.registry,
            model=model or self._model,
            info=self.info,
            default_model=self.default_model,
            count=counter,
            agents=agents,
            default_agent=config.default_agent or "build",
            rules=merge(DEFAULT_RULES, *_rules(config.permission)),
            policy=policy.policy,
            policy_fixed=policy.fixed,
            history_limits=_history_limits(config),
            user=_user(self.environment),
            instruction_files=config.instructions,
            extra_system=config.system,
            max_steps=config.max_steps,
            titles=config.titles,
            small_model=functools.partial(small_model, config.small_model, agents, self.info),
            snapshots=_snapshots(store, self.project) if config.snapshot else None,
            environment=self.environment,
            python=python,
            namespace=namespace,
        )
        owner = this_owner(kernel_id or f"process-{os.getpid()}-{secrets.token_hex(4)}")
        self.workspace = Workspace(
            self.services, owner, project_id=store.project_id, warning=self.warning
        )

    def preload(self) -> None:
        """Begin to import what the first answer will need, in the background."""
        preload()

    def info(self, model_id: str, variant: str | None = None) -> ModelInfo:
        """Return what is known of a model; raises ConfigError for a name that cannot be one."""
        config = self.config.value
        known = catalog.info(
            model_id,
            config.models,
            variant=variant or config.variant,
            environment=self.environment,
        )
        if config.context_tokens is not None and config.context_tokens < known.window:
            return known.model_copy(update={"window": config.context_tokens})
        return known

    def default_model(self) -> str:
        """Return the id of the model that answers when nobody names one."""
        return self.config.value.model or catalog.choose(self.environment, self._ollama).id

    def models(self) -> Sequence[tuple[str, str, str]]:
        """Return the models that can be used now: id, window, and why it is here."""
        found = {
            known.info.ref.id: (known.info, known.because)
            for known in catalog.known(self.environment, self.config.value.models, self._ollama)
        }
        default = self.default_model()
        if default not in found:
            found[default] = (self.info(default), "configured as the default")
        return [
            (name, f"{info.window:,}{remark(info, self.services.policy.guard)}", because)
            for name, (info, because) in found.items()
        ]

    def agents(self) -> Sequence[tuple[str, str]]:
        """Return names and descriptions of the agents; the one that answers by default first."""
        found = self.services.agents
        first = self.services.default_agent
        names = sorted(found, key=lambda name: (name != first, name))
        return [(name, found[name].description) for name in names]

    def _ollama(self, environment: Mapping[str, str]) -> Sequence[LocalModel]:
        """Ask for local models at most every half minute: each question may cost half a second."""
        at, models = self._local_models
        if time.monotonic() - at > OLLAMA_SECONDS:
            models = tuple(ollama.models(environment))
            self._local_models = time.monotonic(), models
        return models

    def known(self, field: str) -> Sequence[str]:
        """Return values that an option may take, for completion."""
        match field:
            case "model":
                return [name for name, _, _ in self.models()]
            case "agent":
                return sorted(self.services.agents)
            case "tools":
                return self.registry.names
            case "policy":
                return [*sorted(PRESETS), DEFAULT, *(f"{name}=" for name in names())]
            case _ if field.startswith("policy="):
                name = field.removeprefix("policy=")
                return possible_values(name) if name in names() else ()
            case _:
                return ()

    def close(self, timeout: float = 5.0) -> None:
        """Close every session and end the engine; a second time does nothing."""
        if self._closed:
            return
        self._closed = True
        atexit.unregister(self.close)
        APPS.remove(self)
        self.engine.submit(self.workspace.close()).result(timeout)
        for name in self.registry.names:
            end = getattr(self.registry.resolve(name), "end_background", None)
            if end is not None:
                end()
        self.engine.stop()

    def _model(self, _info: ModelInfo) -> Model:
        if self._litellm is None:
            from palimpsest.model.rehearsal.handler import Rehearsal

            self._litellm = LitellmModel()
            self._litellm.register_custom("rehearsal", Rehearsal())
        return self._litellm


class Session:
    """A session in a person's hands: ask it, look at it, look at what the model saw."""

    def __init__(self, app: App, live: LiveSession) -> None:
        self._app = app
        self._live = live

    @property
    def id(self) -> str:
        """The session's id."""
        return self._live.id

    @property
    def snapshot(self) -> Snapshot:
        """Everything about the session at this moment, as one immutable value."""
        return self._live.snapshot()

    @property
    def messages(self) -> Messages:
        """The transcript."""
        return self._live.snapshot().messages

    def prompt(self, text: str, **options: Any) -> Answer:
        """Send a prompt and wait for its answer.

        For scripts: no kernel runs the agent's Python, and nobody is asked; questions wait until
        ``reply`` answers them from another thread, or ``yes=True`` does.
        """
        if self._app.in_kernel:
            raise UserError(NOT_IN_A_CELL)
        return self.start(text, **options).result()

    def start(self, text: str, **options: Any) -> "Future[Answer]":
        """Send a prompt; its answer arrives in a future."""
        return self._app.engine.submit(self._live.prompt(text, PromptOptions(**options)))

    def compact(self, focus: str | None = None) -> "Future[Answer]":
        """Put a summary in the place of what was said; it arrives in a future, also one that runs already.

        ``focus`` is what the summary keeps above all. In a cell, write ``%agent compact``.
        """
        return self._app.engine.submit(self._live.compact(focus))

    def wait_compaction(self) -> "Future[bool]":
        """Tell when no compaction runs and what it interrupted was tried again; arrives in a future.

        False when that takes longer than the context policy waits, or the session is closed.
        """
        return self._app.engine.submit(self._live.wait_compaction())

    def pin(self, name: str) -> Wish:
        """Keep a part, or a whole message, in every request from the next one on.

        Neither prune nor a compaction takes it out. ``name`` is an id, its beginning or its end, or
        ``last`` for the newest tool call. Also while a turn runs, like all of these.
        """
        return self._live.wish("pin", name)

    def unpin(self, name: str) -> Wish:
        """Take a pin off again."""
        return self._live.wish("unpin", name)

    def exclude(self, name: str) -> Wish:
        """Leave a part, or a whole message, out of every request from the next one on.

        A tool call goes together with what it returned. The transcript keeps everything.
        """
        return self._live.wish("exclude", name)

    def restore(self, name: str) -> Wish:
        """Bring back what was left out, cleared or cut, or what a summary stands for."""
        return self._live.wish("restore", name)

    def undo_compaction(self) -> Wish:
        """Show the model again what the newest summary stands for.

        Nothing is compacted by itself until the next prompt.
        """
        return self._live.wish("undo")

    def preview(self, name: str = "") -> RevertPreview:
        """Say what ``revert`` would do: which messages go, what becomes of which file. Nothing is changed."""
        return self._app.engine.submit(self._live.undoing.preview(name)).result()

    def revert(self, name: str = "", overwrite: Collection[str] = ()) -> RevertPreview:
        """Take back the newest prompt, or from a message or part on, and bring its files back.

        What somebody else changed since is named and left alone, unless ``overwrite`` names it. Until
        the next prompt, ``unrevert`` undoes it. Raises SessionBusy while a turn runs.
        """
        return self._app.engine.submit(self._live.undoing.revert(name, overwrite)).result()

    def unrevert(self, overwrite: Collection[str] = ()) -> RevertPreview:
        """Undo the revert that stands."""
        return self._app.engine.submit(self._live.undoing.unrevert(overwrite)).result()

    def cleanup(self) -> int:
        """Remove what is taken back for good; returns how many messages went."""
        return self._app.engine.submit(self._live.undoing.cleanup()).result()

    def diff(self, name: str = "") -> tuple[FileDiff, ...]:
        """Return what the session changed in files; of one turn by its id, or ``last``."""
        return self._app.engine.submit(self._live.undoing.diff(name)).result()

    def cancel(self) -> bool:
        """Stop the turn that runs."""
        return self._live.cancel()

    def reply(self, ask_id: str, reply: Reply) -> bool:
        """Answer a question; the first answer wins."""
        return self._live.reply(ask_id, reply)

    @property
    def policy(self) -> Policy:
        """The context policy that holds from the next request on."""
        return self._live.policy()

    def use_policy(self, *words: str | Policy) -> Policy:
        """Choose the context policy of this session, from the next request on; returns it.

        Words are the name of a preset, ``name=value`` for one number, or ``default`` for the
        configured one: ``use_policy("opencode-1.18", "prune.protect_tokens=10000")``.
        """
        return self._app.engine.submit(self._live.use_policy(*words)).result()

    def requests(self) -> tuple[StepRequest, ...]:
        """List every model request of the session, in order."""
        self._flush()
        return requests(self._app.services.store, self.id)

    def rebuild(self, request: StepRequest | str) -> Rebuilt:
        """Rebuild what the model saw at a request, from the log."""
        self._flush()
        request_id = request if isinstance(request, str) else request.id
        return rebuild(self._app.services.store, self.id, request_id)

    def context(self, request: StepRequest | str | None = None) -> Ledger:
        """Weigh what the model sees: of the next request, or of a recorded one.

        As the last line of a cell it is drawn: the window, what fills it, and what is gone, since
        when and by which rule. Nothing is sent and nothing is written.
        """
        self._flush()
        clean = functools.partial(scrub, values=secret_values(self._app.environment))
        if request is not None:
            request_id = request if isinstance(request, str) else request.id
            store = self._app.services.store
            return weigh_recorded(store, self.id, request_id, counter, clean)
        return weigh(self._live.basis(), lambda only: self._live.records_after(0, only), clean)

    def whatif(self, *words: str | Policy, summary_tokens: int = SUMMARY_TOKENS) -> WhatIf:
        """Say what would have been sent under another policy; no model is asked.

        Words are those of ``use_policy``; without any, each step keeps the policy it had. A
        summary that would have come at another place has a stand-in of ``summary_tokens``.
        """
        self._flush()
        services = self._app.services
        return whatif(
            services.store,
            self.id,
            policy_from(services.policy, self.policy, words) if words else None,
            counter=services.count,
            summary_tokens=summary_tokens,
        )

    def redecide(self) -> Redecision:
        """Decide again, from the log alone, what was left out for the model; the same comes out."""
        self._flush()
        return redecide(self._app.services.store, self.id, counter=self._app.services.count)

    def fork(self, message_id: str | None = None) -> "Session":
        """Begin a new session with everything before a message, or all of this one."""
        self._flush()
        live = self._app.engine.submit(self._app.workspace.fork(self.id, message_id)).result()
        return Session(self._app, live)

    def view(self) -> Any:
        """Show the transcript in a cell: it follows the session while the kernel lives.

        What the notebook keeps of it is a page of words, which needs no kernel.
        """
        from palimpsest.frontends.view import view_of

        self._flush()
        return view_of(self._live, self._app.engine, self._app.views)

    def _flush(self) -> None:
        journal = getattr(self._live, "journal", None)
        if journal is not None:
            journal.flush_sync()

    def __repr__(self) -> str:
        picture = self._live.snapshot()
        title = picture.session.title if picture.session else "?"
        return f"<Session {self.id} {title!r}, {len(picture.messages)} messages>"


def tool(function: Callable[..., Any]) -> Callable[..., Any]:
    """Offer a function to the agent as a tool; its signature and docstring become the description."""
    USER_TOOLS.append(function)
    for app in APPS:
        app.registry.add(function)
    return function


def current_session(session_id: str | None = None) -> Session:
    """Return the notebook's session, or the one that begins with this id, to look at.

    In a script, where no kernel loaded the extension, it belongs to the current folder.
    """
    app = APPS[-1] if APPS else App()
    return open_session(app, session_id)


def open_session(app: App, session_id: str | None = None) -> Session:
    """Open a session by id, or the notebook's current one."""
    notebook = app.notebook()
    work = (
        app.workspace.open(session_id, notebook)
        if session_id is not None
        else app.workspace.current(notebook)
    )
    return Session(app, app.engine.submit(work).result())


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


@functools.cache
def _home() -> str:
    return str(Path.home())


def _rules(tables: Iterable[Any]) -> list[Rules]:
    return [from_config(table, home=_home()) for table in tables]


def _history_limits(config: Config) -> Mapping[str, Any]:
    limits = config.model_dump(include={"history_limit", "dm_history_limit", "dms"})
    return {name: value for name, value in limits.items() if value not in (None, {})}


def _snapshots(store: Store, project: Path) -> Snapshots | None:
    """Return what keeps the project's files; None where nothing is kept on a disk."""
    if not isinstance(store, JsonlStore):
        return None
    return Snapshots(project, store.layout.snapshots, rules=Ignore, never=ALWAYS_LEFT_OUT)


def _user(environment: Mapping[str, str]) -> str:
    """Return the login name of the person whose kernel this is."""
    try:
        return environment.get("JUPYTERHUB_USER") or getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""


def _agents(config: Config) -> tuple[dict[str, dict[str, Any]], dict[str, Rules]]:
    given = {
        name: agent.model_dump(exclude_none=True, exclude={"permission"})
        for name, agent in config.agent.items()
    }
    rules = {name: merge(*_rules(agent.permission)) for name, agent in config.agent.items()}
    return given, rules

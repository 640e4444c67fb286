"""A session that this kernel has open, as front ends see it.

``LiveSession`` writes it; ``FollowedSession`` follows one that another kernel writes.
"""

import asyncio
import dataclasses
import datetime
import functools
import json
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from palimpsest.context.basis import Basis
from palimpsest.context.changes import choice
from palimpsest.context.policy import reserve, without_recall
from palimpsest.context.system import system
from palimpsest.context.texts import load_texts
from palimpsest.context.undo import suspended
from palimpsest.context.view import View
from palimpsest.loop.remembered import Memory
from palimpsest.loop.request import calibration
from palimpsest.loop.stage import Setup, Stage, Summariser
from palimpsest.model.model import Model, ToolCalled
from palimpsest.processor.loopguard import circles, fingerprint
from palimpsest.session.agents import Agent, find_agent
from palimpsest.session.api import Answer, PromptOptions, RecordsCallback, Snapshot
from palimpsest.session.archive import SessionArchive
from palimpsest.session.asks import Asks, Caller
from palimpsest.session.granting import grant
from palimpsest.session.history import limited
from palimpsest.session.log import SessionLog
from palimpsest.session.news import News
from palimpsest.session.notebooks import from_start
from palimpsest.session.policies import Configured
from palimpsest.session.runner import Run, Runner
from palimpsest.session.surroundings import read_surroundings
from palimpsest.session.wishes import Wish, WishAction
from palimpsest.store.journal import Journal
from palimpsest.store.store import Store
from palimpsest.tools.permissions import Rules
from palimpsest.tools.recall import RECALL
from palimpsest.tools.registry import Registry
from palimpsest.tools.tool import AskFunction, Namespace, PythonRunner, Tool
from palimpsest.transcript.decisions import Decision, Facts
from palimpsest.transcript.errors import ConfigError, StorageFailed, UserError
from palimpsest.transcript.events import Record, SessionUpdated
from palimpsest.transcript.ids import Ids
from palimpsest.transcript.messages import Messages, MessageTime, Origin, UserMessage
from palimpsest.transcript.parts import TextPart, ToolPart
from palimpsest.transcript.policies import Policy, RecoveryPolicy
from palimpsest.transcript.sessions import Session
from palimpsest.transcript.values import ModelInfo, ModelRef, Reply, ToolSpec

T = TypeVar("T")

TITLE_LENGTH = 60
DEFAULT_TITLE = "New session - "
VARIABLES = "variables"
"""Who may not use this tool is told of no variables either."""


@dataclass(frozen=True, slots=True)
class Services:
    """What every session of a workspace works with; wired by ``app``."""

    store: Store
    ids: Ids
    clock: Callable[[], int]
    jitter: Callable[[], float]
    root: Path
    cwd: Path
    registry: Registry
    model: Callable[[ModelInfo], Model]
    """The adapter that answers for a model."""
    info: Callable[[str, str | None], ModelInfo]
    """``(model id, variant)`` to what is known of it; raises ConfigError for nonsense."""
    default_model: Callable[[], str]
    count: Callable[[str], Callable[[str], int]]
    """Token counter by estimator name."""
    agents: dict[str, Agent]
    default_agent: str
    rules: Rules
    """Defaults, mode and configuration; an agent's own rules come after."""
    policy: Policy
    """The configured context policy; a session may choose another."""
    policy_fixed: Mapping[str, str] = field(default_factory=dict)
    """Numbers of it that an administrator fixed, and the file that says so."""
    history_limits: Mapping[str, Any] = field(default_factory=dict)
    """Turns that are sent: ``history_limit``, ``dm_history_limit`` and ``dms``, where configured."""
    user: str = ""
    """Login name of the person whose kernel this is; empty where nobody knows."""
    instruction_files: tuple[str, ...] = ()
    """Files that the configuration reads into every system prompt; absolute, may hold ``*``."""
    extra_system: str | None = None
    """Words that the configuration adds to every system prompt."""
    max_steps: int | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    """Of this kernel; what tools start gets it without its secrets."""
    python: Callable[[str], PythonRunner] | None = None
    """By session id; None where no kernel is."""
    namespace: Callable[[str], Namespace] | None = None


@dataclass(frozen=True, slots=True)
class Offered:
    """The tools of one step."""

    registry: Registry
    tools: tuple[Tool, ...]

    def resolve(self, name: str) -> Tool | str:
        """Return the tool, or a sentence for the model."""
        return self.registry.resolve(name, self.tools)

    def validate(self, tool: Tool, given: Any) -> Any:
        """Return the validated arguments, or a sentence for the model."""
        return self.registry.validate(tool, given)


class LiveSession:
    """A session that this kernel writes.

    Responsibilities: build the stage for a run; keep the system prompt byte-stable; answer
    front ends from any thread.
    """

    read_only = False

    def __init__(
        self, services: Services, journal: Journal, loop: asyncio.AbstractEventLoop
    ) -> None:
        self._services = services
        self._configured = Configured(services.policy, services.policy_fixed)
        self._loop = loop
        self.journal = journal
        session = journal.state.session
        if session is None:
            raise ValueError("A live session needs its session record first.")
        self._first_id = session.id
        self._moved = False
        self.log = SessionLog(journal)
        self.asks = Asks(session.id, self.log, services.ids)
        self.runner = Runner(
            session.id,
            self.log,
            services.ids,
            services.clock,
            self._stage,
            self._resolve,
            self._recovery,
        )
        self._news = News(self.log, services.ids, services.clock, services.environment)
        self._systems: dict[tuple[str, str, str | None], tuple[str, ...]] = {}
        self._memory = Memory()
        self._loop_answers: set[tuple[str, str]] = set()
        journal.subscribe(self._watch)

    @property
    def id(self) -> str:
        """The session's id; a fork's after another kernel took the session over."""
        return self.journal.session_id

    # What front ends call

    async def prompt(self, text: str, options: PromptOptions) -> Answer:
        """Send a prompt and await its own answer."""
        self._name_after(text)
        if self._services.user and options.origin.user is None:
            origin = options.origin.model_copy(update={"user": self._services.user})
            options = dataclasses.replace(options, origin=origin)
        return await self.runner.prompt(text, options)

    async def retry(self) -> Answer:
        """Try the newest turn again after it failed, and await its answer."""
        return await self.runner.retry()

    async def compact(self, focus: str | None = None, origin: Origin | None = None) -> Answer:
        """Put a summary in the place of what was said, and await it; joins one that runs."""
        return await self.runner.compact(focus, origin or Origin())

    async def wait_compaction(self) -> bool:
        """Return when no compaction runs and what it interrupted was tried again."""
        return await self.runner.wait_compaction()

    def wish(self, action: WishAction, name: str = "") -> Wish:
        """Pin, leave out or bring back what a name stands for, from the next request on."""
        made = self._on_loop(self._grant, action, name)
        if made is None:
            # It is about messages that a summary stands for, which were left in the log.
            self.journal.widen(lambda: self._services.store.load(self.id))
            made = self._on_loop(self._grant, action, name)
        if made is None:
            raise StorageFailed("The session cannot be read whole now; try again.")
        return made

    def _grant(self, action: WishAction, name: str) -> Wish | None:
        count = self._services.count(self.policy().estimator)
        new_id = functools.partial(self._services.ids.new, "dec")
        return grant(self.journal, new_id, count, action, name)

    def cancel(self, reason: str = "Stopped.") -> bool:
        """Stop the turn that runs and what waits in the inbox."""
        run = self.runner.run
        if run is not None:
            # At once, from whatever thread: a tool that blocks must not wait for the engine.
            run.abort.set(reason)
        return bool(self._on_loop(self.runner.cancel, reason)) or run is not None

    def reply(self, ask_id: str, reply: Reply) -> bool:
        """Answer a question."""
        return self.asks.reply(ask_id, reply)

    def withdraw(self, prompt_id: str) -> bool:
        """Take a waiting prompt back."""
        return bool(self._on_loop(self.runner.withdraw, prompt_id))

    def policy(self) -> Policy:
        """Return the context policy that holds from the next request on."""
        return self._configured.of(self.journal.read_state(lambda state: state.session))

    async def use_policy(self, *words: str | Policy) -> Policy:
        """Choose the context policy of this session, from the next request on; returns it."""
        session = self.log.state.session
        if session is not None:
            made = self._configured.choose(session, words)
            kept = choice(made) if made is not None else None
            self._update(session, policy_choice=kept, policy=None)
        return self.policy()

    def rename(self, notebook: str) -> None:
        """Go with the notebook to its new name."""
        session = self.log.state.session
        if session is not None:
            self._update(session, notebook=notebook)

    def subscribe(self, callback: RecordsCallback) -> Callable[[], None]:
        """Be told every record after it was written."""
        return self.journal.subscribe(callback)

    def snapshot(self) -> Snapshot:
        """Return the newest immutable picture."""
        return self.journal.read_state(Snapshot.of)

    def decisions(self) -> tuple[Decision, ...]:
        """Return what was scraped off for the model so far, in order."""
        return self.journal.read_state(lambda state: state.decisions)

    def basis(self) -> Basis:
        """Return what the next request would be made from; nothing is sent or written."""
        services = self._services
        messages, decisions, older = self.journal.read_state(
            lambda state: (state.messages(), state.decisions, state.older)
        )
        user = self._next_user(messages)
        agent = find_agent(user.agent, services.agents)
        info = services.info(user.model.id, user.model.variant)
        policy = self._limited(self.policy(), agent, messages)
        return Basis(
            session_id=self.id,
            view=View(
                messages, decisions, load_texts(messages, services.store.get_blob, decisions)
            ),
            system=self._known_system(agent, info, user),
            tools=self._specs(self._offered(agent, user), info),
            model=info,
            policy=policy,
            facts=Facts(
                now=services.clock(),
                estimator=policy.estimator,
                calibration=calibration(self.log.state, info),
                window=info.window,
                reserve=reserve(policy, info),
            ),
            count=services.count(policy.estimator),
            older=older,
        )

    def records_after(self, seq: int, only: Collection[str] = ()) -> Sequence[Record]:
        """Return the records after a sequence number, of some types or of all."""
        return tuple(self._services.store.read(self.id, after=seq, only=only))

    async def close(self) -> None:
        """Stop what runs, write a checkpoint, give the session back."""
        self.runner.compactions.close()
        self.runner.cancel("The session is closed.")
        await self.runner.wait_idle()
        await asyncio.to_thread(self.journal.close)

    def _on_loop(self, call: Callable[..., T], *arguments: Any) -> T:
        """Run a short call on the engine's loop and return what it says."""
        if self._here():
            return call(*arguments)
        future: Future[T] = Future()

        def run() -> None:
            try:
                future.set_result(call(*arguments))
            except BaseException as problem:  # noqa: BLE001  handed to the caller's thread
                future.set_exception(problem)

        self._loop.call_soon_threadsafe(run)
        return future.result(timeout=5.0)

    def _here(self) -> bool:
        try:
            return asyncio.get_running_loop() is self._loop
        except RuntimeError:
            return False

    def _watch(self, _records: Sequence[Record]) -> None:
        """Stop the turn when another kernel took the session over; on the writer thread."""
        if not self._moved and self.journal.session_id != self._first_id:
            self._moved = True
            run = self.runner.run
            if run is not None:
                run.abort.set(self.journal.failed or "Another kernel took this session over.")

    # What the runner and the loop call

    def _resolve(self, options: dict[str, Any]) -> tuple[str, ModelRef]:
        """Return agent and model of a prompt; raises ConfigError before anything is journaled."""
        services = self._services
        session = self.log.state.session
        name = (
            options.get("agent") or (session.agent if session else None) or services.default_agent
        )
        agent = find_agent(name, services.agents)
        kept = session.model.id if session is not None and session.model is not None else None
        wanted = options.get("model") or agent.model or kept or services.default_model()
        variant = options.get("variant")
        if variant is None and session is not None and session.model is not None and wanted == kept:
            variant = session.model.variant
        for tool in options.get("tools") or ():
            if tool not in services.registry.names:
                known = ", ".join(services.registry.names)
                raise ConfigError(f"There is no tool {tool!r}. Tools: {known}.")
        return agent.name, services.info(wanted, variant).ref

    def _stage(self, run: Run) -> Stage:
        services = self._services
        self._loop_answers.clear()
        return Stage(
            session_id=self.id,
            log=self.log,
            blobs=services.store,
            ids=services.ids,
            clock=services.clock,
            abort=run.abort,
            root=services.root,
            cwd=services.cwd,
            setup=self._setup,
            deliver=lambda: self.runner.deliver_steers(run),
            ask=lambda message_id, call_id, tool: self._asker(run, message_id, call_id, tool),
            guard=lambda message_id, call: self._guard(run, message_id, call),
            jitter=services.jitter,
            memory=self._memory,
            python=services.python(self.id) if services.python else None,
            namespace=self._namespace(),
            compactions=self.runner.compactions,
            extra={
                "environment": services.environment,
                "archive": SessionArchive(self.journal, services.store),
            },
        )

    async def _setup(self, user: UserMessage) -> Setup:
        services = self._services
        agent = find_agent(user.agent, services.agents)
        info = services.info(user.model.id, user.model.variant)
        state = self.log.state
        messages = state.messages()
        policy = suspended(messages, state.decisions, self._configured.of(state.session))
        policy = self._limited(policy, agent, messages)
        offered = self._offered(agent, user)
        self._remember(user)
        may_look = any(tool.name == VARIABLES for tool in offered)
        await self._news.tell(user, policy, self._namespace() if may_look else None)
        specs = self._specs(offered, info)
        if not any(spec.name == RECALL for spec in specs):
            policy = without_recall(policy)
        return Setup(
            agent=agent.name,
            model=services.model(info),
            info=info,
            policy=policy,
            count=services.count(policy.estimator),
            system=self._system(agent, info, user),
            specs=specs,
            offer=Offered(services.registry, offered),
            max_steps=user.max_steps or services.max_steps or agent.steps,
            summariser=self._summariser(policy.compact.model),
        )

    def _namespace(self) -> Namespace | None:
        """Return the way to the user's variables, where a kernel is."""
        found = self._services.namespace
        return found(self.id) if found is not None else None

    def _limited(self, policy: Policy, agent: Agent, messages: Messages) -> Policy:
        """Return the policy with the history limit that holds for this session's key."""
        services = self._services
        return limited(
            policy,
            services.history_limits,
            agent=agent.name,
            session=self.log.state.session,
            messages=messages,
            user=services.user,
        )

    def _recovery(self) -> RecoveryPolicy:
        """Return how long to wait for what; a policy that cannot be used is refused by the turn."""
        try:
            return self.policy().recovery
        except UserError:
            return self._services.policy.recovery

    def _summariser(self, name: str | None) -> Summariser | None:
        """Return the model that the policy names for summaries; one that there is none of says so."""
        if not name:
            return None
        try:
            info = self._services.info(name, None)
        except ConfigError as problem:
            return Summariser(name, problem=str(problem))
        return Summariser(name, self._services.model(info), info)

    def _next_user(self, messages: Messages) -> UserMessage:
        """Return who asks next: the prompt that is being answered, or one without options."""
        if self.runner.run is not None:
            for message in reversed(messages):
                if isinstance(message.info, UserMessage):
                    return message.info
        agent, model = self._resolve({})
        time = MessageTime(created=self._services.clock())
        return UserMessage(id="", session_id=self.id, time=time, agent=agent, model=model)

    def _offered(self, agent: Agent, user: UserMessage) -> tuple[Tool, ...]:
        services = self._services
        return tuple(services.registry.offered(services.rules + agent.rules, user.tools))

    def _specs(self, offered: Sequence[Tool], info: ModelInfo) -> tuple[ToolSpec, ...]:
        registry = self._services.registry
        return tuple(registry.spec(tool) for tool in offered) if info.tools else ()

    def _remember(self, user: UserMessage) -> None:
        session = self.log.state.session
        if session is not None and (session.agent, session.model) != (user.agent, user.model):
            self._update(session, agent=user.agent, model=user.model)

    def _system(self, agent: Agent, info: ModelInfo, user: UserMessage) -> tuple[str, ...]:
        """Return the system prompt, the same bytes for the session's whole life."""
        found = self._known_system(agent, info, user)
        return self._systems.setdefault((agent.name, info.ref.id, user.system), found)

    def _known_system(self, agent: Agent, info: ModelInfo, user: UserMessage) -> tuple[str, ...]:
        """Return the system prompt as it would be now; looking at it settles nothing."""
        key = (agent.name, info.ref.id, user.system)
        return (
            self._systems.get(key)
            or self._recorded_system(key)
            or self._new_system(agent, info, user)
        )

    def _recorded_system(self, key: tuple[str, str, str | None]) -> tuple[str, ...] | None:
        """Take the prompt of the newest request again, when it was for the same agent and model."""
        state = self.log.state
        request = state.request
        message = state.message(request.message_id) if request and request.message_id else None
        if request is None or message is None or request.model.ref.id != key[1]:
            return None
        if request.purpose != "step":
            return None  # what asks for a summary or a title is told another job
        parent = state.message(getattr(message.info, "parent_id", ""))
        if parent is None or not isinstance(parent.info, UserMessage):
            return None
        if (parent.info.agent, parent.info.system) != (key[0], key[2]):
            return None
        return tuple(json.loads(self._services.store.get_blob(request.system.sha256)))

    def _new_system(self, agent: Agent, info: ModelInfo, user: UserMessage) -> tuple[str, ...]:
        session = self.log.state.session
        services = self._services
        surroundings = read_surroundings(
            info.ref.id,
            services.cwd,
            services.root,
            from_start(session.notebook if session else None, services.cwd, services.root),
            session.time.created if session else services.clock(),
            services.instruction_files,
        )
        extra = (services.extra_system or "", agent.note or "", user.system or "")
        return system(surroundings, agent_prompt=agent.prompt, extra=extra)

    def _asker(self, run: Run, message_id: str, call_id: str, tool: str) -> AskFunction:
        caller = Caller(message_id, call_id, tool)

        def ask(
            permission: str,
            patterns: Sequence[str],
            *,
            title: str = "",
            always: Sequence[str] = (),
            diff: str | None = None,
        ) -> Awaitable[None]:
            return self.asks.ask(
                caller,
                permission,
                patterns,
                rules=self._rules(message_id),
                abort=run.abort,
                yes=run.yes,
                title=title,
                always=always,
                diff=diff,
            )

        return ask

    def _rules(self, message_id: str) -> Rules:
        message = self.log.state.message(message_id)
        name = getattr(message.info, "agent", None) if message is not None else None
        agent = self._services.agents.get(name or self._services.default_agent)
        return self._services.rules + (agent.rules if agent is not None else ())

    async def _guard(self, run: Run, message_id: str, call: ToolCalled) -> None:
        """Ask before a call that goes round in circles; the answer holds for the turn."""
        messages = self.log.state.messages()
        calls = _calls_of_turn(messages, upto=call.id)
        period = circles(calls)
        if period is None:
            return
        key = (call.tool, calls[-1])
        if key in self._loop_answers:
            return
        words = "the same call" if period == 1 else f"the same {period} calls"
        ask = self._asker(run, message_id, call.id, call.tool)
        await ask("doom_loop", [call.tool], title=f"The model repeats {words}. Go on?")
        self._loop_answers.add(key)

    def _name_after(self, text: str) -> None:
        """Give an unnamed session the first line of its first prompt as title."""
        session = self.log.state.session
        line = next((line.strip() for line in text.splitlines() if line.strip()), "")
        if session is None or not session.title.startswith(DEFAULT_TITLE) or not line:
            return
        title = line if len(line) <= TITLE_LENGTH else line[: TITLE_LENGTH - 1].rstrip() + "…"
        self._update(session, title=title)

    def _update(self, session: Session, **fields: Any) -> None:
        self.log.append(SessionUpdated(session=session.model_copy(update=fields)))


def default_title(now_ms: int) -> str:
    """Return the title of a session nobody has spoken in yet."""
    moment = datetime.datetime.fromtimestamp(now_ms / 1000, tz=datetime.UTC)
    return DEFAULT_TITLE + moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _turn_of(messages: Messages, call_id: str) -> int:
    """Return where the turn of a call begins, from the end, since it is mostly the newest."""
    found = False
    for at in range(len(messages) - 1, -1, -1):
        message = messages[at]
        found = found or any(
            isinstance(part, ToolPart) and part.call_id == call_id for part in message.parts
        )
        if (
            found
            and isinstance(message.info, UserMessage)
            and any(isinstance(part, TextPart) and not part.synthetic for part in message.parts)
        ):
            return at
    return 0


def _calls_of_turn(messages: Messages, *, upto: str) -> list[str]:
    calls: list[str] = []
    for message in messages[_turn_of(messages, upto) :]:
        for part in message.parts:
            if isinstance(part, ToolPart) and not (part.metadata or {}).get("failed_attempt"):
                calls.append(fingerprint(part.tool, part.state.input))
                if part.call_id == upto:
                    return calls
    return calls

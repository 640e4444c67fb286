"""Load hooks (functions that may change prompts, tool calls, summaries and requests) and call them safely.

A hook may return None and change nothing. One that fails, is slow or returns an invalid answer is skipped and
reported in one sentence, once per turn; the session continues as if it did not exist. Blocking functions run
in a thread, so that none of them blocks the engine.
"""

import asyncio
import copy
import functools
import importlib
import inspect
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import Any, TypeVar

from palimpsest.import_guard import from_anywhere, is_in_current_folder
from palimpsest.session.config.setting_files import PROJECT_ORIGIN
from palimpsest.session.extensions.hook_answers import InvalidHookResult
from palimpsest.tools.calls.error_containment import ExitAttempted, await_contained
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.session_record.hook_values import HOOK_NAMES, HOOK_RULE_PREFIX, HookName

MAX_HOOK_SECONDS = 10.0
"""Timeout of one call, since the user waits for the answer meanwhile; slower work belongs in a tool."""
ENTRY_POINT_GROUP = "palimpsest.hooks"
"""The entry point group in which installed packages declare hooks."""
CELL_ORIGIN = "a cell"
"""The origin of hooks that ``palimpsest.hook`` added."""
HOOK_MARK = "__palimpsest_hook__"
"""Attribute of a function that names the kind of hook it is."""
MAX_MESSAGE_CHARS = 200
"""Maximum characters of an exception's message that a failure quotes."""
MAX_THREADS = 16
"""Maximum number of threads of running hooks; further calls fail at once."""

Function = Callable[..., Any]
HookFunction = TypeVar("HookFunction", bound=Function)


@dataclass(frozen=True, slots=True)
class HookSource:
    """A hook as a settings file names it, before it is imported."""

    target: str
    """``package.module:function``."""
    name: HookName | None = None
    """The kind of hook; None where the function itself names it."""
    origin: str = ""
    refusal: str = ""
    """Why it must not be loaded although it is configured; empty where it may be."""


@dataclass(slots=True)
class Hook:
    """One loaded function and the kind of hook it serves, with counts of its calls and failures."""

    name: HookName
    label: str
    """The function's name; also part of the rule of its decisions."""
    function: Function
    origin: str
    calls: int = 0
    failures: int = 0
    problem: str = ""
    """The newest failure."""

    @property
    def rule(self) -> str:
        """The rule under which its decisions are journaled."""
        return f"{HOOK_RULE_PREFIX}{self.label}"


@dataclass(frozen=True, slots=True)
class HookStatus:
    """A hook as ``%agent hooks`` lists it."""

    name: str
    label: str
    origin: str
    calls: int
    failures: int
    problem: str


@dataclass(slots=True, eq=False)
class HookRegistry:
    """The hooks of a kernel: configured and installed ones, loaded once, and those of cells; each call has a timeout."""

    sources: Sequence[HookSource] = ()
    with_packages: bool = True
    """Whether the hooks of installed packages are loaded too."""
    refusal_reason: Callable[[str], str] = lambda _origin: ""
    """Returns, for the origin of a hook, why it must not be loaded any more; empty where it may be."""
    fixed_by: str = ""
    """The origin of an administrator's lock on the hooks, under which neither cells nor packages add any."""
    seconds: float = MAX_HOOK_SECONDS
    hooks: list[Hook] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    """Sentences about hooks that could not be loaded; a turn reports each once, ``%agent hooks`` lists them all."""
    _reported_count: int = 0
    """Number of ``problems`` that a turn has reported."""
    _is_loaded: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _running_threads: int = 0
    """Threads of hooks that have not returned, those past their timeout included."""

    def add(self, name: HookName, function: Function, origin: str, label: str = "") -> None:
        """Add a function; it replaces one of the same kind and label, so that a cell can be run again.

        Raises UserError for a cell's hook where an administrator fixed the hooks.
        """
        if origin == CELL_ORIGIN:
            self.refuse_fixed()
        hook = Hook(name, label or label_of(function), function, origin)
        with self._lock:
            other_hooks = [h for h in self.hooks if (h.name, h.label) != (name, hook.label)]
            self.hooks = [*other_hooks, hook]

    def refuse_fixed(self) -> None:
        """Raise UserError where an administrator fixed the hooks."""
        if self.fixed_by:
            raise UserError(f"The hooks are fixed by the {self.fixed_by}.")

    def remove(self, label: str) -> bool:
        """Remove the hooks of this label; returns whether there were any."""
        with self._lock:
            remaining_hooks = [hook for hook in self.hooks if hook.label != label]
            is_found = len(remaining_hooks) < len(self.hooks)
            self.hooks = remaining_hooks
        return is_found

    def hooks_of(self, name: str) -> tuple[Hook, ...]:
        """Return the hooks of one kind, in the order in which they were added."""
        return tuple(hook for hook in self.hooks if hook.name == name)

    def status(self) -> tuple[HookStatus, ...]:
        """Return every hook with its counts and newest failure."""
        return tuple(
            HookStatus(hook.name, hook.label, hook.origin, hook.calls, hook.failures, hook.problem)
            for hook in self.hooks
        )

    def take_problems(self) -> Sequence[str]:
        """Return the loading problems that no turn has reported yet, and mark them as reported."""
        problems = self.problems[self._reported_count :]
        self._reported_count += len(problems)
        return problems

    async def load(self) -> None:
        """Import configured and installed hooks in a thread; a second call does nothing."""
        if self._is_loaded:
            return
        self._is_loaded = True
        try:
            async with asyncio.timeout(self.seconds):
                await asyncio.to_thread(self._load_hooks)
        except TimeoutError:
            problem = f"Importing hooks took longer than {self.seconds:g} seconds; they come later."
            self.problems.append(problem)

    async def call(self, hook: Hook, event: Any) -> Any:
        """Call a hook and return its answer; raises HookFailed, whose message ends a sentence about the hook."""
        hook.calls += 1
        event_copy = copy.copy(event)
        try:
            async with asyncio.timeout(self.seconds):
                if inspect.iscoroutinefunction(hook.function):
                    return await await_contained(hook.function(event_copy))
                return await self._in_thread(hook.function, event_copy)
        except TimeoutError:
            raise HookFailed(f"took longer than {self.seconds:g} seconds") from None
        except HookFailed:
            raise
        except ExitAttempted as escaped:
            raise HookFailed(f"failed: {escaped}") from None
        except Exception as error:  # noqa: BLE001  a user's hook may raise anything
            message = " ".join(str(error).split())[:MAX_MESSAGE_CHARS]
            raise HookFailed(f"failed: {type(error).__name__}: {message}".rstrip(": ")) from None

    async def _in_thread(self, function: Function, event: Any) -> Any:
        """Run a blocking function in its own thread; after a timeout its thread is abandoned."""
        if self._running_threads >= MAX_THREADS:
            raise HookFailed("was not asked, because too many hooks hang")
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()

        def settle(set_outcome: Callable[[Any], None], value: Any) -> None:
            self._running_threads -= 1
            if not future.done():
                set_outcome(value)

        def run() -> None:
            try:
                answer = function(event)
            except BaseException as error:  # noqa: BLE001  passed to the caller that awaits it
                hand_over(future.set_exception, _ordinary_exception(error))
            else:
                hand_over(future.set_result, answer)

        def hand_over(set_outcome: Callable[[Any], None], value: Any) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(settle, set_outcome, value)

        self._running_threads += 1
        threading.Thread(target=run, name="palimpsest-hook", daemon=True).start()
        answer = await future
        return await await_contained(answer) if inspect.isawaitable(answer) else answer

    def _load_hooks(self) -> None:
        for source in self.sources:
            reason = source.refusal or self.refusal_reason(source.origin)
            if reason:
                self.problems.append(f"The hook {source.target!r} is not used: {reason}")
                continue
            # Only a project that the user trusts may name modules of its own folder.
            load_function = functools.partial(_import_target, source.target)
            if source.origin.startswith(PROJECT_ORIGIN):
                load_function = functools.partial(_import_from_anywhere, source.target)
            self._add_or_report(source.target, source.name, source.origin, load_function)
        if self.with_packages and not self.fixed_by:
            for entry in entry_points(group=ENTRY_POINT_GROUP):
                if entry.dist is not None and is_in_current_folder(
                    str(entry.dist.locate_file("x"))
                ):
                    continue  # planted beside the notebook, not installed by the user
                package = entry.dist.name if entry.dist is not None else "a package"
                name = entry.name if entry.name in HOOK_NAMES else None
                self._add_or_report(entry.value, name, f"package {package}", entry.load)

    def _add_or_report(
        self, target: str, name: Any, origin: str, load_function: Callable[[], Any]
    ) -> None:
        try:
            self._add_loaded(load_function(), name, origin, target)
        except UserError as problem:
            self.problems.append(f"The hook {target!r} ({origin}) is not used: {problem}")
        except BaseException as error:  # noqa: BLE001  a foreign module may raise anything
            failure = f"{type(error).__name__}: {error}"
            self.problems.append(f"The hook {target!r} ({origin}) cannot be loaded: {failure}.")

    def _add_loaded(self, function: Any, name: Any, origin: str, target: str) -> None:
        if not callable(function):
            raise UserError("it is not a function.")
        hook_name = function.__name__ if getattr(function, "__name__", "") in HOOK_NAMES else None
        hook_kind = name or getattr(function, HOOK_MARK, None) or hook_name
        if hook_kind not in HOOK_NAMES:
            raise UserError(
                f"nothing says which hook it is; name it in a table, such as hooks.tool_before = {target!r}."
            )
        self.add(hook_kind, function, origin, target.partition(":")[2] or target)


class HookFailed(Exception):
    """A hook failed; the message completes a sentence that begins with the hook's name."""


class SessionHooks:
    """Calls hooks for one session, and collects the notices for the user about those that failed."""

    def __init__(self, registry: HookRegistry, session_id: Callable[[], str]) -> None:
        self.registry = registry
        self.session_id = session_id
        self._reported_rules: set[str] = set()
        """Rules of the hooks whose failure was reported in this turn."""
        self._notices: list[tuple[str, str]] = []

    def has_hook(self, *names: str) -> bool:
        """Return whether there is a hook of one of these kinds."""
        return any(hook.name in names for hook in self.registry.hooks)

    async def turn_began(self) -> None:
        """Begin a turn: load hooks where that is still to be done, and allow each failure to be reported again."""
        self._reported_rules.clear()
        await self.registry.load()
        self.notify("hook", *self.registry.take_problems())

    def notify(self, subject: str, *sentences: str) -> None:
        """Queue notices for the user."""
        self._notices += [(subject, sentence) for sentence in sentences]

    def take_notices(self) -> tuple[tuple[str, str], ...]:
        """Return the queued notices as (subject, sentence) pairs, and empty the queue."""
        notices, self._notices = tuple(self._notices), []
        return notices

    async def call_hook(self, hook: Hook, event: Any, validate: Callable[[Any], Any]) -> Any:
        """Call one hook and validate its answer; None where it returned none or was skipped."""
        try:
            answer = await self.registry.call(hook, event)
            return None if answer is None else validate(answer)
        except HookFailed as failed:
            self._skip(hook, str(failed))
        except InvalidHookResult as invalid:
            self._skip(hook, f"answered what cannot be used: {invalid}")
        except Exception as broken:  # noqa: BLE001  an answer may be an object whose methods raise anything
            self._skip(hook, f"answered what cannot be used: {type(broken).__name__}")
        return None

    def note_skipped(self, rule: str, reason: str) -> None:
        """Record that the answer of the hook with this rule could not be used."""
        for hook in self.registry.hooks:
            if hook.rule == rule:
                self._skip(hook, f"answered what cannot be used: {reason}")
                return

    def _skip(self, hook: Hook, reason: str) -> None:
        hook.failures += 1
        hook.problem = reason
        if hook.rule not in self._reported_rules:
            self._reported_rules.add(hook.rule)
            self.notify("hook", f"The hook {hook.label} ({hook.name}) {reason}. It was skipped.")


def label_of(function: Function) -> str:
    """Return the name under which a function appears in rules and lists."""
    return str(getattr(function, "__name__", type(function).__name__))


def mark_hook(function: HookFunction, name: str) -> HookFunction:
    """Mark a function as a hook of a kind; raises UserError for an unknown kind or what is not callable."""
    if name not in HOOK_NAMES:
        raise UserError(f"There is no hook {name!r}. Hooks: {', '.join(HOOK_NAMES)}.")
    if not callable(function):
        raise UserError(f"{function!r} is no function, so it cannot be a hook.")
    setattr(function, HOOK_MARK, name)
    return function


def _import_target(target: str) -> Any:
    """Return what a ``module:function`` name stands for."""
    module, colon, path = target.partition(":")
    if not colon or not all(map(str.isidentifier, (*module.split("."), *path.split(".")))):
        raise UserError(f"{target!r} is not of the form 'package.module:function'.")
    target_object: Any = importlib.import_module(module)
    for name in path.split("."):
        if not hasattr(target_object, name):
            raise UserError(f"there is no {path!r} in {module!r}.")
        target_object = getattr(target_object, name)
    return target_object


def _import_from_anywhere(target: str) -> Any:
    """Find a hook in the installed packages, or else in the current folder."""
    try:
        return _import_target(target)
    except ModuleNotFoundError:
        with from_anywhere():
            return _import_target(target)


def _ordinary_exception(error: BaseException) -> Exception:
    """Return an exception that a future can carry, so that sys.exit in a hook does not end the kernel."""
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    return RuntimeError(type(error).__name__)


REGISTRIES: list[HookRegistry] = []
"""The hook registries of the open kernels of this process."""
CELL_HOOKS: list[tuple[HookName, Function]] = []
"""Hooks that cells and scripts added, also for kernels that open later."""


def hook(name: HookName) -> Callable[[HookFunction], HookFunction]:
    """Register a function as a hook of the sessions of this kernel; a decorator.

    Names: ``prompt``, ``system``, ``tool_before``, ``tool_after``, ``compacting``, ``decide`` and
    ``request``. Running the cell again replaces the function; ``unhook`` removes it.
    """

    def add(function: HookFunction) -> HookFunction:
        marked_function = mark_hook(function, name)
        for registry in REGISTRIES:
            registry.refuse_fixed()
        same = (name, label_of(function))
        CELL_HOOKS[:] = [entry for entry in CELL_HOOKS if (entry[0], label_of(entry[1])) != same]
        CELL_HOOKS.append((name, marked_function))
        for registry in REGISTRIES:
            registry.add(name, marked_function, CELL_ORIGIN)
        return marked_function

    return add


def unhook(function: Function | str) -> bool:
    """Remove a hook function from the sessions of this kernel; returns whether it was one."""
    label = function if isinstance(function, str) else label_of(function)
    remaining = [entry for entry in CELL_HOOKS if label_of(entry[1]) != label]
    is_found = len(remaining) < len(CELL_HOOKS)
    CELL_HOOKS[:] = remaining
    removed = [registry.remove(label) for registry in REGISTRIES]
    return is_found or any(removed)


def open_registry(
    sources: Sequence[HookSource], fixed_by: str, refusal_reason: Callable[[str], str]
) -> HookRegistry:
    """Return the hook registry of a kernel that opens; cells' hooks are included unless hooks are fixed."""
    registry = HookRegistry(sources, refusal_reason=refusal_reason, fixed_by=fixed_by)
    for name, function in CELL_HOOKS if not fixed_by else ():
        registry.add(name, function, CELL_ORIGIN)
    REGISTRIES.append(registry)
    return registry


def close_registry(registry: HookRegistry) -> None:
    """Remove the hook registry of a kernel that closes."""
    if registry in REGISTRIES:
        REGISTRIES.remove(registry)

"""Read the user's variables while a prompt is typed: no code of the user runs, and no cell is waited for.

Border: lives on the engine thread. Names, types and shapes are read where it is called; a description is made on the
main thread while that is free, so that nothing changes meanwhile.
"""

import asyncio
from collections.abc import Callable, Sequence
from types import BuiltinFunctionType, FunctionType
from typing import Any, Protocol

from palimpsest.frontends.kernel.jobs import Job, ReadJob
from palimpsest.frontends.kernel.plain_values import describable
from palimpsest.frontends.kernel.reachable_values import look_up, named_at, user_variables
from palimpsest.frontends.kernel.variable_types import brief_of, is_module
from palimpsest.frontends.kernel.variables import described, list_variables
from palimpsest.session.interfaces.prompt_mentions import KernelIsBusy, NotCounted
from palimpsest.tools.tool import TYPES, ShownVariables, VariableInfo

_DEFINED = (FunctionType, BuiltinFunctionType, type)
WAIT_SECONDS = 1.0
"""A main thread that looks free and takes longer is busy with something else, such as a widget."""


class FreeThread(Protocol):
    """The main thread as this module needs it; ``MainThread`` implements it."""

    shell: Any

    @property
    def free(self) -> bool:
        """Whether a job would be done soon."""
        ...

    def post(self, job: Job) -> None:
        """Have a job done; from any thread."""
        ...


class QuietReader:
    """Reads variables while a prompt is typed (session.interfaces.prompt_mentions.QuietNamespace)."""

    def __init__(self, main_thread: FreeThread, session_id: str) -> None:
        self._main_thread = main_thread
        self._session_id = session_id

    def names(self) -> Sequence[tuple[str, str]]:
        """Return each variable's name, and its type and shape; the newest first, functions and classes last."""
        found = user_variables(self._main_thread.shell)[::-1]
        # What is imported or defined is named more rarely than data.
        ordered = sorted(found, key=lambda one: type(one[1]) in _DEFINED)
        return [(name, _brief(value)) for name, value in ordered]

    def brief(self, path: str) -> str:
        """Return type and shape of a variable; empty for a path into one. Raises NotFound."""
        value, ends = named_at(self._main_thread.shell, path)
        return _brief(value) if ends else ""

    async def list(self, shown: ShownVariables = TYPES) -> Sequence[VariableInfo]:
        """Describe every variable, with values where that runs no code of the user."""
        found: Sequence[VariableInfo] = await self._read(
            lambda shell: list_variables(shell, _quietly(shell, shown))
        )
        return found

    async def describe(self, name: str, max_chars: int = 4_000) -> str:
        """Describe one variable at length; raises NotFound, NotCounted and KernelIsBusy."""

        def look(shell: Any) -> str:
            value = look_up(shell, name)
            return described(shell, name, describable(value), max_chars)

        text: str = await self._read(look)
        return text

    async def _read(self, read: Callable[[Any], Any]) -> Any:
        if not self._main_thread.free:
            raise KernelIsBusy
        job = ReadJob(self._session_id, read)
        self._main_thread.post(job)
        try:
            # What was not begun when the time is over is not begun any more.
            return await asyncio.wait_for(asyncio.wrap_future(job.future), WAIT_SECONDS)
        except TimeoutError:
            raise KernelIsBusy from None


def _brief(value: Any) -> str:
    try:
        return "module" if is_module(value) else brief_of(value)
    except Exception:  # noqa: BLE001  # a cell may change the value meanwhile
        return ""


def _quietly(shell: Any, shown: ShownVariables) -> ShownVariables:
    """Return what may be shown: of the named variables, the values of those that are plain."""
    namespace = user_variables(shell)
    named = [name for name, value in namespace if name in shown.named and _is_plain(value)]
    return ShownVariables(shown.detail, frozenset(named))


def _is_plain(value: Any) -> bool:
    try:
        return describable(value) is value
    except NotCounted:
        return False

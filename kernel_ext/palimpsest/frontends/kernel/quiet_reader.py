"""Read the user's variables while a prompt is typed, without running user code or waiting for a cell.

Border: used on the engine thread. Names, types and shapes are read on the calling thread; a description is built on the
main thread while that is free, so that no value changes meanwhile.
"""

import asyncio
from collections.abc import Callable, Sequence
from types import BuiltinFunctionType, FunctionType
from typing import Any

from palimpsest.frontends.kernel.jobs import ReadJob
from palimpsest.frontends.kernel.main_thread import MainThread, ResultT
from palimpsest.frontends.variables.plain_values import describable_value
from palimpsest.frontends.variables.reachable_values import (
    user_variables,
    value_at,
    variable_of_path,
)
from palimpsest.frontends.variables.variable_types import is_module, short_description
from palimpsest.frontends.variables.variables import describe_value, list_variables
from palimpsest.session.interfaces.prompt_mentions import KernelIsBusy, NotCounted
from palimpsest.tools.tool import NAMES_AND_TYPES, ShownVariables, VariableInfo

_FUNCTION_AND_CLASS_TYPES = (FunctionType, BuiltinFunctionType, type)
MAX_WAIT_SECONDS = 1.0
"""Maximum time for a description; a main thread that takes longer is busy, for example with a widget."""


class QuietReader:
    """Reads variables while a prompt is typed (session.interfaces.prompt_mentions.QuietNamespace)."""

    def __init__(self, main_thread: MainThread, session_id: str) -> None:
        self._main_thread = main_thread
        self._session_id = session_id

    def names(self) -> Sequence[tuple[str, str]]:
        """Return name and type with shape of each variable, newest first, functions and classes last."""
        variables = user_variables(self._main_thread.shell)[::-1]
        # Functions and classes are mentioned less often than data.
        variables.sort(key=lambda pair: type(pair[1]) in _FUNCTION_AND_CLASS_TYPES)
        return [(name, _type_and_shape(value)) for name, value in variables]

    def type_and_shape(self, path: str) -> str:
        """Return type and shape of a variable; empty for a path into one. Raises NotFound."""
        value, is_variable = variable_of_path(self._main_thread.shell, path)
        return _type_and_shape(value) if is_variable else ""

    async def list(self, shown: ShownVariables = NAMES_AND_TYPES) -> Sequence[VariableInfo]:
        """Return a description of every variable, with values where that runs no user code."""
        return await self._read_quietly(
            lambda shell: list_variables(shell, _only_plain_values(shell, shown))
        )

    async def description_of(self, name: str, max_chars: int = 4_000) -> str:
        """Return a detailed description of one variable; raises NotFound, NotCounted and KernelIsBusy."""
        return await self._read_quietly(
            lambda shell: describe_value(
                shell, name, describable_value(value_at(shell, name)), max_chars
            )
        )

    async def _read_quietly(self, read_variables: Callable[[Any], ResultT]) -> ResultT:
        if not self._main_thread.is_free:
            raise KernelIsBusy
        job = ReadJob(self._session_id, read_variables)
        self._main_thread.post(job)
        try:
            # A job that was not started within the time is cancelled.
            result: ResultT = await asyncio.wait_for(
                asyncio.wrap_future(job.future), MAX_WAIT_SECONDS
            )
        except TimeoutError:
            raise KernelIsBusy from None
        return result


def _type_and_shape(value: Any) -> str:
    try:
        return "module" if is_module(value) else short_description(value)
    except Exception:  # noqa: BLE001  # a cell may change the value meanwhile
        return ""


def _only_plain_values(shell: Any, shown: ShownVariables) -> ShownVariables:
    """Return the request with values only for those named variables whose description runs no user code."""
    variables = user_variables(shell)
    names = [name for name, value in variables if name in shown.readable_names and _is_plain(value)]
    return ShownVariables(shown.detail, frozenset(names))


def _is_plain(value: Any) -> bool:
    try:
        return describable_value(value) is value
    except NotCounted:
        return False

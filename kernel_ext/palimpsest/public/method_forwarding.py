"""Forward a method of an object to one of its parts, with the same name, docstring and parameters.

Border: for an object that is made of parts and presented as one; a part knows nothing of it.
"""

import functools
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from palimpsest.session.engine.thread import EngineThread
from palimpsest.session.interfaces.project_sessions import ProjectSessions

W = TypeVar("W")
P = ParamSpec("P")
T = TypeVar("T")
R = TypeVar("R")


class SessionHolder(Protocol):
    """What the parts of a session object need from the application; ``App`` implements it."""

    @property
    def engine(self) -> EngineThread:
        """The thread that sessions run on."""
        ...

    @property
    def workspace(self) -> ProjectSessions:
        """The sessions of the project."""
        ...

    @property
    def in_kernel(self) -> bool:
        """Whether a kernel runs the agent's Python, on the thread that a blocking call would block."""
        ...


def forwarded(
    part: Callable[[W], T], method: Callable[Concatenate[T, P], R]
) -> Callable[Concatenate[W, P], R]:
    """Return a method that calls a part's method."""

    @functools.wraps(method)
    def call(whole: Any, /, *arguments: P.args, **named: P.kwargs) -> R:
        return method(part(whole), *arguments, **named)

    return call

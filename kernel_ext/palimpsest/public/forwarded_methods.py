"""Methods of ``Session`` that one of its parts carries out, with the part's docstring and parameters."""

import functools
from collections.abc import Callable
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, cast

W = TypeVar("W")
P = ParamSpec("P")
T = TypeVar("T")
R = TypeVar("R")


def forwarded_later(
    part: Callable[[W], T], method: Callable[[], Callable[Concatenate[T, P], R]]
) -> Callable[Concatenate[W, P], R]:
    """Return a method that calls a part's method, with the same name, docstring and parameters.

    ``method`` imports the part's class, at the first access only.
    """
    return cast("Callable[Concatenate[W, P], R]", _ForwardedLater(part, method))


class _ForwardedLater(Generic[W, T, P, R]):
    """A descriptor that replaces itself in the class by the method at the first access."""

    def __init__(
        self, part: Callable[[W], T], method: Callable[[], Callable[Concatenate[T, P], R]]
    ) -> None:
        self._part = part
        self._method = method

    def __set_name__(self, owner: type, name: str) -> None:
        self._owner, self._name = owner, name

    def __get__(self, instance: W | None, owner: type) -> Any:
        part, method = self._part, self._method()

        @functools.wraps(method)
        def call(instance: W, /, *arguments: P.args, **named: P.kwargs) -> R:
            return method(part(instance), *arguments, **named)

        setattr(self._owner, self._name, call)
        return getattr(owner if instance is None else instance, self._name)

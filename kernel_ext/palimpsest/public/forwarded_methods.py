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

    The part's class is not imported before somebody looks at it: ``method`` does that.
    """
    return cast("Callable[Concatenate[W, P], R]", _ForwardedLater(part, method))


class _ForwardedLater(Generic[W, T, P, R]):
    """Stands in a class for a method, and takes its place with the method at the first look."""

    def __init__(
        self, part: Callable[[W], T], method: Callable[[], Callable[Concatenate[T, P], R]]
    ) -> None:
        self._part = part
        self._method = method

    def __set_name__(self, owner: type, name: str) -> None:
        self._home, self._name = owner, name

    def __get__(self, whole: W | None, owner: type) -> Any:
        part, method = self._part, self._method()

        @functools.wraps(method)
        def call(whole: W, /, *arguments: P.args, **named: P.kwargs) -> R:
            return method(part(whole), *arguments, **named)

        setattr(self._home, self._name, call)
        return getattr(owner if whole is None else whole, self._name)

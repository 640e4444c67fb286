"""Methods of ``Session`` that one of its parts carries out, with the part's docstring and parameters."""

import functools
from collections.abc import Callable
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, cast

W = TypeVar("W")
P = ParamSpec("P")
T = TypeVar("T")
R = TypeVar("R")


def forwarded_method(
    get_part: Callable[[W], T], import_method: Callable[[], Callable[Concatenate[T, P], R]]
) -> Callable[Concatenate[W, P], R]:
    """Return a method that calls a part's method, with the same name, docstring and parameters.

    ``import_method`` imports the part's class, at the first access only.
    """
    return cast("Callable[Concatenate[W, P], R]", _ForwardedMethod(get_part, import_method))


class _ForwardedMethod(Generic[W, T, P, R]):
    """A descriptor that replaces itself in the class by the method at the first access."""

    def __init__(
        self,
        get_part: Callable[[W], T],
        import_method: Callable[[], Callable[Concatenate[T, P], R]],
    ) -> None:
        self._part = get_part
        self._method = import_method

    def __set_name__(self, owner: type, name: str) -> None:
        self._owner, self._name = owner, name

    def __get__(self, instance: W | None, owner: type) -> Any:
        get_part, import_method = self._part, self._method()

        @functools.wraps(import_method)
        def call(instance: W, /, *arguments: P.args, **named: P.kwargs) -> R:
            return import_method(get_part(instance), *arguments, **named)

        setattr(self._owner, self._name, call)
        return getattr(owner if instance is None else instance, self._name)

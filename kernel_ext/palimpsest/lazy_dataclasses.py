"""Dataclasses whose functions are made when they are first called.

``dataclasses`` compiles six functions for each class when it is defined. The package has hundreds of such classes, most
of which a process never uses, so that this took a third of the start of a command. Here a class is the same, its
``__init__`` is compiled at its first call, and what compares and shows its values is not compiled at all.
Border: the standard library only.
"""

import dataclasses
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

Getter = Callable[[Any], tuple[Any, ...]]
_PREFIX = "_default_"
"""Before the name of a field: the name of its default in the compiled function."""


class _Made:
    """The default of an argument whose value a factory makes."""

    def __repr__(self) -> str:
        return "<factory>"


_MISSING = _Made()


def _decorated(
    plain: type | None = None,
    /,
    *,
    frozen: bool = False,
    slots: bool = False,
    eq: bool = True,
    repr: bool = True,  # noqa: A002 - the name in dataclasses
    kw_only: bool = False,
) -> Any:
    """Return a class, or a decorator, as ``dataclasses.dataclass`` does.

    >>> @dataclass(frozen=True)
    ... class Point:
    ...     x: int
    ...     y: int = 0
    >>> Point(1), Point(1) == Point(1, 0), len({Point(1), Point(1, 0)})
    (Point(x=1, y=0), True, 1)
    """

    def decorate(cls: type) -> type:
        explicit = frozenset(cls.__dict__)
        # Without these three nothing is compiled.
        lean: Any = dataclasses.dataclass(
            init=False, repr=False, eq=False, slots=slots, kw_only=kw_only
        )
        made: Any = lean(cls)
        fields = dataclasses.fields(made)
        for name, function in {
            **_first_call(made, frozen=frozen),
            **(_shown(fields) if repr else {}),
            **(_compared(fields) if eq else {}),
        }.items():
            if name not in explicit:
                setattr(made, name, function)
        if eq and ("__hash__" not in explicit or ("__eq__" in explicit and made.__hash__ is None)):
            made.__hash__ = _hash_of(fields) if frozen else None
        if frozen:
            _freeze(made, fields, explicit, slots=slots)
        result: type = made
        return result

    return decorate if plain is None else decorate(plain)


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:
    dataclass = _decorated


class _LazySignature:
    """The signature of a class, for help and completion: that of its ``__init__``, which is compiled then."""

    def __init__(self, made: type, compiled: Callable[[], Callable[..., None]]) -> None:
        self._made = made
        self._compiled = compiled

    def __get__(self, instance: object, owner: type) -> inspect.Signature:
        if instance is not None or owner is not self._made:
            raise AttributeError("__signature__")
        signature = inspect.signature(self._compiled())
        return signature.replace(parameters=list(signature.parameters.values())[1:])


def _first_call(made: type, *, frozen: bool) -> Mapping[str, Any]:
    """Return an ``__init__`` that replaces itself by the compiled one when it is called."""

    def compiled() -> Callable[..., None]:
        if made.__dict__["__init__"] is __init__:
            made.__init__ = _compiled_init(made, frozen=frozen)  # type: ignore[misc]
        init: Callable[..., None] = made.__dict__["__init__"]
        return init

    def __init__(self: object, *arguments: Any, **named: Any) -> None:  # noqa: N807
        compiled()(self, *arguments, **named)

    return {"__init__": __init__, "__signature__": _LazySignature(made, compiled)}


def _compiled_init(made: Any, *, frozen: bool) -> Callable[..., None]:
    every = [*made.__dataclass_fields__.values()]
    if len(every) != len(dataclasses.fields(made)) and any("InitVar" in str(one) for one in every):
        raise TypeError(f"{made.__qualname__} has an InitVar, which a lazy dataclass has not.")
    namespace: dict[str, Any] = {"_set": object.__setattr__, "_missing": _MISSING}
    ordered: list[str] = []
    named: list[str] = []
    lines: list[str] = []
    for field in dataclasses.fields(made):
        name, default = field.name, f"{_PREFIX}{field.name}"
        has_factory = field.default_factory is not dataclasses.MISSING
        value = name
        if has_factory:
            namespace[default] = field.default_factory
            value = (
                f"{default}() if {name} is _missing else {name}" if field.init else f"{default}()"
            )
        elif field.default is not dataclasses.MISSING:
            namespace[default] = field.default
            value = name if field.init else default
        elif not field.init:
            continue
        if field.init:
            argument = f"{name}=_missing" if has_factory else f"{name}={default}"
            (named if field.kw_only else ordered).append(argument if default in namespace else name)
        lines.append(f"_set(_self, {name!r}, {value})" if frozen else f"_self.{name} = {value}")
    if hasattr(made, "__post_init__"):
        lines.append("_self.__post_init__()")
    arguments = ", ".join(["_self", *ordered, *(["*", *named] if named else [])])
    body = "\n ".join(lines or ["pass"])
    exec(f"def __init__({arguments}):\n {body}", namespace)
    init: Callable[..., None] = namespace["__init__"]
    init.__qualname__ = f"{made.__qualname__}.__init__"
    init.__module__ = made.__module__
    init.__annotations__ = {
        field.name: field.type for field in dataclasses.fields(made) if field.init
    }
    return init


def _values_of(names: Sequence[str]) -> Getter:
    """Return a function that returns the values of fields."""
    if len(names) > 1:
        return attrgetter(*names)
    if not names:
        return lambda _value: ()
    get = attrgetter(names[0])
    return lambda value: (get(value),)


def _compared(fields: Iterable["dataclasses.Field[Any]"]) -> Mapping[str, Any]:
    values = _values_of([field.name for field in fields if field.compare])

    def __eq__(self: object, other: object) -> bool:  # noqa: N807
        return values(self) == values(other) if type(other) is type(self) else NotImplemented

    return {"__eq__": __eq__}


def _hash_of(fields: Iterable["dataclasses.Field[Any]"]) -> Callable[[object], int]:
    values = _values_of(
        [field.name for field in fields if (field.compare if field.hash is None else field.hash)]
    )

    def __hash__(self: object) -> int:  # noqa: N807
        return hash(values(self))

    return __hash__


def _shown(fields: Iterable["dataclasses.Field[Any]"]) -> Mapping[str, Any]:
    names = [field.name for field in fields if field.repr]

    @recursive_repr()
    def __repr__(self: object) -> str:  # noqa: N807
        shown = ", ".join([f"{name}={getattr(self, name)!r}" for name in names])
        return f"{type(self).__qualname__}({shown})"

    return {"__repr__": __repr__}


def _freeze(
    made: Any,
    fields: Sequence["dataclasses.Field[Any]"],
    explicit: frozenset[str],
    *,
    slots: bool,
) -> None:
    names = frozenset(field.name for field in fields)

    def __setattr__(self: object, name: str, value: object) -> None:  # noqa: N807
        if type(self) is made or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(made, self).__setattr__(name, value)

    def __delattr__(self: object, name: str) -> None:  # noqa: N807
        if type(self) is made or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(made, self).__delattr__(name)

    made.__setattr__, made.__delattr__ = __setattr__, __delattr__
    if slots and "__getstate__" not in explicit:
        made.__getstate__, made.__setstate__ = _state_of, _set_state


def _state_of(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _set_state(self: Any, state: Sequence[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)

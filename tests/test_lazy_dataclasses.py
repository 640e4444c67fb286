"""A lazy dataclass is what ``dataclasses`` makes: in its values, errors, comparisons, texts, copies and signature."""

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from palimpsest import lazy_dataclasses

EAGER: Any = dataclasses.dataclass
LAZY: Any = lazy_dataclasses.dataclass
KINDS: list[dict[str, bool]] = [
    {"frozen": frozen, "slots": slots, "eq": eq, "repr": text}
    for frozen in (False, True)
    for slots in (False, True)
    for eq in (False, True)
    for text in (False, True)
]


def classes(decorate: Any, kind: dict[str, bool]) -> tuple[type, type, type]:
    """Return a class, one that inherits from it, and one with its own functions."""

    @decorate(**kind)
    class Plain:
        """A value."""

        first: int
        second: str = "two"
        third: list[int] = dataclasses.field(default_factory=list, repr=False)
        fourth: int = dataclasses.field(default=4, compare=False)
        fifth: tuple[int, ...] = dataclasses.field(default=(), kw_only=True)
        made: list[int] = dataclasses.field(default_factory=list, init=False)

    @decorate(**kind)
    class Child(Plain):
        """A value with one field more."""

        second: str = "zwei"
        self: int = 6

        def __post_init__(self) -> None:
            self.made.append(7)

    @decorate(**kind)
    class Own:
        """A value with functions of its own."""

        one: int = 1

        def __repr__(self) -> str:
            return "own"

        def __eq__(self, other: object) -> bool:
            return self is other

    for made in (Plain, Child, Own):
        made.__qualname__ = made.__name__
    return Plain, Child, Own


def told(act: Callable[[], Any]) -> Any:
    """Return a value, or the kind of the error that is raised instead."""
    try:
        value = act()
    except (TypeError, AttributeError, ValueError) as error:
        return type(error)
    return value


MAKINGS: tuple[Callable[[Any], Any], ...] = (
    lambda made: made(),
    lambda made: made(1),
    lambda made: made(1, "b", [3], 5),
    lambda made: made(1, fifth=(5,)),
    lambda made: made(first=1, second="b", third=[3]),
    lambda made: made(1, unknown=2),
    lambda made: made(1, made=[]),
)


def acts(made: Any, make: Callable[[Any], Any]) -> list[Any]:
    """Return what a value of a class answers."""
    value = told(partial(make, made))
    if isinstance(value, type):
        return [value]
    other, more = make(made), told(partial(setattr, value, "more", 1))
    return [
        dataclasses.asdict(value),
        repr(value).split(" object at ")[0].rpartition(".")[2],
        value == other,
        value == make,
        told(lambda: hash(value) == hash(other)),
        told(partial(setattr, value, dataclasses.fields(made)[0].name, 2)),
        # Of a frozen one with slots the standard library says TypeError, by mistake.
        more if more is None else Exception,
        told(partial(delattr, value, dataclasses.fields(made)[0].name)),
    ]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_lazy_dataclass_acts_as_one_of_the_standard_library(kind: dict[str, bool]) -> None:
    for eager, lazy in zip(classes(EAGER, kind), classes(LAZY, kind), strict=True):
        for make in MAKINGS:
            assert acts(lazy, make) == acts(eager, make)
        assert vars(eager)["__match_args__"] == vars(lazy)["__match_args__"]
        assert ("__slots__" in vars(eager)) is ("__slots__" in vars(lazy))
        assert [str(one) for one in inspect.signature(lazy).parameters.values()] == [
            str(one) for one in inspect.signature(eager).parameters.values()
        ]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_copies_and_replaced_fields_are_equal(kind: dict[str, bool]) -> None:
    _, child, _ = classes(LAZY, {**kind, "eq": True})
    value = child(1, third=[2])

    for other in (copy.copy(value), copy.deepcopy(value)):
        assert other == value
        assert other is not value
    assert dataclasses.replace(value, first=2).first == 2


@lazy_dataclasses.dataclass(frozen=True, slots=True)
class Kept:
    """A value that is pickled."""

    word: str
    numbers: tuple[int, ...] = ()


def test_a_value_is_read_again_from_its_pickle() -> None:
    value = Kept("a", (1, 2))

    assert pickle.loads(pickle.dumps(value)) == value


def test_its_init_is_compiled_at_the_first_call() -> None:
    plain, *_ = classes(LAZY, {"frozen": True})
    before = plain.__init__  # type: ignore[misc]
    plain(1)

    assert plain.__init__ is not before  # type: ignore[misc]
    assert plain.__init__.__code__.co_filename == "<string>"  # type: ignore[misc]


def test_an_argument_of_init_alone_is_refused_in_a_sentence() -> None:
    made = LAZY(type("Refused", (), {"__annotations__": {"only": dataclasses.InitVar[int]}}))

    with pytest.raises(TypeError, match="InitVar"):
        made(1)

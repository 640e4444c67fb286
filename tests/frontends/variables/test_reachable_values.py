"""Looking at variables runs no code of their classes, and leads nowhere but to what the user's variables hold."""

import collections
import datetime
import enum
import functools
import types
import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from traitlets.config import Configurable

from palimpsest.frontends.kernel.quiet_reader import QuietReader
from palimpsest.frontends.user_cells.hidden_cells import attached_hidden_cells
from palimpsest.frontends.variables.kernel_objects import KernelObjects
from palimpsest.frontends.variables.reachable_values import user_variables, value_at
from palimpsest.frontends.variables.variable_fingerprints import input_checksums
from palimpsest.frontends.variables.variables import describe_variable, list_variables
from palimpsest.tools.tool import NAMES_AND_TYPES, ShownVariables
from palimpsest.transcript.errors import NotFound

RAN: list[str] = []
LOOKING: list[bool] = []
HUSH = "HUSH = 'a source'"
KEY = b"c0ffee00-5e55-10n0-k3yk3yk3y"


class Part(Configurable):
    """A part of a Jupyter application, with what a kernel's parts hold."""

    def __init__(self, **held: Any) -> None:
        super().__init__()
        vars(self).update(held)


def shell(**names: Any) -> Any:
    """Return a shell with histories, a kernel and its key, as IPython has them."""
    sources, results = ["", HUSH], {1: "HUSH-result"}
    manager = Part(input_hist_parsed=sources, input_hist_raw=list(sources), output_hist=results)
    made = Part(
        history_manager=manager,
        kernel=Part(session=Part(key=KEY)),
        compile=SimpleNamespace(_filename_map={}),
        user_ns={},
    )

    def get_ipython() -> Any:
        return made

    hidden = {"In": sources, "Out": results, "_ih": sources, "_oh": results, "_dh": ["/"]}
    hidden |= {"_i": HUSH, "_i1": HUSH, "_1": "HUSH-result", "_": "HUSH-result"}
    hidden |= {"get_ipython": get_ipython}
    vars(made)["user_ns_hidden"] = hidden
    made.user_ns.update(hidden | names)  # type: ignore[attr-defined]
    attached_hidden_cells(made).hide(HUSH)
    return made


def everything(here: Any, paths: tuple[str, ...]) -> str:
    """Return all that is told of a namespace in any way."""
    quiet = QuietReader(SimpleNamespace(shell=here, free=True, post=None), "s")  # type: ignore[arg-type]
    told = [str(quiet.names())]
    for shown in (
        NAMES_AND_TYPES,
        ShownVariables("values"),
        ShownVariables("names", frozenset(paths), with_fingerprints=True),
    ):
        told += [str(list_variables(here, shown))]
    for path in paths:
        for look in (functools.partial(describe_variable, here), quiet.type_and_shape):
            try:
                told.append(look(path))
            except NotFound as missing:
                told.append(str(missing))
    return "\n".join(told)


def aliases(here: Any) -> dict[str, Callable[[], Any]]:
    manager = here.history_manager
    return {
        "the shell": lambda: here,
        "the kernel": lambda: here.kernel,
        "the key's session": lambda: here.kernel.session,
        "the key": lambda: KEY,
        "a text of the key": lambda: f"key={KEY.decode()}",
        "a list with the key": lambda: [[KEY]],
        "In": lambda: manager.input_hist_parsed,
        "Out": lambda: manager.output_hist,
        "the namespace": lambda: here.user_ns,
        "a copy of the namespace": lambda: dict(here.user_ns),
        "a view of the namespace": lambda: types.MappingProxyType(here.user_ns),
        "a chain of it": lambda: collections.ChainMap(here.user_ns),
        "a method of the shell": lambda: here.traits,
        "a function": lambda: here.user_ns["get_ipython"],
        "a partial": lambda: functools.partial(here.user_ns["get_ipython"], In=here.user_ns),
        "a weak reference": lambda: weakref.ref(here),
        "a copy of In": lambda: list(manager.input_hist_parsed),
        "a tuple of In": lambda: tuple(manager.input_hist_parsed),
        "a source of In": lambda: manager.input_hist_parsed[1],
        "a list of In": lambda: [[manager.input_hist_parsed]],
        "a dict of In": lambda: {"a": {"b": manager.input_hist_parsed}},
        "a deque of In": lambda: collections.deque([manager.input_hist_parsed]),
        "a dict with a default": lambda: collections.defaultdict(list, a=manager.output_hist),
        "an object with In": lambda: SimpleNamespace(
            a=SimpleNamespace(b=manager.input_hist_parsed)
        ),
        "a data class with In": lambda: Held(manager.input_hist_parsed),
        "a data class with the shell": lambda: Held([here]),
        "an array of In": lambda: np.array([manager.output_hist, here], dtype=object),
        "a series of In": lambda: pd.Series([manager.output_hist], dtype=object),
        "a frame of In": lambda: pd.DataFrame(
            {"a": pd.Series([manager.output_hist], dtype=object)}
        ),
        "a generator": lambda: (text for text in manager.input_hist_parsed),
        "a class with In": lambda: type("Holder", (), {"a": manager.input_hist_parsed}),
        "a module with In": lambda: _module(a=manager.input_hist_parsed),
        "a closure": lambda: lambda: manager,
    }


def _module(**held: Any) -> types.ModuleType:
    made = types.ModuleType("made")
    vars(made).update(held)
    return made


@dataclass
class Held:
    """A class whose ``__repr__`` shows what its objects hold."""

    a: Any


STEPS = (
    "",
    *("[1]", "[0]", "['a']", "['b']", ".a", ".a.b", "['a']['b']", "[0][0]", "[0][0][1]", ".a[1]"),
    *(".kernel.session.key", ".session.key", ".key", ".user_ns", "['In'][1]", "['_i1']", "['_1']"),
    *(
        ".__self__",
        ".__self__.user_ns",
        ".func.__globals__",
        ".__globals__",
        ".__wrapped__",
        ".gi_frame",
    ),
    *(
        ".history_manager.input_hist_raw[1]",
        ".keywords['In']",
        ".maps[0]",
        ".__dict__['a']",
        ".__closure__[0]",
    ),
    *(".a.__class__", ".__call__", ".iloc[0]", ".values", ".args", ".default_factory"),
)


@pytest.mark.parametrize("kind", aliases(shell()))
def test_no_variable_leads_to_the_kernel_its_key_or_a_hidden_cell(kind: str) -> None:
    here = shell()
    here.user_ns["x"] = aliases(here)[kind]()

    listing = everything(here, tuple(f"x{step}" for step in STEPS))

    assert "a source" not in listing
    assert "HUSH-result" not in listing
    assert KEY.decode() not in listing


@pytest.mark.parametrize(
    "root", ["In", "Out", "_ih", "_oh", "_dh", "_i", "_i1", "_1", "_", "get_ipython", "_mine"]
)
def test_what_ipython_put_there_and_private_names_are_no_variables(root: str) -> None:
    here = shell(_mine="HUSH-mine")

    listing = everything(here, tuple(f"{root}{step}" for step in STEPS))

    assert "HUSH" not in listing
    assert KEY.decode() not in listing
    assert root not in dict(user_variables(here))
    with pytest.raises(NotFound, match="is no variable of the user"):
        value_at(here, root)


def test_a_name_of_ipython_that_the_user_took_is_theirs() -> None:
    here = shell()
    here.user_ns["Out"] = [1, 2]

    assert describe_variable(here, "Out[1]").endswith("2")


def test_a_checksum_tells_nothing_of_the_history() -> None:
    here = shell()
    here.user_ns["x"] = [here.history_manager.input_hist_parsed]
    variables, kernel_objects = dict(user_variables(here)), KernelObjects(here)

    assert input_checksums("x; In; _i1; Out; get_ipython", variables, kernel_objects) == {}
    before = list_variables(here, ShownVariables("names", frozenset(), with_fingerprints=True))
    here.history_manager.input_hist_parsed.append("more")

    assert (
        list_variables(here, ShownVariables("names", frozenset(), with_fingerprints=True)) == before
    )


# Values that note when code of theirs runs


def ran(name: str) -> Any:
    """Return a method that notes that it ran, while a test looks."""

    def method(*arguments: Any, **_options: Any) -> Any:
        if LOOKING:
            RAN.append(name)
            raise RuntimeError(name)
        if name == "__getattribute__":
            return object.__getattribute__(*arguments)
        raise AttributeError(name)

    return method


def ran_unless_made(_made: Any, _of: Any) -> None:
    """Note that an array was made of the class, while a test looks."""
    if LOOKING:
        RAN.append("__array_finalize__")


SPECIAL = (
    *(
        "__repr__",
        "__str__",
        "__len__",
        "__iter__",
        "__getitem__",
        "__contains__",
        "__bool__",
        "__eq__",
        "__lt__",
    ),
    *(
        "__getattr__",
        "__getattribute__",
        "__hash__",
        "__format__",
        "__index__",
        "__int__",
        "__float__",
        "__dir__",
    ),
    *(
        "keys",
        "values",
        "items",
        "get",
        "columns",
        "shape",
        "dtype",
        "head",
        "describe",
        "count",
        "to_string",
    ),
    *(
        "__array__",
        "__array_finalize__",
        "__array_function__",
        "__array_ufunc__",
        "__sizeof__",
        "__reduce__",
    ),
)


def evil(*bases: type, **members: Any) -> Any:
    """Return a class of which each method and property notes that it ran."""
    spoiled = {name: ran(name) for name in SPECIAL if name != "__hash__"}
    spoiled |= {"__class__": property(ran("__class__")), "prop": property(ran("prop"))}
    return type("Evil", bases, {**spoiled, **members})


class Meta(type):
    """A class of classes of which each method notes that it ran."""

    def __getattribute__(cls, name: str) -> Any:
        if LOOKING:
            RAN.append(f"meta {name}")
        return super().__getattribute__(name)

    def __instancecheck__(cls, instance: object) -> bool:
        if LOOKING:
            RAN.append("meta isinstance")
        return False

    def __subclasscheck__(cls, other: type) -> bool:
        if LOOKING:
            RAN.append("meta issubclass")
        return False

    def __repr__(cls) -> str:
        if LOOKING:
            RAN.append("meta repr")
        return "Meta"


class OfMeta(metaclass=Meta):
    """An object of a class with a class of its own."""


class Zone(datetime.tzinfo):
    """A time zone that notes that it is written."""

    __repr__ = ran("zone")


class Key:
    """A key of a dict that pretends to be another."""

    def __init__(self, like: str) -> None:
        vars(self)["like"] = like

    def __hash__(self) -> int:
        if LOOKING:
            RAN.append("hash")
        return hash(vars(self)["like"])

    __eq__ = ran("eq")
    __repr__ = ran("key repr")


class Registered:
    """A class that is a mapping by registration only."""

    __len__ = ran("len")
    __iter__ = ran("iter")
    __getitem__ = ran("getitem")
    keys = ran("keys")


Mapping.register(Registered)


def plain(base: type, *arguments: Any) -> Any:
    made = base.__new__(evil(base), *arguments)
    if base in (list, dict, set, collections.deque):
        base.__init__(made, *arguments)  # type: ignore[misc]
    return made


def tables() -> Iterator[tuple[str, Any]]:
    one = object.__new__(evil(object))
    made = np.empty(2, dtype=object)
    made[0] = one
    column = pd.Series(made)
    yield "a frame of them", pd.DataFrame({"a": column, "b": [1, 2]})
    yield "a series of them", column
    yield "an array of them", made
    yield "a frame of a class of the user", evil_frame()
    yield (
        "an array of a class of the user",
        np.zeros(3).view(evil(np.ndarray, __array_finalize__=ran_unless_made)),
    )


def evil_frame() -> Any:
    frame = pd.DataFrame({"b": [1, 2]})
    kind = type(
        "Frame",
        (pd.DataFrame,),
        {name: property(ran(name)) for name in ("columns", "shape", "index")},
    )
    made = object.__new__(kind)
    object.__setattr__(made, "_mgr", frame._mgr)
    return made


def values() -> dict[str, Callable[[], Any]]:
    made: dict[str, Callable[[], Any]] = {
        "a dict": lambda: plain(dict, {"b": 1}),
        "a list": lambda: plain(list, [1]),
        "a tuple": lambda: plain(tuple, [1]),
        "a set": lambda: plain(set, [1]),
        "a frozen set": lambda: plain(frozenset, [1]),
        "a deque": lambda: plain(collections.deque, [1]),
        "a number": lambda: plain(int, 1),
        "a text": lambda: plain(str, "x"),
        "bytes": lambda: plain(bytes, b"x"),
        "a float": lambda: plain(float, 1.5),
        "an enumeration's number": lambda: enum.IntEnum("Evil", "b").b,
        "a list of objects": lambda: [object.__new__(evil(object))],
        "objects deep in containers": lambda: {"b": ({1: [object.__new__(evil(object))]},)},
        "keys": lambda: {Key("b"): 1, "c": 2},
        "a class of a class": lambda: OfMeta,
        "an object of a class of a class": lambda: [OfMeta()],
        "a mapping by registration": lambda: [Registered()],
        "a time": lambda: {"b": datetime.datetime(2026, 1, 1, tzinfo=Zone())},
        "a function with defaults": lambda: _function,
        "a method": lambda: types.MethodType(_function, object.__new__(evil(object))),
        "a class": lambda: evil(object, __init__=_function),
        "a partial": lambda: [functools.partial(_function, object.__new__(evil(object)))],
        "a named tuple": lambda: collections.namedtuple("Evil", "b")(object.__new__(evil(object))),
        "an object with attributes": lambda: _with(b=1),
        "a slot": lambda: _slotted(),
        "a huge number": lambda: 10**200_000,
    }
    return made | {name: lambda value=value: value for name, value in tables()}


DEFAULT = object.__new__(evil(object))


def _function(self: Any, b: Any = DEFAULT, *rest: Any) -> None:  # only its parameters are looked at
    """Do nothing."""


_function.__wrapped__ = object.__new__(evil(object))  # type: ignore[attr-defined]


def _with(**held: Any) -> Any:
    kind = type("Evil", (), {"prop": property(ran("prop")), "__getattr__": ran("__getattr__")})
    made = kind()
    vars(made).update(held)
    return made


def _slotted() -> Any:
    made = type("Evil", (), {"__slots__": ("b", "c"), "prop": property(ran("prop"))})()
    made.b = 1
    return made


INTO = (
    "",
    ".prop",
    ".b",
    ".c",
    "['b']",
    "['c']",
    "[0]",
    "[-1]",
    "[0].prop",
    ".columns",
    ".shape",
    ".a",
    ".dtype",
)


@pytest.mark.parametrize("kind", values())
def test_looking_runs_no_code_of_what_is_looked_at(kind: str) -> None:
    here = shell(x=values()[kind]())
    RAN.clear()
    LOOKING.append(True)
    try:
        listing = everything(here, ("x",))
        by_name = list(RAN)
        everything(here, tuple(f"x{step}" for step in INTO))
    finally:
        LOOKING.clear()

    assert by_name == []
    assert set(RAN) <= {"__repr__"}, "a path to an object names it, so its class writes it"
    assert "x" in listing


@pytest.mark.parametrize(
    ("made", "path", "told"),
    [
        (lambda: {"a": [{"b": 5}]}, "x['a'][0]['b']", "int\n5"),
        (lambda: collections.OrderedDict(a=1), "x['a']", "int\n1"),
        (lambda: plain(dict, {"a": 1}), "x['a']", "int\n1"),
        (lambda: plain(list, [7]), "x[0]", "int\n7"),
        (lambda: collections.namedtuple("P", "b c")(1, 2), "x.c", "int\n2"),
        (lambda: SimpleNamespace(b=[3]), "x.b[0]", "int\n3"),
        (lambda: _with(b=1), "x.b", "int\n1"),
        (lambda: _slotted(), "x.b", "int\n1"),
        (lambda: Held({"k": 4}), "x.a['k']", "int\n4"),
        (lambda: {True: "yes"}, "x[1]", "str\n'yes'"),
        (lambda: np.arange(6).reshape(2, 3), "x[1][2]", "numpy.int64\nnp.int64(5)"),
        (lambda: np.arange(6).reshape(2, 3), "x.shape", "tuple\n2 items"),
        (lambda: pd.DataFrame({"b": [5, 6]}), "x['b'][1]", "numpy.int64\nnp.int64(6)"),
        (lambda: pd.DataFrame({"b": [5, 6]}), "x.b", "2 values of int64"),
        (lambda: pd.DataFrame({"b": [5, 6]}), "x.columns[0]", "str\n'b'"),
        (lambda: pd.DataFrame({"b": [5, 6]}), "x.dtypes", "1 values of object"),
        (lambda: pd.Series([1.5], index=["k"]), "x['k']", "1.5"),
        (lambda: evil_frame(), "x", "column: type, values present\n  b: int64, 2"),
        (
            lambda: [object.__new__(evil(object))],
            "x",
            "test_reachable_values.Evil <",
        ),
        (lambda: _with(b=1, _c=2), "x", "that holds\n  .b: int 1"),
    ],
    ids=lambda one: one if type(one) is str else "",
)
def test_what_a_variable_holds_is_found_and_written(
    made: Callable[[], Any], path: str, told: str
) -> None:
    text = describe_variable(shell(x=made()), path).replace("tests.frontends.kernel.", "")

    assert told in text
    assert "_c" not in text


def test_the_class_of_a_named_variable_writes_it_and_of_others_nothing() -> None:
    class Point:
        def __repr__(self) -> str:
            return "a point"

    here = shell(point=Point(), points=[Point()], held=SimpleNamespace(p=Point()))

    assert describe_variable(here, "point").endswith("a point")
    assert describe_variable(here, "points[0]").endswith("a point"), "the path names it"
    assert "a point" not in describe_variable(here, "points")
    assert "a point" not in str(
        list_variables(here, ShownVariables("names", frozenset({"points"})))
    )


class Endless:
    """A class whose text never ends."""

    def __repr__(self) -> str:
        while True:
            try:
                while True:
                    pass
            except Exception:  # noqa: BLE001  # as careless as code of a user may be
                pass


def test_a_text_that_never_ends_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("palimpsest.frontends.variables.variables.MAX_DESCRIPTION_SECONDS", 0.05)

    assert "took longer than 0.05 s" in describe_variable(shell(x=Endless()), "x")


NESTED = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-9, 9)
    | st.text(max_size=4)
    | st.floats(allow_nan=False),
    lambda one: (
        st.lists(one, max_size=3)
        | st.tuples(one, one)
        | st.dictionaries(st.text(max_size=3) | st.integers(-3, 3), one, max_size=3)
    ),
    max_leaves=8,
)


@given(NESTED)
def test_plain_values_are_written_as_python_writes_them(value: Any) -> None:
    """The text of plain values on one line is Python's own, as far as it is not cut."""
    (variable,) = list_variables(shell(x=value), ShownVariables("values"))
    written = " ".join(repr(value).split())

    if (
        variable.value is not None
        and len(written) < 60
        and "[redacted]" not in variable.value
        and value not in ([], {}, ())
    ):
        assert variable.value.endswith(written)

"""Variables are described in text without calling any of the user's code."""

import math
import subprocess
import sys
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from tests.waiting import LAST_RESORT_SECONDS

from palimpsest.frontends.variables.variables import describe_variable, list_variables
from palimpsest.tools.tool import ShownVariables
from palimpsest.transcript.errors import NotFound

VALUES = ShownVariables("values")


class Angry:
    """An object whose repr fails."""

    def __repr__(self) -> str:
        raise ValueError("not me")


def make(x: int, y: int = 1) -> int:
    return x + y


def shell(**names: Any) -> Any:
    hidden = {"get_ipython": print}
    return SimpleNamespace(user_ns={**hidden, **names}, user_ns_hidden=hidden)


def test_lists_the_users_names_alone() -> None:
    variables = list_variables(shell(b=2, a="x", _hidden=1, math=math), VALUES)

    assert [(variable.name, variable.kind, variable.value) for variable in variables] == [
        ("a", "str", "'x'"),
        ("b", "int", "2"),
    ]


@pytest.mark.parametrize(
    ("value", "kind", "words"),
    [
        (pd.DataFrame({"a": [1], "b": ["x"]}), "pandas.DataFrame", "1 rows x 2 columns: a, b"),
        (pd.Series([1.0], name="m"), "pandas.Series", "1 values of float64, named 'm'"),
        (np.zeros((3, 4)), "numpy.ndarray", "3 x 4 of float64"),
        ([1, 2], "list", "2 items: [1, 2]"),
        ({}, "dict", "empty"),
        (make, "function", "make(x: int, y: int = 1)"),
        (Angry(), "Angry", "failed with ValueError"),
        ("x" * 1000, "str", "..."),
    ],
    ids=lambda value: type(value).__name__,
)
def test_says_in_one_line_what_a_value_is(value: Any, kind: str, words: str) -> None:
    (variable,) = list_variables(shell(value=value), VALUES)

    assert variable.kind.endswith(kind)
    assert words in (variable.value or "")
    assert "\n" not in (variable.value or "")


def test_describes_a_table_with_types_rows_and_statistics() -> None:
    frame = pd.DataFrame({"kind": ["a", None], "mass": [1.5, 2.5]})

    text = describe_variable(shell(df=frame), "df")

    for words in ("2 rows x 2 columns", "kind: ", "mass: float64, 2", "statistics", "2.0"):
        assert words in text


def test_follows_paths_of_names_keys_and_numbers() -> None:
    here = shell(df=pd.DataFrame({"a": [1]}), data={"k": [10, 20]})

    assert "Index" in describe_variable(here, "df.columns")
    assert describe_variable(here, "data['k'][1]").endswith("20")
    assert describe_variable(here, "data['k'][-2]").endswith("10")


@pytest.mark.parametrize(
    "path", ["nothing", "df.nothing", "data['no']", "f()", "df + 1", "", "data[9]"]
)
def test_what_is_not_there_is_said(path: str) -> None:
    with pytest.raises(NotFound):
        describe_variable(shell(df=pd.DataFrame(), data={}, f=print), path)


def test_long_descriptions_are_shortened() -> None:
    text = describe_variable(shell(x="y" * 100_000), "x", max_chars=500)

    assert len(text) <= 500


def test_nothing_is_changed() -> None:
    frame = pd.DataFrame({"a": [1]})
    here = shell(df=frame)
    before = dict(here.user_ns)

    list_variables(here)
    describe_variable(here, "df")

    assert here.user_ns == before


def greet(patient: str = "Ada", *rest: int, **more: int) -> tuple[Any, ...]:
    return patient, rest, more


class Watched:
    """An object that records every access to it."""

    asked: ClassVar[list[str]] = []

    def __repr__(self) -> str:
        self.asked.append("repr")
        return "Watched()"

    def __len__(self) -> int:
        self.asked.append("len")
        return 1

    def __sizeof__(self) -> int:
        self.asked.append("sizeof")
        return 1

    def __getattr__(self, name: str) -> Any:
        self.asked.append(name)
        raise AttributeError(name)

    @property  # type: ignore[misc]
    def __class__(self) -> type:  # type: ignore[override]
        self.asked.append("class")
        return Watched


class WatchedList(list[int]):
    """A list that records every access to it."""

    def __len__(self) -> int:
        Watched.asked.append("len")
        return super().__len__()

    def __repr__(self) -> str:
        Watched.asked.append("repr")
        return super().__repr__()


@pytest.mark.parametrize("place", [0, 3, -1])
def test_no_place_of_an_array_of_objects_runs_code_of_the_user(
    place: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("palimpsest.frontends.variables.table_text.MAX_OBJECTS", 3)
    array = np.full(7, None, dtype=object)
    array[place] = Watched()
    Watched.asked.clear()

    text = describe_variable(shell(array=array), "array")

    assert text.endswith(
        ": they are too many to check whether that would run code of their classes."
    )
    assert Watched.asked == []


@pytest.mark.parametrize("detail", ["names", "names and types"])
def test_names_and_types_run_no_code_of_the_user(detail: Any) -> None:
    Watched.asked.clear()

    variables = list_variables(shell(a=Watched(), b=WatchedList([1])), ShownVariables(detail))

    assert [variable.name for variable in variables] == ["a", "b"]
    assert Watched.asked == []


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("Ada Lovelace", "str"),
        (1815, "int"),
        (["Ada", "Charles"], "list, 2 items"),
        ({"Ada": 1815}, "dict, 1 item"),
        (
            pd.DataFrame({"name": ["Ada"], "kind": pd.Categorical(["secretly"])}),
            "pandas.DataFrame, 1 rows x 2 columns: name, kind",
        ),
        (pd.DataFrame({1815: [1]}), "pandas.DataFrame, 1 rows x 1 columns: (int)"),
        (
            pd.Series(pd.Categorical(["Ada"]), name="who"),
            "pandas.Series, 1 values of category, named 'who'",
        ),
        (np.array(["Ada", "Charles"]), "numpy.ndarray, 2 of <U7"),
        (greet, "function, (patient, *rest, **more)"),
        (Angry(), f"{Angry.__module__}.Angry"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_type_is_told_without_a_value(value: Any, told: str) -> None:
    (variable,) = list_variables(shell(value=value))

    assert variable.value is None
    assert variable.type_and_summary == variable.shown_to_model == told


def test_a_name_alone_is_told_without_a_type() -> None:
    (variable,) = list_variables(shell(value="Ada"), ShownVariables("names"))

    assert (variable.kind, variable.summary, variable.value, variable.shown_to_model) == (
        "",
        "",
        None,
        "",
    )


@pytest.mark.parametrize("detail", ["names", "names and types"])
def test_the_value_of_what_is_named_is_told(detail: Any) -> None:
    variables = list_variables(shell(a="x", b="y"), ShownVariables(detail, frozenset({"b"})))

    assert [variable.value for variable in variables] == [None, "'y'"]


KEY = "sk-" + "proj-abcDEF0123456789abcdef"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("api_key", "plain-words"),
        ("password", "plain-words"),
        ("my_token", "plain-words"),
        ("dbPassword", "plain-words"),
        ("openai_key", "plain-words"),
        ("x", KEY),
        ("x", [KEY]),
        ("x", {"deep": {"er": [KEY]}}),
        ("x", {"password": "plain-words"}),
        ("x", "postgres://ada:plain-words@db/x"),
        ("x", "a" * 110 + " " + KEY),
    ],
)
def test_a_secret_is_never_told_by_name_or_by_form(name: str, value: Any) -> None:
    here = shell(**{name: value})

    (variable,) = list_variables(here, ShownVariables("values", frozenset({name})))
    text = describe_variable(here, name)

    for words in (variable.shown_to_model, text):
        assert "plain-words" not in words
        assert KEY[:12] not in words


def test_secret_columns_and_keys_are_not_described() -> None:
    frame = pd.DataFrame({"user": ["ada"], "password": ["plain-words"], "note": [KEY]})
    here = shell(df=frame, settings={"token": "plain-words", "name": "ada"})

    assert "plain-words" not in describe_variable(here, "df")
    assert KEY not in describe_variable(here, "df")
    assert "ada" in describe_variable(here, "df")
    assert "password: " in describe_variable(here, "df"), "a column's name is a name"
    assert "plain-words" not in describe_variable(here, "settings")
    assert "plain-words" not in describe_variable(here, "settings['token']")
    assert "plain-words" not in describe_variable(here, "df['password']")


@pytest.mark.parametrize("name", ["df", "keyboard", "monkey", "secretary", "passenger", "author"])
def test_ordinary_names_are_no_secrets(name: str) -> None:
    (variable,) = list_variables(shell(**{name: "words"}), ShownVariables("values"))

    assert variable.value == "'words'"


class Model:
    """An object that says itself what a model should know."""

    calls: ClassVar[list[str]] = []

    def __init__(self, found: Any = "ridge, alpha=0.1") -> None:
        self.found = found

    def _repr_llm_(self) -> Any:
        self.calls.append("llm")
        return self.found() if callable(self.found) else self.found

    def __repr__(self) -> str:
        return "the repr"


class ChildModel(Model):
    """One that inherits it."""


def _fails() -> str:
    raise ValueError("not me")


def _never_ends() -> str:
    while True:
        try:
            while True:
                pass
        except Exception:  # noqa: BLE001  # as careless as code of a user may be
            pass


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ("ridge, alpha=0.1", "ridge, alpha=0.1"),
        (None, "the repr"),
        (_fails, "Its _repr_llm_ failed with ValueError."),
        ({"text/plain": "x"}, "Its _repr_llm_ returned dict instead of text."),
    ],
)
def test_a_class_describes_its_object_where_it_is_named(found: Any, words: str) -> None:
    described = describe_variable(shell(model=ChildModel(found)), "model")

    assert described.splitlines()[1:] == [words]


def test_a_description_by_its_class_is_short_holds_no_key_and_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("palimpsest.frontends.variables.variables.MAX_DESCRIPTION_SECONDS", 0.05)
    key = "sk-" + "ant-api03-abcDEF0123456789_-x"

    assert len(describe_variable(shell(model=Model("x" * 50_000)), "model")) < 4_100
    assert key not in describe_variable(shell(model=Model(f"key {key}")), "model")
    assert "took longer than 0.05 s and was stopped" in describe_variable(
        shell(model=Model(_never_ends)), "model"
    )


def test_no_list_calls_it_and_nothing_that_is_no_plain_function_of_the_type() -> None:
    class Tricky:
        ran: ClassVar[list[str]] = []

        def __getattr__(self, name: str) -> Any:
            self.ran.append(name)
            raise AttributeError(name)

        @property
        def _repr_llm_(self) -> Any:
            self.ran.append("property")
            return lambda: "no"

    class Plain:
        def __repr__(self) -> str:
            return "plain"

    Model.calls.clear()
    instance = Plain()
    vars(instance)["_repr_llm_"] = lambda: "no"
    values = shell(model=Model(), tricky=Tricky(), instance=instance, kind=Model)

    for shown in (ShownVariables("names"), ShownVariables(), VALUES):
        list_variables(values, shown)
    assert describe_variable(values, "instance").endswith("plain")
    assert "no" not in describe_variable(values, "tricky").split("\n", 1)[1].split()
    describe_variable(values, "kind")

    assert Model.calls == []
    assert "property" not in Tricky.ran


def test_a_time_limit_leaves_nothing_behind_that_stops_a_profiler() -> None:
    code = (
        "import sys\nfrom palimpsest.frontends.variables.variables import _call_with_limit\n"
        "assert _call_with_limit(5.0, lambda: 3) == 3\n"
        "sys.setprofile(lambda *_: None)\nsorted([3, 1, 2], key=lambda n: -n)\nsys.setprofile(None)\n"
        "print('ended')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=LAST_RESORT_SECONDS,
        check=False,
    )

    assert done.stdout == "ended\n", done.stderr

"""The rehearsal fills a form of any shape with what pydantic accepts."""

# ruff: noqa: D101  # the shapes say what they are

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from ipaddress import IPv4Address
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AnyUrl, BaseModel, ConfigDict, Field, conint, constr, create_model
from tests.sample_size import sample_size, thinned

from palimpsest.rehearsal.structured_answer import filled_schema
from palimpsest.session.prompts.answers import format_of
from palimpsest.tools.calls.json_schema import cleaned_schema

ROOT = Path(__file__).parents[2]

LISTED = "Here they are:\n```text\npenguins.csv\nislands.csv\n```\nThere are 344 rows, of 2026-11-03, with a mean of 43.9. Yes, **Dream** is one."
SILENT = "I do not know."


class Island(Enum):
    BISCOE = "Biscoe"
    DREAM = "Dream"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Choices(BaseModel):
    island: Island
    level: Level
    kind: Literal["csv", "parquet"]
    fixed: Literal["one"]
    flag: bool


class Point(BaseModel):
    x: float
    y: float


class Nested(BaseModel):
    where: Point
    more: list[Point]
    named: dict[str, Point]


class Optionals(BaseModel):
    must: int | None
    may: int | None = None
    words: str | None
    point: Point | None


class Unions(BaseModel):
    either: int | str
    both: Point | str
    numbers: int | float | None


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"]
    name: str


class Discriminated(BaseModel):
    pet: Annotated[Cat | Dog, Field(discriminator="kind")]


class Times(BaseModel):
    day: date
    moment: datetime
    hour: time
    took: timedelta


class Numbers(BaseModel):
    price: Decimal
    exact: Annotated[Decimal, Field(ge=Decimal("0.5"), le=2, decimal_places=2)]
    small: int = Field(ge=3, le=9)
    open_ended: float = Field(gt=0, lt=1)
    even: int = Field(multiple_of=2, ge=5)
    negative: int = Field(lt=0)
    year: conint(ge=1900, le=2100)  # type: ignore[valid-type]


class Texts(BaseModel):
    short: constr(max_length=10)  # type: ignore[valid-type]
    long: constr(min_length=400)  # type: ignore[valid-type]
    code: constr(pattern=r"^[A-Z]{2}-\d{4}$")  # type: ignore[valid-type]
    slug: constr(pattern=r"^[a-z]+$")  # type: ignore[valid-type]


class Formats(BaseModel):
    id: uuid.UUID
    random: uuid.UUID = Field(default_factory=uuid.uuid4)
    url: AnyUrl
    address: IPv4Address
    path: Path
    raw: bytes
    anything: Any


class Dicts(BaseModel):
    counts: dict[str, int]
    some: dict[str, float] = Field(min_length=2)
    free: dict[str, Any]


class Tuples(BaseModel):
    pair: tuple[int, str]
    three: tuple[float, float, float]
    many: tuple[int, ...]
    unique: set[str]
    at_least: list[int] = Field(min_length=3)
    at_most: list[str] = Field(max_length=1)


class Tree(BaseModel):
    name: str
    children: list[Tree] = []


class Chain(BaseModel):
    value: int
    next: Chain | None


class Required(BaseModel):
    children: list[Required]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", title="S")
    a: Annotated[str, Field(alias="theA")]
    b: Annotated[int, Field(description="rows")] = 3


SHAPES: list[type[BaseModel]] = [
    Choices, Nested, Optionals, Unions, Discriminated, Times, Numbers, Texts, Formats, Dicts, Tuples, Tree, Chain,
    Required, Strict,
]  # fmt: skip


@pytest.mark.parametrize(
    "answer",
    thinned([LISTED, SILENT, "", "7", "no"], 3),
    ids=["listed", "silent", "nothing", "number", "no"],
)
@pytest.mark.parametrize("shape", thinned(SHAPES, 2))
def test_every_shape_is_filled(shape: type[BaseModel], answer: str) -> None:
    filled = filled_schema(shape.model_json_schema(), answer)

    assert filled is not None
    shape.model_validate(filled)


def test_what_the_words_hold_is_taken() -> None:
    times = filled_schema(Times.model_json_schema(), LISTED)
    choices = filled_schema(Choices.model_json_schema(), LISTED)
    numbers = filled_schema(Nested.model_json_schema(), LISTED)

    assert times is not None
    assert times["day"] == "2026-11-03"
    assert choices is not None
    assert (choices["island"], choices["kind"], choices["flag"]) == ("Dream", "csv", True)
    assert numbers is not None
    assert numbers["where"] == {"x": 344.0, "y": 43.9}


def test_what_is_not_required_and_not_said_is_left_out() -> None:
    class Some(BaseModel):
        rows: int = 0
        day: date | None = None
        island: Island | None = None

    assert filled_schema(Some.model_json_schema(), SILENT) == {}


def test_what_nothing_fits_is_not_filled() -> None:
    class Never(BaseModel):
        n: int = Field(gt=3, lt=4)

    class Endless(BaseModel):
        again: Endless

    assert filled_schema(Never.model_json_schema(), SILENT) is None
    assert filled_schema(Endless.model_json_schema(), SILENT) is None


LEAVES = st.sampled_from([str, int, float, bool, date, datetime, Decimal, uuid.UUID, Island, Level, Literal["a", "b"], Path])  # fmt: skip
TYPES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        inner.map(lambda one: list[one]),  # type: ignore[valid-type]
        inner.map(lambda one: dict[str, one]),  # type: ignore[valid-type]
        inner.map(lambda one: one | None),
        st.tuples(inner, inner).map(lambda two: tuple[two[0], two[1]]),  # type: ignore[name-defined]
        st.tuples(inner, inner).map(lambda two: two[0] | two[1]),
        st.lists(inner, min_size=1, max_size=3).map(lambda fields: create_model("Inner", **{f"f{n}": (field, ...) for n, field in enumerate(fields)})),  # type: ignore[call-overload]
    ),
    max_leaves=6,
)  # fmt: skip


@given(st.lists(TYPES, min_size=1, max_size=4), st.sampled_from([LISTED, SILENT, ""]))
def test_forms_of_generated_types_are_filled(types: list[Any], answer: str) -> None:
    fields: dict[str, Any] = {f"f{number}": (one, ...) for number, one in enumerate(types)}
    shape = create_model("Generated", **fields)

    filled = filled_schema(shape.model_json_schema(), answer)

    assert filled is not None
    shape.model_validate(filled)


@given(TYPES)
def test_a_schema_for_a_model_has_no_reference_left_and_is_clean_at_once(one: Any) -> None:
    schema = cleaned_schema(create_model("Generated", field=(one, ...)).model_json_schema())

    assert "$ref" not in json.dumps(schema)
    assert cleaned_schema(schema) == schema


@pytest.mark.parametrize("shape", SHAPES)
def test_no_shape_is_shown_to_a_model_with_a_reference(shape: type[BaseModel]) -> None:
    schema = format_of(shape)

    assert schema is not None
    cleaned = cleaned_schema(schema["schema"])
    assert "$ref" not in json.dumps(cleaned)
    assert cleaned_schema(cleaned) == cleaned


def test_references_of_older_drafts_are_written_out() -> None:
    point = {"type": "object", "properties": {"x": {"type": "number"}}}
    schema = {
        "type": "object",
        "properties": {"p": {"$ref": "#/definitions/P"}},
        "definitions": {"P": point},
    }

    assert cleaned_schema(schema) == {"type": "object", "properties": {"p": point}}


EVERY_SHAPE = f"""
import palimpsest
from tests.rehearsal.test_structured_shapes import SHAPES
for shape in SHAPES[:: {sample_size(9, 1)}]:
    answer = palimpsest.new_session().prompt("Which files are there?", yes=True, format=shape)
    assert answer.error is None, (shape.__name__, answer.error)
    shape.model_validate(answer.structured)
"""


@pytest.mark.soak  # with each commit every shape is filled, above; this adds a script that asks
@pytest.mark.slow
def test_every_shape_is_answered_without_a_key(tmp_path: Path) -> None:
    (tmp_path / "penguins.csv").write_text("species\nGentoo\n")
    paths = os.pathsep.join(str(ROOT / name) for name in ("kernel_ext", ""))
    done = subprocess.run(
        [sys.executable, "-c", EVERY_SHAPE],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": paths, "PALIMPSEST_STATE_DIR": str(tmp_path / "state")},
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr

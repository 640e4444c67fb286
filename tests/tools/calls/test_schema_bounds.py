"""A schema of a stranger costs bounded processor time, and is told of in a sentence."""

import json
import time
from collections.abc import Callable
from typing import Any

import jsonschema
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from tests.sample_size import sample_size, thinned

from palimpsest.tools.calls.json_schema import SchemaTooLargeError, shown_schema
from palimpsest.tools.calls.linear_patterns import is_matched, pattern_weight
from palimpsest.tools.calls.schema_validation import (
    TOO_LARGE_INPUT,
    input_check,
    schema_arguments,
    schema_problem,
)

pytestmark = pytest.mark.slow

MAX_SECONDS = 8.0
"""Of the processor, on a busy machine; what the bounds let through takes about one, and what they hold back takes minutes."""


def within_bounds(work: Callable[[], Any]) -> Any:
    began = time.process_time()
    found = work()
    assert time.process_time() - began < MAX_SECONDS
    return found


def of(**one: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"x": one}}


def doubling(levels: int) -> dict[str, Any]:
    """A schema of a few kilobytes that stands for 2 ** levels strings."""
    definitions: dict[str, Any] = {"d0": {"type": "string"}}
    for level in range(1, levels + 1):
        inner = {"$ref": f"#/$defs/d{level - 1}"}
        definitions[f"d{level}"] = {"type": "object", "properties": {"l": inner, "r": inner}}
    return {
        "type": "object",
        "properties": {"x": {"$ref": f"#/$defs/d{levels}"}},
        "$defs": definitions,
    }


def nested(keyword: str, levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        schema = {keyword: [schema]} if keyword.endswith("Of") else {keyword: schema}
    return of(**schema)


BACKTRACKING = [
    ("^(a+)+$", "a" * 40 + "!"),
    ("^(a|aa)+$", "a" * 60 + "!"),
    ("(x+x+)+y", "x" * 50),
    ("^(([a-z])+.)+[A-Z]([a-z])+$", "a" * 60),
    ("^(a?){40}a{40}$", "a" * 39),
    ("(.*)*b", "a" * 60),
    (r"^(\w+\s?)*$", "word " * 20 + "!"),
]


@pytest.mark.parametrize(("pattern", "text"), thinned(BACKTRACKING, 3))
@pytest.mark.parametrize("place", ["value", "name", "property", "more", "nested", "defined"])
def test_a_pattern_never_tries_alternatives_one_after_another(
    pattern: str, text: str, place: str
) -> None:
    schema, given = {
        "value": (of(type="string", pattern=pattern), {"x": text}),
        "name": (of(propertyNames={"pattern": pattern}), {"x": {text: 1}}),
        "property": (of(patternProperties={pattern: {"type": "string"}}), {"x": {text: 1}}),
        "more": (
            of(patternProperties={pattern: {}}, additionalProperties=False),
            {"x": {text: 1}},
        ),
        "nested": (of(anyOf=[{"not": {"pattern": pattern}}, {"type": "null"}]), {"x": text}),
        "defined": (
            of(**{"$ref": "#/$defs/p"}) | {"$defs": {"p": {"pattern": pattern}}},
            {"x": text},
        ),
    }[place]

    within_bounds(lambda: input_check(shown_schema(schema))(given))


def test_what_a_pattern_refuses_is_refused_still() -> None:
    check = input_check(of(type="string", pattern="^[a-z]{2,5}(-[0-9]+)?$"))

    assert check({"x": "abc-12"}) == ""
    assert check({"x": "ABC"}) == "x: 'ABC' does not match '^[a-z]{2,5}(-[0-9]+)?$'"


@pytest.mark.parametrize(
    "pattern", [r"^(?=a)b", r"(a)\1", "a(", "*", "(?<!x)y", "[", "a{99999999}"]
)
def test_a_pattern_that_cannot_be_bounded_is_left_to_the_server_and_named_to_the_user(
    pattern: str,
) -> None:
    schema = of(type="string", pattern=pattern)

    assert within_bounds(lambda: input_check(schema)({"x": "a" * 50_000})) == ""
    assert schema_problem(schema)


@pytest.mark.parametrize(
    ("pattern", "least"),
    [
        ("(a{1,1000}){1,100}b", 100_000),
        ("((((ab){9}){9}){9}){9}", 13_000),
        ("[a-z]{500}", 2_000),
        (r"\d{4}", 16),
        ("(?x) a { 1 , 1000 }", 1_000),
        ("[{]{3}", 3),
        (r"\{1000}", 1),
        ("[]a]{100}", 400),
        ("(?:a{300}|b){50}", 15_000),
    ],
)
def test_the_weight_of_a_pattern_counts_its_repetitions(pattern: str, least: int) -> None:
    assert least <= pattern_weight(pattern) <= 2_000_000


def test_a_heavy_pattern_is_not_matched_against_a_long_text() -> None:
    assert within_bounds(lambda: is_matched("(a{1,1000}){1,100}b", "a" * 100_000)) is None
    assert within_bounds(lambda: is_matched(r"\w{200}x", "é" * 20_000)) is False
    assert is_matched("^[^@]{1,64}@[a-z.]{1,255}$", "ada@example.org") is True


HEAVY: list[tuple[dict[str, Any], Any]] = [
    (of(type="array", uniqueItems=True), [{"a": number} for number in range(20_000)]),
    (of(type="array", uniqueItems=True), [[number, "a", None] for number in range(20_000)]),
    (of(type="array", items={"enum": list(range(20_000 - 20))}), [-1] * 20_000),
    (of(type="array", items={"enum": [{"a": number} for number in range(9_000)]}), [{"a": -1}] * 9_000),
    (of(type="array", items={"allOf": [{"minimum": 0}] * 3_000}), [1] * sample_size(2_000, 20_000)),
    (of(type="array", items={"oneOf": [{"type": "string"}] * 3_000}), [1] * 20_000),
    (of(type="array", contains={"type": "string"}), [1] * sample_size(30_000, 250_000)),
    (of(type="array", items={"required": [str(number) for number in range(9_000)]}), [{}] * 9_000),
    (of(patternProperties={f"k{number}": {} for number in range(5_000)}), {f"z{number}": 1 for number in range(5_000)}),
    (of(propertyNames={"anyOf": [{"pattern": f"k{number}$"} for number in range(5_000)]}), {f"z{number}": 1 for number in range(5_000)}),
    (nested("not", 50), "text"),
    (nested("anyOf", 25), "text"),
    (nested("unevaluatedProperties", 50), {"a": {"a": {}}}),
    (of(multipleOf=1e-300), 1e300),
    (of(multipleOf=0), 5),
    (of(minLength=10**12), "text"),
    (of(maximum=10**4_000), 10**4_000),
    (of(**{"$dynamicRef": "#x", "$dynamicAnchor": "x"}), "text"),
    (of(**{"$id": "http://example.org/x", "$anchor": "y", "$dynamicRef": "http://example.org/x#y"}), 1),
    (of(dependentSchemas={str(number): {"not": {}} for number in range(5_000)}), {str(number): 1 for number in range(5_000)}),
    (of(**{"if": {"pattern": "^(a+)+$"}, "then": False}), "a" * 50 + "!"),
    (of(type=5, items=7, properties=[], required="x", pattern=3), "text"),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "given"), thinned(HEAVY, 9))
def test_an_input_is_checked_in_bounded_time_whatever_the_schema_is(
    schema: dict[str, Any], given: Any
) -> None:
    offered = shown_schema(schema)

    within_bounds(lambda: input_check(offered)({"x": given}))
    strict = within_bounds(lambda: input_check(offered, is_strict=True)({"x": given}))

    assert len(strict) <= 500


@pytest.mark.soak  # with each commit a large tree is checked in bounded time, beside it; this adds what is said of it
def test_what_is_too_much_is_valid_for_a_server_and_said_to_a_model_that_answers() -> None:
    schema, many = of(type="array", items={"enum": list(range(5_000))}), {"x": [4_999] * 500}

    assert input_check(schema)(many) == ""
    assert input_check(schema, is_strict=True)(many) == TOO_LARGE_INPUT
    with pytest.raises(ValidationError, match="too large to be checked"):
        schema_arguments("Answer", schema, is_strict=True).model_validate(many)


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        (doubling(28), "is nested deeper than 60|has more than"),
        (doubling(14), "has more than 20,000 values when written out"),
        (of(description="x" * 10_000_000), "is longer than 200,000 characters when written out"),
        (of(enum=[str(number) for number in range(100_000)]), "has more than 20,000 values"),
        (of(enum=["x" * 300_000]), "is longer than 200,000 characters"),
        (of(default={"x" * 300_000: 1}), "is longer than 200,000 characters"),
        (nested("not", 5_000), "is nested deeper than 60"),
        (nested("allOf", 5_000), "is nested deeper than 60"),
        ({"type": "object", "properties": {"p" * 50 + str(number): {} for number in range(9_000)}}, "is longer than"),
    ],
)  # fmt: skip
def test_what_is_written_out_of_a_schema_is_counted(schema: dict[str, Any], words: str) -> None:
    with pytest.raises(SchemaTooLargeError, match=words):
        within_bounds(lambda: shown_schema(schema))


def test_a_users_own_form_is_bounded_too() -> None:
    assert within_bounds(lambda: schema_problem(doubling(20))).startswith("it has more than")
    assert "cannot be checked" in schema_problem(of(pattern=r"(a)\1"))
    assert "cannot be checked" in schema_problem(of(**{"$dynamicRef": "#x"}))
    largest = {
        "type": "object",
        "properties": {
            f"p{number}": {"type": "string"} for number in range(sample_size(800, 6_000))
        },
    }
    assert within_bounds(lambda: schema_problem(largest)) == ""
    properties = of(type="string") | {"required": ["pattern"]}
    properties["properties"]["pattern"] = {"type": "string", "description": "(a)\\1"}
    assert schema_problem(properties) == ""


@pytest.mark.parametrize(
    "ref",
    ["http://127.0.0.1:9/x", "file:///etc/passwd", "#", "#/", "#/$defs/x", "//x/y", "#/$defs/../x"],
)
def test_a_reference_fetches_nothing(ref: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def opened(*_: Any, **__: Any) -> Any:
        pytest.fail("something was opened")

    monkeypatch.setattr("urllib.request.urlopen", opened)
    monkeypatch.setattr("socket.socket.connect", opened)
    for schema in (of(**{"$ref": ref}), of(allOf=[{"$dynamicRef": ref}]), of(**{"$id": ref})):
        # "#" is the whole schema, which is that of an object; the others name nothing here.
        given = {"x": {}} if ref == "#" else {"x": 1}
        assert input_check(shown_schema(schema))(given) == ""


def test_recursive_types_are_cut_where_they_come_again() -> None:
    tree = {
        "type": "object",
        "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/tree"}}},
    }
    other = {"properties": {"a": {"$ref": "#/$defs/tree"}, "b": {"$ref": "#/$defs/other"}}}
    schema = of(**{"$ref": "#/$defs/tree"}) | {"$defs": {"tree": tree, "other": other}}

    offered = shown_schema(schema)

    assert offered["properties"]["x"]["properties"]["kids"]["items"] == {"type": "object"}
    assert "$ref" not in json.dumps(offered)


PLAIN = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from([0.5, 1.0, -2.0]), st.text("ab1", max_size=3)
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
SCHEMAS = st.recursive(
    st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["string", "integer", "number", "array", "object", "null"]),
            "enum": st.lists(PLAIN, min_size=1, max_size=3),
            "pattern": st.sampled_from(["^a", "b$", "^(a|b)*$", "[0-9]+", "a{2}"]),
            "minLength": st.integers(0, 2),
            "maximum": st.integers(-2, 2),
            "multipleOf": st.sampled_from([1, 2, 0.5]),
            "uniqueItems": st.booleans(),
            "required": st.lists(st.sampled_from("abc"), max_size=2, unique=True),
            "unevaluatedItems": st.booleans(),
        },
    ),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "items": inner,
            "properties": st.dictionaries(st.sampled_from("abc"), inner, max_size=2),
            "patternProperties": st.dictionaries(st.sampled_from(["^a", "b|c"]), inner, max_size=2),
            "additionalProperties": inner | st.booleans(),
            "propertyNames": inner,
            "anyOf": st.lists(inner, min_size=1, max_size=2),
            "oneOf": st.lists(inner, min_size=1, max_size=2),
            "not": inner,
            "contains": inner,
        },
    ),
    max_leaves=5,
)


@settings(max_examples=sample_size(40, 2_000), deadline=None)
@given(SCHEMAS, PLAIN)
@example({"patternProperties": {"b": {"unevaluatedItems": False}}}, {"b": [None]})
def test_small_schemas_are_checked_as_the_standard_says(schema: dict[str, Any], value: Any) -> None:
    """Within the bounds the verdict is that of jsonschema's own validator."""
    expected = jsonschema.Draft202012Validator(schema).is_valid(value)

    assert (input_check(schema)(value) == "") is expected


NODE = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "children": {"type": "array", "items": {"$ref": "#/$defs/node"}},
        "next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]},
    },
    "required": ["name"],
    "additionalProperties": False,
}
TREES: dict[str, dict[str, Any]] = {
    "a definition": {
        "type": "object",
        "properties": {"root": {"$ref": "#/$defs/node"}},
        "$defs": {"node": NODE},
    },
    "the whole": {
        **json.loads(json.dumps(NODE).replace("#/$defs/node", "#")),
        "properties": {
            **json.loads(json.dumps(NODE["properties"]).replace("#/$defs/node", "#")),
            "root": {"$ref": "#"},
        },
        "required": [],
    },
    "two that hold each other": {
        "type": "object",
        "properties": {"root": {"$ref": "#/$defs/node"}},
        "$defs": {
            "node": {
                **NODE,
                "properties": {
                    **NODE["properties"],  # type: ignore[dict-item]
                    "children": {"type": "array", "items": {"$ref": "#/$defs/other"}},
                },
            },
            "other": {"allOf": [{"$ref": "#/$defs/node"}]},
        },
    },
}


def chain(levels: int, last: Any) -> Any:
    found = last
    for _ in range(levels):
        found = {"name": "n", "children": [found]}
    return found


@pytest.mark.parametrize("levels", [0, 1, 2, 7, 30])
@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize("is_strict", [False, True])
def test_a_type_that_holds_itself_is_checked_at_every_depth(
    tree: str, levels: int, *, is_strict: bool
) -> None:
    arguments = schema_arguments("tree", TREES[tree], is_strict=is_strict)

    arguments.model_validate({"root": chain(levels, {"name": "leaf", "next": None})})
    for wrong in (
        {"name": 3, "children": []},
        {"name": "n", "children": ["x"]},
        {"name": "n", "next": {"name": "m", "next": {"name": []}}},
    ):
        with pytest.raises(ValidationError, match=r"is not (?:of type|valid)"):
            arguments.model_validate({"root": chain(levels, wrong)})


@pytest.mark.parametrize(
    "definitions",
    [
        {"a": {"$ref": "#/$defs/a"}},
        {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}},
        {"a": {"anyOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}]}},
        {"a": {"allOf": [{"$ref": "#/$defs/a"}] * 30}},
        {"a": {"properties": {"x": {"$ref": "#/$defs/a"}}, "not": {"$ref": "#/$defs/missing"}}},
        {"a": {"properties": {"x": {"$ref": "#/$defs/a"}}, "type": "nonsense"}},
        {"a": {"anyOf": [{"properties": {"x": {"$ref": "#/$defs/a"}}}] * 40}},
        {"a": {"properties": {"x": {"$ref": "https://example.org/schema#"}, "y": {"$ref": "#"}}}},
    ],
)
def test_a_circle_of_references_ends(definitions: dict[str, Any]) -> None:
    schema = {**of(**{"$ref": "#/$defs/a"}), "$defs": definitions}

    def check() -> str:
        arguments = schema_arguments("circle", schema)
        given: Any = 1
        for _ in range(200):
            given = {"x": given}
        try:
            arguments.model_validate(given)
        except ValidationError as error:
            return str(error)
        return ""

    assert isinstance(within_bounds(check), str)


def test_a_large_tree_is_checked_in_bounded_time() -> None:
    arguments = schema_arguments("tree", TREES["a definition"], is_strict=True)
    wide = {"name": "n", "children": [{"name": "m", "children": []}] * 5_000}

    within_bounds(lambda: arguments.model_validate({"root": wide}))
    with pytest.raises(ValidationError, match="too large"):
        within_bounds(lambda: arguments.model_validate({"root": {**wide, "children": [wide] * 40}}))

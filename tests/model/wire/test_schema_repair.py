"""A repaired schema is one that providers accept, whatever was written, and a good one stays as it is."""

import copy
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st
from tests.provider_rules.gemini import schema as gemini_problems
from tests.provider_rules.tool_schemas import anthropic_problems, openai_problems

from palimpsest.model.wire.schema_repair import repaired_schema
from palimpsest.model.wire.tool_schema import in_subset
from palimpsest.tools.calls.json_schema import shown_schema
from palimpsest.tools.registration.registry import Registry, builtin_tools

PLAIN = (
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(-2, 2)
    | st.sampled_from(["string", "array", "object", "str", "any", "a", "", "#", "#/properties/a", "#/$defs/a", "^("])
)  # fmt: skip
KEYWORDS = st.sampled_from(
    ["type", "properties", "items", "prefixItems", "required", "anyOf", "oneOf", "allOf", "not", "enum", "const", "default", "minimum", "exclusiveMinimum", "maxLength", "format", "description", "$ref", "$defs", "definitions", "additionalProperties", "patternProperties", "title", "nullable", "if", "then", "uniqueItems", "multipleOf", "examples", "contains", "dependentRequired", "dependentSchemas", "$schema", "$id", "propertyNames", "a"]
)  # fmt: skip
ANYTHING = st.recursive(
    PLAIN,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYWORDS, inner, max_size=4),
    max_leaves=14,
)
WRITTEN = st.dictionaries(KEYWORDS, ANYTHING, max_size=5)


@given(written=WRITTEN)
@example(written={"a": {"properties": None}})
@example(written={"a": {"properties": {"$": 1}, "required": 3}})
def test_any_schema_becomes_one_that_is_accepted(written: dict[str, Any]) -> None:
    schema = shown_schema(copy.deepcopy(written))

    assert openai_problems("x", in_subset(copy.deepcopy(schema), "json_schema")) == []
    plain = in_subset(copy.deepcopy(schema), "json_schema", plain_names=True)
    assert anthropic_problems(0, plain) == []
    assert gemini_problems(in_subset(copy.deepcopy(schema), "openapi"), "parameters") == []


@given(written=WRITTEN)
@example(written={"properties": {"type": "array"}})
def test_a_repaired_schema_stays_as_it_is(written: dict[str, Any]) -> None:
    once = repaired_schema(shown_schema(written))

    assert repaired_schema(copy.deepcopy(once)) == once


def test_the_schemas_of_our_own_tools_stay_as_they_are() -> None:
    registry = Registry(builtin_tools())
    for tool in registry.offered_tools():
        schema = registry.spec(tool).parameters

        assert in_subset(copy.deepcopy(schema), "json_schema", plain_names=True) == schema

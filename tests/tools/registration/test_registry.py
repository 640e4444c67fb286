"""The registry offers tools, describes them, and parses calls."""

import json
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field
from tests.harness.tools import ToolHarness

from palimpsest.tools.calls.json_schema import model_schema
from palimpsest.tools.registration.builtin_tools import DEFAULT_RULES, PLAN_MODE_RULES
from palimpsest.tools.registration.registry import Registry, builtin_tools
from palimpsest.tools.tool import Tool, ToolContext
from palimpsest.transcript.errors import PermissionDenied, UserError
from palimpsest.transcript.values import Reply


@pytest.fixture
def registry() -> Registry:
    return Registry(builtin_tools())


def tool(registry: Registry, name: str) -> Tool:
    resolved = registry.resolve(name)
    assert not isinstance(resolved, str)
    return resolved


def names(tools: tuple[Tool, ...]) -> list[str]:
    return [tool.name for tool in tools]


def test_offers_all_tools_by_name(registry: Registry) -> None:
    assert names(registry.offered_tools(DEFAULT_RULES)) == [
        "bash", "cells", "edit", "glob", "grep", "list", "notebook", "python", "question", "read", "recall",
        "todowrite", "variables", "webfetch", "write",
    ]  # fmt: skip


def test_hides_what_is_denied_or_switched_off(registry: Registry) -> None:
    rules = (*DEFAULT_RULES, *PLAN_MODE_RULES)

    assert names(registry.offered_tools(rules, {"grep": False})) == [
        "glob",
        "list",
        "notebook",
        "question",
        "read",
        "recall",
        "todowrite",
        "variables",
        "webfetch",
    ]
    assert names(registry.offered_tools((), {"*": False, "read": True})) == ["read"]


def test_without_a_kernel_nothing_needs_one() -> None:
    assert not {"python", "variables", "notebook", "cells"} & {
        tool.name for tool in builtin_tools(kernel=False)
    }


def test_specs_are_short_plain_and_stable(registry: Registry) -> None:
    specs = [registry.spec(tool) for tool in registry.offered_tools()]

    text = json.dumps([spec.model_dump() for spec in specs])
    assert "$ref" not in text
    assert '"title"' not in text
    assert "anyOf" not in text
    assert len(text) < 10_300
    assert registry.spec(tool(registry, "read")) is registry.spec(tool(registry, "read"))
    assert registry.spec(tool(registry, "bash")).parameters["required"] == ["command"]


def test_every_argument_is_described(registry: Registry) -> None:
    for tool in registry.offered_tools():
        for name, schema in registry.spec(tool).parameters["properties"].items():
            assert schema.get("description"), f"{tool.name}.{name}"


@pytest.mark.parametrize("name", ["read", "Read", "READ", " read", "functions.read"])
def test_a_tool_is_found_however_it_is_written(registry: Registry, name: str) -> None:
    assert tool(registry, name).name == "read"


def test_an_unknown_tool_names_the_known_ones(registry: Registry) -> None:
    offered = registry.offered_tools((), {"*": False, "read": True, "list": True})

    assert registry.resolve("python", offered) == (
        "There is no tool 'python' here. Known tools: list, read."
    )


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("read", {}, "path is missing. Expected: path, offset?, limit?. Sent: nothing."),
        ("read", {"path": "a", "offset": 0}, "offset: input should be greater than or equal to 1"),
        ("read", "{bad", "not valid JSON"),
        ("read", ["a"], "must be a JSON object, not list"),
        ("bash", {"cmd": "ls"}, "command is missing. Expected: command, timeout_seconds?"),
    ],
)
def test_wrong_input_gets_a_sentence_to_act_on(
    registry: Registry, name: str, given: object, message: str
) -> None:
    answer = registry.validate(tool(registry, name), given)

    assert isinstance(answer, str)
    assert message in answer


def test_input_may_come_as_text_and_with_more_than_needed(registry: Registry) -> None:
    answer = registry.validate(tool(registry, "read"), '{"path": "a", "why": "because"}')

    assert isinstance(answer, BaseModel)
    assert answer.model_dump() == {"path": "a", "offset": None, "limit": None}


class Leaf(BaseModel):
    """A leaf."""

    title: str
    size: int | None = None


class Branch(BaseModel):
    """A branch."""

    leaf: Leaf
    branches: list["Branch"] = []


def test_schemas_hold_no_references_and_no_titles() -> None:
    leaf = {
        "type": "object",
        "required": ["title"],
        "properties": {"title": {"type": "string"}, "size": {"type": "integer"}},
    }

    assert model_schema(Leaf) == leaf
    assert model_schema(Branch) == {
        "type": "object",
        "required": ["leaf"],
        "properties": {
            "leaf": leaf,
            "branches": {"type": "array", "items": {"type": "object"}, "default": []},
        },
    }


def weather(
    city: str,
    days: Annotated[int, Field(ge=1)] = 1,
    unit: Literal["C", "F"] = "C",
) -> dict[str, object]:
    """Forecast the weather.

    Only for tests.

    Args:
        city: Where.
        days: How many days,
            from today.
        unit: The scale.

    Returns:
        A table.
    """
    return {"city": city, "days": days, "unit": unit}


def test_a_function_becomes_a_tool(registry: Registry) -> None:
    spec = registry.spec(registry.add(weather))

    assert (spec.name, spec.description) == ("weather", "Forecast the weather.\n\nOnly for tests.")
    assert spec.parameters == {
        "type": "object",
        "required": ["city"],
        "properties": {
            "city": {"type": "string", "description": "Where."},
            "days": {
                "type": "integer",
                "minimum": 1,
                "default": 1,
                "description": "How many days, from today.",
            },
            "unit": {
                "type": "string",
                "enum": ["C", "F"],
                "default": "C",
                "description": "The scale.",
            },
        },
    }


async def test_a_function_asks_runs_and_answers(harness: ToolHarness) -> None:
    harness.registry.add(weather)

    outcome = await harness.call("weather", city="Ulm")

    assert outcome.output == '{"city": "Ulm", "days": 1, "unit": "C"}'
    assert [asked.permission for asked in harness.user.asked] == ["weather"]


async def test_a_refused_function_is_not_called(harness: ToolHarness) -> None:
    called = []

    def touch(name: str) -> None:
        """Touch a thing."""
        called.append(name)

    harness.registry.add(touch)
    harness.user.reply = Reply(answer="reject", feedback="not now")

    with pytest.raises(PermissionDenied, match="not now"):
        await harness.call("touch", name="x")
    assert called == []


async def test_async_functions_and_the_context_work(harness: ToolHarness) -> None:
    async def where(context: ToolContext, name: str = "x") -> str:
        """Say where we are."""
        return f"{name} in {context.session_id}"

    spec = harness.registry.spec(harness.registry.add(where))

    assert list(spec.parameters["properties"]) == ["name"]
    assert (await harness.call("where")).output == "x in ses_1"


async def test_what_a_function_raises_is_a_sentence(harness: ToolHarness) -> None:
    def broken() -> None:
        """Break."""
        raise ValueError("no such city")

    harness.registry.add(broken)

    with pytest.raises(UserError, match="broken failed: ValueError: no such city"):
        await harness.call("broken")


def nameless(*things: str) -> None:
    """Take anything."""


def undocumented(name: str) -> None: ...


def untyped(thing: Registry) -> None:
    """Take a registry."""


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (nameless, "no name to pass it by"),
        (undocumented, "needs a docstring"),
        (untyped, "cannot become a tool"),
        (lambda: None, "cannot be called '<lambda>'"),
    ],
)
def test_what_cannot_be_a_tool_says_why(registry: Registry, function: object, message: str) -> None:
    with pytest.raises(UserError, match=message):
        registry.add(function)  # type: ignore[arg-type]


def test_defining_a_function_again_replaces_the_tool(registry: Registry) -> None:
    def first() -> str:
        """Say one."""
        return "1"

    def second() -> str:
        """Say two."""
        return "2"

    before = registry.spec(registry.add(first, name="count")).description
    after = registry.spec(registry.add(second, name="count")).description

    assert (before, after) == ("Say one.", "Say two.")


async def test_arguments_keep_the_types_that_the_function_asks_for(harness: ToolHarness) -> None:
    def total(rows: list[Leaf]) -> int:
        """Add up sizes."""
        return sum(row.size or 0 for row in rows)

    harness.registry.add(total)

    outcome = await harness.call(
        "total", rows=[{"title": "a", "size": 2}, {"title": "b", "size": 3}]
    )

    assert outcome.output == "5"


async def test_nothing_and_anything_returned_are_worded(harness: ToolHarness) -> None:
    def nothing() -> None:
        """Return nothing."""

    def anything() -> set[int]:
        """Return a set."""
        return {1}

    harness.registry.add(nothing)
    harness.registry.add(anything)

    assert (await harness.call("nothing")).output == "(done)"
    assert (await harness.call("anything")).output == "{1}"

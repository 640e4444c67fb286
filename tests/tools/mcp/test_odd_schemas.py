"""One tool with an odd schema costs neither the other tools of its server nor the turn, at any provider."""

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.context.request_paths import RequestPath, hello
from tests.harness.tools import ScriptedUser, ToolHarness
from tests.provider_rules.dialects import problems

from palimpsest.model.adapter.litellm_model import LOADER, LitellmModel
from palimpsest.model.interface import ModelRequest, ToolCalled, ToolInputStarted
from palimpsest.model.script import calls
from palimpsest.model.wire.provider_messages import to_provider
from palimpsest.testing import FaultServer
from palimpsest.tools.mcp import servers as mcp_servers
from palimpsest.tools.mcp.servers import McpServers
from palimpsest.tools.mcp.values import McpServerSpec
from palimpsest.tools.registration.registry import Registry
from palimpsest.transcript.values import ToolSpec

SERVER = Path(__file__).parents[1] / "mcp_changing_server.py"

pytestmark = pytest.mark.slow


def of(**each: Any) -> dict[str, Any]:
    """Return the schema of an object with these properties."""
    return {"type": "object", "properties": each}


TREE = {"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#/definitions/Tree"}}}}  # fmt: skip
ODD: dict[str, Any] = {
    "array_without_items": of(a={"type": "array"}),
    "array_or_null": of(a={"type": ["array", "null"]}),
    "nested_array": of(a={"type": "array", "items": {"type": "array"}}),
    "array_in_choice": of(a={"anyOf": [{"type": "array"}, {"type": "string"}]}),
    "choice_at_top": {**of(a={"type": "string"}), "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
    "one_of_at_top": {"type": "object", "oneOf": [of(a={"type": "string"}), of(b={"type": "integer"})]},
    "all_of_at_top": {"allOf": [{**of(a={"type": "string"}), "required": ["a"]}, of(b={})]},
    "not_at_top": {**of(a={}), "not": {"required": ["a"]}},
    "if_at_top": {**of(a={}), "if": {"required": ["a"]}, "then": {"required": ["b"]}},
    "no_type": {"properties": {"a": {"description": "Anything."}}},
    "types": {"type": ["object", "null"], "properties": {"a": {"type": ["string", "integer", "null"]}}},
    "references": {**of(tree={"$ref": "#/definitions/Tree"}), "definitions": {"Tree": TREE}},
    "itself": of(tree={"$ref": "#"}, other={"$ref": "#/properties/tree"}),
    "no_target": of(a={"$ref": "#/$defs/Missing"}, b={"$ref": "other.json"}),
    "top_reference": {"$ref": "#/$defs/Input", "$defs": {"Input": of(a={"type": "string"})}},
    "constant": of(a={"const": "x"}, b={"const": 3}, c={"const": None}),
    "formats": of(a={"type": "string", "format": "uri"}, b={"type": "integer", "format": "uint8"}),
    "free": {**of(), "additionalProperties": {}},
    "forbidden": {**of(a=False), "additionalProperties": False},
    "empty": {"type": "object", "properties": {}},
    "nothing": {},
    "whole_true": True,
    "whole_null": None,
    "whole_list": [],
    "needs_missing": {**of(a={"type": "string"}), "required": ["a", "b"]},
    "needs_inside": of(a={**of(x={}), "required": ["x", "y"]}),
    "needs_flag": of(a={"type": "string", "required": True}),
    "needs_twice": {**of(a={"type": "string"}), "required": ["a", "a"]},
    "true": of(a=True),
    "null_property": of(a=None),
    "word_property": of(a="string"),
    "listed_properties": {"type": "object", "properties": ["a", "b"]},
    "draft_4": of(a={"type": "number", "minimum": 0, "exclusiveMinimum": True}, b={"exclusiveMaximum": False}),
    "nullable": of(a={"type": "string", "nullable": True}),
    "default": of(a={"type": "integer", "default": "many"}, b={"type": "array", "default": None}),
    "many_choices": of(a={"type": "string", "enum": [f"value {n}" for n in range(5_000)]}),
    "no_choices": of(a={"type": "string", "enum": []}, b={"enum": "x"}),
    "same_choices": of(a={"enum": ["x", "x", 1, None]}),
    "places": of(a={"type": "array", "items": [{"type": "string"}, {"type": "number"}]}),
    "prefix": of(a={"type": "array", "prefixItems": [{"type": "string"}], "items": False}),
    "any_items": of(a={"type": "array", "items": True}),
    "python_types": of(a={"type": "str"}, b={"type": "list"}, c={"type": "any"}, d={"type": "Dict"}),
    "one_choice": of(a={"anyOf": []}, b={"oneOf": [True, {"type": "string"}]}, c={"allOf": [{}]}),
    "choice_beside": of(a={"type": "object", "anyOf": [of(x={}), of(y={})], "properties": {"z": {}}}),
    "wrong_limits": of(a={"type": "string", "minLength": "3", "maxLength": -1, "pattern": None}),
    "wrong_words": of(a={"type": "string", "description": ["a"], "title": 7}),
    "odd_words": of(**{"a b": {"type": "string"}, "größe": {}, "x" * 80: {}, "$ref": {"type": "string"}}),
    "patterns": {"type": "object", "patternProperties": {"^x": {"type": "array"}}},
    "dialect": {"$schema": "http://json-schema.org/draft-04/schema#", "id": "x", **of(a={"type": "string"})},
}  # fmt: skip
"""The schemas of tools by name, as servers of strangers send them."""

PATHS = (
    RequestPath("openai", "gpt-4o"),
    RequestPath("anthropic", "claude-sonnet-4-5"),
    RequestPath("gemini", "gemini-2.5-pro"),
    RequestPath("mistral", "mistral-large-latest"),
)


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Raise the start timeout of servers, for machines under load."""
    monkeypatch.setattr(mcp_servers, "MAX_WAIT_SECONDS", 60.0)
    for provider in ("OPENAI", "ANTHROPIC", "GEMINI", "MISTRAL"):
        monkeypatch.setenv(f"{provider}_API_KEY", "sk-test-0123456789")
    LOADER.wait_for_litellm(60)


@asynccontextmanager
async def serving(
    tmp_path: Path, listed: list[Any]
) -> AsyncIterator[tuple[Registry, tuple[str, ...]]]:
    file = tmp_path / "tools.json"
    file.write_text(json.dumps({"tools": listed}))
    harness = ToolHarness(tmp_path, registry=Registry())
    harness.user = ScriptedUser()
    spec = McpServerSpec("x", command=sys.executable, args=(str(SERVER), str(file)))
    servers = McpServers([spec], harness.registry, {}, tmp_path)
    try:
        reports = await servers.turn_began()
        yield harness.registry, reports
    finally:
        await servers.close()


async def test_every_provider_takes_them_all(tmp_path: Path) -> None:
    listed = [{"name": name, "inputSchema": schema} for name, schema in ODD.items()]
    async with serving(tmp_path, [*listed, {"name": "no_schema"}]) as (registry, reports):
        offered = registry.offered_tools()
        specs = tuple(registry.spec(tool) for tool in offered)

        refused = {}
        for path in PATHS:
            (asked,) = await path.sent([to_provider((hello(),), path.info)], specs)
            refused[path.dialect] = asked.problems

    assert reports == ()
    assert [spec.name for spec in specs] == sorted(f"x_{name}" for name in [*ODD, "no_schema"])
    assert refused == {path.dialect: [] for path in PATHS}


async def test_what_is_clear_in_a_schema_is_kept(tmp_path: Path) -> None:
    listed = [{"name": name, "inputSchema": schema} for name, schema in ODD.items()]
    async with serving(tmp_path, listed) as (registry, _said):
        specs = {tool.name[2:]: registry.spec(tool) for tool in registry.offered_tools()}
        path = PATHS[0]
        (asked,) = await path.sent([to_provider((hello(),), path.info)], tuple(specs.values()))
    sent = {
        tool["function"]["name"][2:]: tool["function"]["parameters"] for tool in asked.body["tools"]
    }

    assert sent["choice_at_top"]["properties"] == {"a": {"type": "string"}}
    assert set(sent["one_of_at_top"]["properties"]) == {"a", "b"}
    assert sent["all_of_at_top"]["required"] == ["a"]
    assert sent["references"]["properties"]["tree"] == {
        "type": "object",
        "properties": {"kids": {"type": "array", "items": {"type": "object"}}},
    }
    assert sent["top_reference"]["properties"] == {"a": {"type": "string"}}
    assert sent["draft_4"]["properties"]["a"] == {"type": "number", "exclusiveMinimum": 0}
    assert sent["python_types"]["properties"] == {
        "a": {"type": "string"}, "b": {"type": "array", "items": {}}, "c": {}, "d": {"type": "object"},
    }  # fmt: skip
    assert "5,000 values, such as value 0" in sent["many_choices"]["properties"]["a"]["description"]
    assert sent["needs_flag"]["properties"] == {"a": {"type": "string"}}


async def test_a_list_with_what_is_no_tool_keeps_its_tools(tmp_path: Path) -> None:
    odd = {"title": 3, "description": None, "annotations": {"readOnlyHint": "yes"}, "icons": 1}
    listed = [{"name": "good", "inputSchema": of(), **odd}, 7, {"inputSchema": of()}, None]
    async with serving(tmp_path, listed) as (registry, reports):
        assert registry.names == ("x_good",)

    assert reports == ("The tool '' of the MCP server 'x' is left out, because it has no name.",)


async def test_a_name_that_begins_with_a_digit_comes_back_as_it_is() -> None:
    """Gemini refuses such a name, so that it is sent another one."""
    called = calls("_2nd_x")
    spec = ToolSpec(name="2nd_x", description="d", parameters=of())
    async with FaultServer(called, check=problems) as server:
        info = PATHS[2].info.model_copy(update={"api_base": server.gemini_base})
        messages = tuple(to_provider((hello(),), info))
        request = ModelRequest(model=info, messages=messages, tools=(spec,))
        events = [event async for event in LitellmModel().stream(request)]

    assert [event.tool for event in events if isinstance(event, ToolInputStarted | ToolCalled)] == [
        "2nd_x",
        "2nd_x",
    ]

"""A tool that a provider refuses is left out with a sentence, and the turn goes on without it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.harness.http_session import PROVIDERS, HttpSessionHarness
from tests.session.extensions.test_hooks import notices

from palimpsest.loop.model_requests.refused_tools import refused_tool_name
from palimpsest.model.adapter.litellm_model import LOADER
from palimpsest.model.script import says
from palimpsest.testing import FaultServer
from palimpsest.transcript.errors import ApiError
from palimpsest.transcript.values import ModelInfo, ModelRef, ToolSpec


def names_of(body: dict[str, Any]) -> list[str]:
    return [tool.get("name") or tool["function"]["name"] for tool in body.get("tools", [])]


def refusing(*odd: str) -> Callable[[str, Any], list[str]]:
    """Return a check that refuses one of the tools at a time, in the words of the request's provider."""

    def check(path: str, body: Any) -> list[str]:
        for place, name in enumerate(names_of(body)):
            if name not in odd:
                continue
            if path.endswith("/messages"):
                return [f"tools.{place}.custom.input_schema: JSON schema is invalid."]
            return [f"Invalid schema for function '{name}': schema must be an object."]
        return []

    return check


def first_odd(x: int) -> str:
    """Do one thing."""
    return str(x)


def second_odd(x: int) -> str:
    """Do another thing."""
    return str(x)


@pytest.mark.slow
@pytest.mark.parametrize("provider", PROVIDERS)
async def test_the_turn_goes_on_without_the_tools_that_are_refused(
    provider: str, tmp_path: Path
) -> None:
    LOADER.wait_for_litellm(60)
    check = refusing("first_odd", "second_odd")
    with FaultServer(says("Hello."), says("Again."), check=check) as server:
        harness = HttpSessionHarness(provider, tmp_path, server)
        for function in (first_odd, second_odd):
            harness.harness.services.agents.registry.add(function)
        first = await harness.ask("Hello?")
        second = await harness.ask("And again?")
        await harness.check_requests()

    assert [(answer.text, answer.error) for answer in (first, second)] == [
        ("Hello.", None),
        ("Again.", None),
    ]
    assert ["first_odd" in names_of(body) for body in server.bodies] == [True, False, False, False]
    assert ["second_odd" in names_of(numbers) for numbers in server.bodies] == [
        True,
        True,
        False,
        False,
    ]
    sentences = notices(await harness.session())
    assert [("'first_odd'" in notice, "'second_odd'" in notice) for notice in sentences if "refuses the tool" in notice] == [
        (True, False),
        (False, True),
    ]  # fmt: skip


SPECS = tuple(
    ToolSpec(name=name, description="d", parameters={"type": "object"})
    for name in ("bash", "x_get", "2nd_x")
)


@pytest.mark.parametrize(
    ("provider", "said", "tool"),
    [
        ("openai", "Invalid schema for function 'x_get': In context=('properties', 'a'), array schema missing items.", "x_get"),
        ("openai", "Invalid 'tools[1].function.name': string does not match pattern.", "x_get"),
        ("openai", "Invalid 'tools[0].function.description': string too long. Expected a maximum length of 1024.", "bash"),
        ("anthropic", "tools.1.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12", "x_get"),
        ("anthropic", "tools.2.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'", "2nd_x"),
        ("gemini", "* GenerateContentRequest.tools[0].function_declarations[1].parameters.properties[a].items: missing field.", "x_get"),
        ("gemini", "Invalid JSON payload received. Unknown name \"const\" at 'tools[0].function_declarations[2].parameters'", "2nd_x"),
        ("gemini", "Unable to submit request because function declaration `_2nd_x` has invalid parameters.", "2nd_x"),
        ("bedrock", "The value at toolConfig.tools.1.toolSpec.inputSchema.json.type must be one of object.", "x_get"),
        ("mistral", "Invalid tool schema for tool 'x_get'", "x_get"),
        ("openai", "Invalid schema for function 'other': no.", None),
        ("openai", "Invalid 'tools': array too long. Expected an array with maximum length 128.", None),
        ("openai", "Invalid value: 'tool'. Supported values are: 'user'.", None),
        ("anthropic", "messages.3: `tool_use` ids were found without `tool_result` blocks", None),
        ("anthropic", "tools.9.custom.input_schema: JSON schema is invalid.", None),
        ("openai", "This model's maximum context length is 128000 tokens.", None),
        ("openai", "No tool output found for function call call_1.", None),
    ],
)  # fmt: skip
def test_a_refusal_names_one_tool(provider: str, said: str, tool: str | None) -> None:
    info = ModelInfo(ref=ModelRef(provider=provider, name="m"), window=1, output_limit=1)

    assert refused_tool_name(ApiError(message=said, status=400), SPECS, info) == tool
    assert refused_tool_name(ApiError(message=said, status=500), SPECS, info) is None
    assert refused_tool_name(ApiError(message=said, status=400), (), info) is None

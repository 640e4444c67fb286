"""The registry of a session's tools: which are offered, their schemas, and validation of calls.

Border: uses tools and rules, runs no tool. For any call that the model writes, the result is a tool and
its arguments, or a sentence the model can act on.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

from palimpsest.tools.calls.json_schema import model_schema
from palimpsest.tools.permission_rules.permissions import hidden_tools
from palimpsest.tools.registration.builtin_tools import builtin_tools as builtin_tools
from palimpsest.tools.registration.function_tools import FunctionTool
from palimpsest.tools.tool import Tool
from palimpsest.transcript.values import Rule, ToolSpec

MAX_NAMED_PROBLEMS = 5
ALL_OTHERS = "*"
"""Key in a choice of tools for all tools that it does not name."""


class Registry:
    """Holds the tools of a session by name."""

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        self._specs: dict[str, ToolSpec] = {}
        for tool in tools:
            self.register(tool)

    def register(self, tool: Tool) -> None:
        """Add a tool; one of the same name is replaced, so that a cell can be run again."""
        self._tools[tool.name] = tool
        self._specs.pop(tool.name, None)

    def add(self, function: Callable[..., Any], *, name: str | None = None) -> Tool:
        """Add a user's function as a tool; it asks for permission under its own name."""
        tool = FunctionTool(function, name=name)
        self.register(tool)
        return tool

    def remove(self, name: str) -> None:
        """Remove a tool; does nothing for an unknown name."""
        self._tools.pop(name, None)
        self._specs.pop(name, None)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all tools, sorted."""
        return tuple(sorted(self._tools))

    @property
    def positions_by_name(self) -> dict[str, int]:
        """The position of each tool, by name, in the order in which they were added."""
        return {name: position for position, name in enumerate(self._tools)}

    def offered_tools(
        self, rules: Iterable[Rule] = (), switched: Mapping[str, bool] | None = None
    ) -> tuple[Tool, ...]:
        """Return the tools offered to the model, sorted by name: those not denied completely and not switched off.

        ``switched`` is the user's choice for one turn; its key ``ALL_OTHERS`` is for all tools it does not name.
        """
        is_on_by_name = switched or {}
        hidden_names = hidden_tools(
            {name: tool.permission for name, tool in self._tools.items()}, rules
        )
        return tuple(
            self._tools[name]
            for name in self.names
            if name not in hidden_names
            and is_on_by_name.get(name, is_on_by_name.get(ALL_OTHERS, True))
        )

    def specs(self, tools: Sequence[Tool]) -> list[ToolSpec]:
        """Return the specs of tools for the model; they are cached and stay the same, so that the prompt stays cached."""
        for tool in tools:
            if tool.name not in self._specs or self._tools.get(tool.name) is not tool:
                schema = model_schema(tool.arguments)
                self._specs[tool.name] = ToolSpec(
                    name=tool.name, description=tool.description, parameters=schema
                )
        return [self._specs[tool.name] for tool in tools]

    def spec(self, tool: Tool) -> ToolSpec:
        """Return the spec of one tool."""
        return self.specs([tool])[0]

    def resolve(self, name: str, offered_tools: Iterable[Tool] | None = None) -> Tool | str:
        """Return the offered tool of a name, ignoring case, or a sentence that lists the known tools."""
        tools = self._tools
        if offered_tools is not None:
            tools = {tool.name: tool for tool in offered_tools}
        requested = name.strip().removeprefix("functions.")
        tools_by_lower_name = {tool_name.lower(): tool for tool_name, tool in tools.items()}
        resolved = tools.get(requested) or tools_by_lower_name.get(requested.lower())
        if resolved is not None:
            return resolved
        known_names = ", ".join(sorted(tools)) or "none"
        return f"There is no tool {name!r} here. Known tools: {known_names}."

    def validate(self, tool: Tool, values: object) -> BaseModel | str:
        """Validate a call's input; returns the arguments, or a sentence about its errors."""
        if isinstance(values, str):
            try:
                values = json.loads(values or "{}")
            except ValueError as error:
                return f"The input of {tool.name} is not valid JSON ({error}). Send it as one JSON object."
        if not isinstance(values, dict):
            return f"The input of {tool.name} must be a JSON object, not {type(values).__name__}."
        try:
            return tool.arguments.model_validate(values)
        except ValidationError as error:
            return self._problems_text(tool, values, error)

    def _problems_text(self, tool: Tool, values: dict[str, Any], error: ValidationError) -> str:
        problems = [
            _problem_text(problem["loc"], problem["msg"], problem["type"])
            for problem in error.errors(include_url=False, include_context=False)
        ]
        problem_text = "; ".join(problems[:MAX_NAMED_PROBLEMS])
        schema = self.spec(tool).parameters
        required = schema.get("required", [])
        expected = ", ".join(
            name if name in required else f"{name}?" for name in schema["properties"]
        )
        sent_names = ", ".join(values) or "nothing"
        return f"The input of {tool.name} is wrong: {problem_text}. Expected: {expected}. Sent: {sent_names}."


def _problem_text(location: tuple[int | str, ...], message: str, problem_kind: str) -> str:
    where = ".".join(str(step) for step in location) or "input"
    if problem_kind == "missing":
        return f"{where} is missing"
    return f"{where}: {message[:1].lower()}{message[1:]}"

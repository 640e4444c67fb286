"""Turn a user's function into a tool: schema from its signature, descriptions from its docstring.

Border: uses functions and pydantic. The function runs in a thread, or on the loop if it is
async; its exceptions become a UserError with a sentence for the model.
"""

import asyncio
import inspect
import json
import re
import typing
from collections.abc import Callable
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo

from palimpsest.tools.calls.error_containment import ExitAttempted, await_contained, run_in_thread
from palimpsest.tools.registration.builtin_tools import is_reserved_name
from palimpsest.tools.tool import ToolContext, ToolOutcome
from palimpsest.transcript.errors import Aborted, PalimpsestError, UserError

TOOL_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
"""Pattern of the tool names that every provider accepts."""

MAX_TITLE_CHARS = 120

DOCSTRING_SECTION = re.compile(
    r"^(Args|Arguments|Parameters|Returns|Raises|Yields|Examples?|Notes?):?\s*$", re.MULTILINE
)
DOCSTRING_ARGUMENT = re.compile(r"^\s*\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.+)$")


class FunctionTool:
    """A tool that calls a function of the user; raises UserError if the function is unsuitable."""

    concurrent = False

    def __init__(self, function: Callable[..., Any], *, name: str | None = None) -> None:
        self.function = function
        self.name: str = name or str(getattr(function, "__name__", ""))
        if not TOOL_NAME.fullmatch(self.name):
            raise UserError(
                f"A tool cannot be called {self.name!r}. Define it with def and a plain name."
            )
        if is_reserved_name(self.name):
            raise UserError(
                f"A tool cannot be called {self.name!r}: the agent has a tool or permission of this name. "
                "Give the function another one."
            )
        self.permission = self.name
        self.description, descriptions = _split_docstring(function)
        if not self.description:
            raise UserError(
                f"The function {self.name!r} needs a docstring: the model reads it to know when to call the tool."
            )
        self._context_parameter: str | None = None
        self.arguments: type[BaseModel] = self._arguments_model(descriptions)

    def _arguments_model(self, descriptions: dict[str, str]) -> type[BaseModel]:
        try:
            hints = typing.get_type_hints(self.function, include_extras=True)
            fields: dict[str, Any] = {}
            for parameter in inspect.signature(self.function).parameters.values():
                hint = hints.get(parameter.name, Any)
                if hint is ToolContext:
                    self._context_parameter = parameter.name
                else:
                    fields[parameter.name] = _argument_field(
                        self.name, parameter, hint, descriptions
                    )
            model = create_model(
                self.name, __config__=ConfigDict(arbitrary_types_allowed=False), **fields
            )
            model.model_json_schema()
        except (NameError, TypeError, PydanticUserError) as error:
            raise UserError(
                f"The function {self.name!r} cannot become a tool: {str(error).splitlines()[0]} "
                "Give its parameters types such as str, int, float, bool, list[str] or Literal."
            ) from error
        return model

    async def run(self, arguments: BaseModel, context: ToolContext) -> ToolOutcome:
        """Ask for permission, call the function, and return its result as text."""
        input_text = json.dumps(arguments.model_dump(mode="json"), ensure_ascii=False)
        await context.ask(
            self.permission,
            [input_text],
            title=f"{self.name} {input_text}"[:MAX_TITLE_CHARS],
            always=["*"],
        )
        values = {name: getattr(arguments, name) for name in type(arguments).model_fields}
        if self._context_parameter is not None:
            values[self._context_parameter] = context
        try:
            result = await self._call(values, context)
        except (PalimpsestError, asyncio.CancelledError):
            raise
        except ExitAttempted as exit_error:
            raise UserError(f"{self.name} failed: {exit_error}.") from exit_error
        except Exception as error:
            raise UserError(f"{self.name} failed: {type(error).__name__}: {error}") from error
        if isinstance(result, ToolOutcome):
            return result
        return ToolOutcome(self.name, context.scrubber()(_result_text(result)))

    async def _call(self, values: dict[str, Any], context: ToolContext) -> Any:
        if context.abort.is_set():
            raise Aborted(context.abort.reason)
        if inspect.iscoroutinefunction(self.function):
            return await await_contained(self.function(**values))
        return await run_in_thread(context.abort, lambda: self.function(**values))


def _argument_field(
    tool: str, parameter: inspect.Parameter, hint: Any, descriptions: dict[str, str]
) -> tuple[Any, Any]:
    kinds_without_name = (
        parameter.VAR_POSITIONAL,
        parameter.VAR_KEYWORD,
        parameter.POSITIONAL_ONLY,
    )
    if parameter.kind in kinds_without_name:
        raise UserError(
            f"The function {tool!r} cannot become a tool: its parameter {parameter.name!r} has no name to pass it by."
        )
    default = ... if parameter.default is parameter.empty else parameter.default
    if isinstance(default, FieldInfo):
        return hint, default
    return hint, Field(default=default, description=descriptions.get(parameter.name))


def _split_docstring(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """Split a docstring into the description of the tool and those of its arguments by name."""
    text = inspect.getdoc(function) or ""
    section = DOCSTRING_SECTION.search(text)
    if section is None:
        return text.strip(), {}
    arguments: dict[str, str] = {}
    if section[1] in ("Args", "Arguments", "Parameters"):
        next_section = DOCSTRING_SECTION.search(text, section.end())
        body = text[section.end() : next_section.start() if next_section else len(text)]
        for line in body.splitlines():
            if match := DOCSTRING_ARGUMENT.match(line):
                arguments[match[1]] = match[2].strip()
            elif arguments and line.strip():
                last_name = next(reversed(arguments))
                arguments[last_name] += " " + line.strip()
    return text[: section.start()].strip(), arguments


def _result_text(result: object) -> str:
    if result is None:
        return "(done)"
    if isinstance(result, str):
        return result
    if isinstance(result, dict | list | tuple | int | float | bool):
        try:
            return json.dumps(result, ensure_ascii=False, indent=None)
        except (TypeError, ValueError):
            return repr(result)
    return repr(result)

"""The variables tool: list the user's variables, or describe one.

Border: reads through ``Namespace``, which changes nothing, so no permission is asked. The list shows the
details that the setting ``variables`` allows; only a named variable is described with its value.
"""

from pydantic import BaseModel, Field

from palimpsest.tools.tool import (
    TYPES,
    Detail,
    ShownVariables,
    ToolContext,
    ToolOutcome,
    VariableInfo,
)
from palimpsest.transcript.errors import UserError

MOST_VARIABLES = 200
"""Maximum lines of the list."""


class VariablesArguments(BaseModel):
    """Input of the variables tool."""

    name: str | None = Field(
        default=None,
        description="A variable, or a path such as df.columns, to describe at length. Leave out to list all.",
    )


class VariablesTool:
    """The variables tool, which lists the user's variables or describes one."""

    name = "variables"
    description = (
        "List the variables in the user's kernel, one line each, or describe one at length (value, columns, "
        "types, first rows, statistics). Runs no code of the user but a class's own description."
    )
    arguments: type[BaseModel] = VariablesArguments
    concurrent = True
    permission = "variables"

    async def run(self, arguments: VariablesArguments, context: ToolContext) -> ToolOutcome:
        """Describe one variable or list them all."""
        if context.namespace is None:
            raise UserError("There is no kernel here, so there are no variables.")
        clean = context.scrubber()
        name = (arguments.name or "").strip()
        if name:
            return ToolOutcome(name, clean(await context.namespace.describe(name)))
        detail: Detail = context.extra.get("variables", TYPES.detail)
        found = await context.namespace.list(ShownVariables(detail))
        lines = [_line(one) for one in found[:MOST_VARIABLES]]
        if len(found) > MOST_VARIABLES:
            lines.append(f"({len(found) - MOST_VARIABLES} more variables are not listed.)")
        title = "1 variable" if len(found) == 1 else f"{len(found)} variables"
        output = clean("\n".join(lines)) or "The user has no variables yet."
        return ToolOutcome(title, output, {"count": len(found)})


def _line(one: VariableInfo) -> str:
    words = one.summary if one.value is None else one.value
    return " - ".join(
        word for word in (f"{one.name}: {one.kind}" if one.kind else one.name, words) if word
    )

"""The variables tool: list the user's variables, or describe one.

Border: reads through ``Namespace``, which changes nothing, so no permission is needed. The list shows the
details that the setting ``variables`` allows; a single requested variable is described with its value.
"""

from pydantic import BaseModel, Field

from palimpsest.tools.tool import (
    NAMES_AND_TYPES,
    Detail,
    ShownVariables,
    ToolContext,
    ToolOutcome,
    VariableInfo,
)
from palimpsest.transcript.errors import UserError

MAX_VARIABLES = 200
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
        scrub = context.scrubber()
        name = (arguments.name or "").strip()
        if name:
            return ToolOutcome(name, scrub(await context.namespace.description_of(name)))
        detail: Detail = context.extra_values.get("variables", NAMES_AND_TYPES.detail)
        variables = await context.namespace.list(ShownVariables(detail))
        lines = [_variable_line(variable) for variable in variables[:MAX_VARIABLES]]
        if len(variables) > MAX_VARIABLES:
            lines.append(f"({len(variables) - MAX_VARIABLES} more variables are not listed.)")
        title = "1 variable" if len(variables) == 1 else f"{len(variables)} variables"
        output = scrub("\n".join(lines)) or "The user has no variables yet."
        return ToolOutcome(title, output, {"count": len(variables)})


def _variable_line(variable: VariableInfo) -> str:
    description = variable.summary if variable.value is None else variable.value
    name = f"{variable.name}: {variable.kind}" if variable.kind else variable.name
    return " - ".join(text for text in (name, description) if text)

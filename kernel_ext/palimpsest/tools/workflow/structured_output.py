"""The StructuredOutput tool: the model calls it to give its final answer in the requested JSON schema.

Border: the input of the call is the answer. It is validated before the tool runs, and the loop stores
it with the message and ends the turn.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from palimpsest.tools.calls.schema_validation import schema_arguments
from palimpsest.tools.tool import ToolContext, ToolOutcome

STRUCTURED_OUTPUT_NAME = "StructuredOutput"

ANSWER_BY_TOOL = (
    "The user wants the answer to this prompt in a given form. Do all the work first; then give the answer by "
    f"calling the tool {STRUCTURED_OUTPUT_NAME} once, with everything that belongs to the answer in its input. "
    "An answer in words alone does not count."
)
"""The instruction in the system prompt of a turn with a schema."""


class StructuredOutputTool:
    """The StructuredOutput tool, whose input is the answer."""

    name = STRUCTURED_OUTPUT_NAME
    permission = STRUCTURED_OUTPUT_NAME
    description = "Give the final answer in the form that the user asked for. Call it once, at the end: the turn is over then."
    concurrent = True

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self.arguments: type[BaseModel] = schema_arguments(
            STRUCTURED_OUTPUT_NAME, schema, is_strict=True
        )

    async def run(self, _arguments: BaseModel, _context: ToolContext) -> ToolOutcome:
        """Confirm the answer."""
        return ToolOutcome(title="Answer", output="The answer was taken in this form.")

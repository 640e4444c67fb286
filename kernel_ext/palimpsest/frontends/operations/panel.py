"""Commands of the panel only: choose the model or the agent of the next prompt, and open the inspector."""

import asyncio
from typing import Annotated, ClassVar, Literal

from palimpsest.frontends.operation_base.operation import (
    OneWord,
    Operation,
    OperationContext,
    single_form,
)
from palimpsest.frontends.operation_text.command_output import TitledTable, joined_output
from palimpsest.frontends.operations.definitions import model_lines
from palimpsest.frontends.protocol.connection import TypedAnswer
from palimpsest.transcript.errors import UserError


class ChooseModel(Operation):
    """Choose the model of the panel's next prompt, or list the models."""

    type: Literal["model"] = "model"
    model: Annotated[str | None, OneWord(completed_by="model")] = None
    """None lists them."""
    in_page: ClassVar[bool] = False
    forms = single_form(
        "model",
        "the model that answers from the next prompt on: %agent model NAME",
        ("model",),
        in_cell=False,
    )

    async def run(self, context: OperationContext) -> TypedAnswer:
        if self.model is None:
            lines = await asyncio.to_thread(model_lines, context.services)
            return TypedAnswer(markdown=joined_output(lines).markdown)
        context.services.check_model(self.model)
        return TypedAnswer(model=self.model)


class ChooseAgent(Operation):
    """Choose the agent that answers the panel's next prompt, or list those that can."""

    type: Literal["agent"] = "agent"
    agent: Annotated[str | None, OneWord(completed_by="agent")] = None
    """None lists them."""
    in_page: ClassVar[bool] = False
    forms = single_form(
        "agent",
        "the agent that answers from the next prompt on: %agent agent NAME",
        ("agent",),
        in_cell=False,
    )

    async def run(self, context: OperationContext) -> TypedAnswer:
        agents = await asyncio.to_thread(context.services.agents)
        if self.agent is None:
            table = TitledTable("", ("agent", "what it is for"), [(*row,) for row in agents])
            return TypedAnswer(markdown=joined_output([table]).markdown)
        names = [name for name, _ in agents]
        if self.agent not in names:
            sentence = f"No agent {self.agent!r} can answer here. There are {', '.join(names)}."
            raise UserError(sentence)
        return TypedAnswer(agent=self.agent)


class OpenInspector(Operation):
    """Open the inspector of the session."""

    type: Literal["open-inspector"] = "open-inspector"
    in_page: ClassVar[bool] = False
    forms = single_form(
        "inspect",
        "what the model saw in each request, when that changed, and what it cost",
        in_cell=False,
        view="inspector",
    )

    async def run(self, context: OperationContext) -> TypedAnswer:  # noqa: ARG002
        return TypedAnswer(view="inspector")

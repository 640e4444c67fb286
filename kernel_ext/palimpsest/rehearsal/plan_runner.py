"""Run plans: generators that choose the tool calls of a turn and its final answer.

A plan yields a ``PlannedCall``, is sent the ``ToolResult``, and returns a ``PlanAnswer``.
No state is kept between requests: at every step the plan is replayed from the start with the results that
are already in this turn, and the first call without a result is the next one.
"""

from collections.abc import Generator, Sequence, Set
from dataclasses import dataclass
from typing import Any, TypeVar

from palimpsest.rehearsal.parsing.conversation import Conversation, Exchange, ToolUse
from palimpsest.rehearsal.parsing.prompt_parser import ParsedPrompt
from palimpsest.rehearsal.parsing.tool_outputs import ToolResult, inline_code, text_block

MAX_REFUSAL_CHARS = 300
MAX_INPUT_LINES = 40
MAX_CALLS = 12
"""The limit of calls in a turn: a plan needs at most eight, so more mean that a result was not recognised."""


@dataclass(frozen=True)
class PlannedCall:
    """A tool call of a plan, with the reason for it."""

    reasoning: str
    tool_use: ToolUse


@dataclass(frozen=True)
class PlanAnswer:
    """The final answer of a plan, which ends the turn."""

    text: str
    reasoning: str = ""


class PlanEnded(Exception):
    """Ends a plan from inside one of its steps, with ``answer`` as the final answer."""

    def __init__(self, text: str) -> None:
        self.answer = PlanAnswer(text)


Result = TypeVar("Result")
Steps = Generator[PlannedCall, ToolResult, Result]
"""A part of a plan: a generator that yields calls, is sent their results, and returns a value."""
Plan = Steps[PlanAnswer]


@dataclass(frozen=True)
class PlanRunner:
    """The inputs of a plan: prompt, conversation and tools."""

    prompt: ParsedPrompt
    conversation: Conversation
    tools: Set[str]
    """The names of the tools that are offered, or were used in this turn."""

    def require_tool(self, tool: str, purpose: str) -> None:
        """Raise ``PlanEnded`` with an explanation where a tool is not offered."""
        if tool not in self.tools:
            raise PlanEnded(
                f"I would need the `{tool}` tool {purpose}, and it is not offered in this step."
            )

    def planned_call(self, reasoning: str, tool: str, **inputs: Any) -> PlannedCall:
        """Return a planned call."""
        return PlannedCall(reasoning, ToolUse(tool, inputs))


def next_step(plan: Plan, exchanges: Sequence[Exchange]) -> PlannedCall | PlanAnswer:
    """Replay a plan with the results so far, and return its next call or its answer."""
    unused_exchanges = iter(exchanges)
    try:
        planned_call = next(plan)
        while True:
            # Outputs of other tools before the next output of this tool are dropped.
            tool = planned_call.tool_use.tool
            exchange = next(
                (candidate for candidate in unused_exchanges if candidate.tool_use.tool == tool),
                None,
            )
            if exchange is None:
                return planned_call
            result = ToolResult(exchange.output)
            if result.is_refused:
                return refused_answer(planned_call, result)
            planned_call = plan.send(result)
    except StopIteration as end:
        answer: PlanAnswer = end.value
        return answer
    except PlanEnded as end:
        return end.answer
    finally:
        plan.close()


def refused_answer(call: PlannedCall, result: ToolResult) -> PlanAnswer:
    """Return the answer after a refused call, with the input that it would have had."""
    refusal = result.text.strip().splitlines()[0][:MAX_REFUSAL_CHARS]
    return PlanAnswer(
        f"I stopped, because {inline_code(call.tool_use.tool)} was not permitted: {refusal}\n\n"
        f"This is what I would have done:\n\n{shown_input(call.tool_use)}",
        "The call was refused, so I stop here and try no other way.",
    )


def shown_input(call: ToolUse) -> str:
    """Return a call's input as Markdown."""
    for key in ("code", "command", "content"):
        if isinstance(call.input.get(key), str):
            others_text = ", ".join(f"{k}={v!r}" for k, v in call.input.items() if k != key)
            return (f"{inline_code(others_text)}\n\n" if others_text else "") + text_block(
                call.input[key], MAX_INPUT_LINES
            )
    inputs_text = ", ".join(f"{key}={value!r}" for key, value in call.input.items())
    return inline_code(f"{call.tool}({inputs_text})")

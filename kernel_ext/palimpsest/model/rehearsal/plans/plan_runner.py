"""Run plans: generators that choose the tool calls of a turn and its final answer.

A plan yields a ``PlannedCall``, is sent the ``ToolResult``, and returns a ``PlanAnswer``.
No state is kept between requests: at every step the plan is replayed from the start with
the results that this turn already has, and the first call without a result is the next one.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from palimpsest.model.rehearsal.parsing.conversation import Conversation, Exchange, ToolUse
from palimpsest.model.rehearsal.parsing.prompt_parser import ParsedPrompt
from palimpsest.model.rehearsal.parsing.query_spec import QuerySpec
from palimpsest.model.rehearsal.parsing.tool_outputs import ToolResult, quoted, span
from palimpsest.transcript.values import ToolSpec

MOST_ACTS = 12
"""A plan needs at most eight calls; more than this means that results do not come back as sent."""


@dataclass(frozen=True)
class PlannedCall:
    """A tool call, and why."""

    thought: str
    call: ToolUse


@dataclass(frozen=True)
class PlanAnswer:
    """The answer that ends a turn."""

    text: str
    thought: str = ""
    topic: QuerySpec | None = None
    """What was computed, for a follow-up prompt."""


class PlanEnded(Exception):
    """Ends a plan from inside of one of its steps; ``answer`` is what it answers."""

    def __init__(self, text: str) -> None:
        self.answer = PlanAnswer(text)


Found = TypeVar("Found")
Steps = Generator[PlannedCall, ToolResult, Found]
"""Part of a plan: calls, and what they found."""
Plan = Steps[PlanAnswer]

SYNONYMS: Mapping[str, tuple[str, ...]] = {
    "code": ("code", "source", "input"),
    "name": ("name", "variable"),
    "path": ("path", "filePath", "file_path", "file", "filename", "directory", "dir"),
    "content": ("content", "contents", "text"),
    "old": ("old", "oldString", "old_string", "old_text", "search"),
    "new": ("new", "newString", "new_string", "new_text", "replace"),
    "replace_all": ("replace_all", "replaceAll", "all"),
    "pattern": ("pattern", "regex", "query"),
    "include": ("include", "glob", "files"),
    "command": ("command", "cmd"),
    "limit": ("limit", "max_lines"),
    "offset": ("offset", "start"),
}
"""Other names of a tool's parameters; the schema in the request says which one holds."""


@dataclass(frozen=True)
class PlanRunner:
    """The inputs of a plan: prompt, conversation, tools and the topic of earlier turns."""

    prompt: ParsedPrompt
    conversation: Conversation
    tools: Mapping[str, ToolSpec]
    topic: QuerySpec | None = None
    known_names: tuple[str, ...] = ()
    """Variables and files seen in this conversation, for examples."""

    def can(self, *tools: str) -> bool:
        """Tell whether all of these tools are offered."""
        return all(tool in self.tools for tool in tools)

    def need(self, tool: str, purpose: str, where: str = "in this step") -> None:
        """End the plan with a sentence that says so where a tool is not offered."""
        if tool not in self.tools:
            raise PlanEnded(
                f"I would need the `{tool}` tool {purpose}, and it is not offered {where}."
            )

    def act(self, thought: str, tool: str, **inputs: Any) -> PlannedCall:
        """Make a planned call, with the parameter names that the tool's schema has."""
        spec = self.tools.get(tool)
        properties = (spec.parameters.get("properties") or {}) if spec else {}
        if tool == "edit" and "edits" in properties:
            path = inputs.pop("path")
            inputs = {"path": path, "edits": [inputs]}
        return PlannedCall(
            thought,
            ToolUse(tool, {_named(key, properties): value for key, value in inputs.items()}),
        )


def _named(key: str, properties: Mapping[str, Any]) -> str:
    if not properties or key in properties:
        return key
    return next((name for name in SYNONYMS.get(key, ()) if name in properties), key)


def next_step(plan: Plan, exchanges: Sequence[Exchange]) -> PlannedCall | PlanAnswer:
    """Replay a plan with the results so far, and return what comes next."""
    waiting = list(exchanges)
    try:
        act = next(plan)
        while True:
            output = _take(waiting, act.call.tool)
            if output is None:
                return act
            result = ToolResult(output)
            if result.refused:
                return refused_answer(act, result)
            act = plan.send(result)
    except StopIteration as end:
        answer: PlanAnswer = end.value
        return answer
    except PlanEnded as end:
        return end.answer
    finally:
        plan.close()


def _take(waiting: list[Exchange], tool: str) -> str | None:
    """Return the next result of this tool; results of other tools before it are skipped."""
    for at, exchange in enumerate(waiting):
        if exchange.call.tool == tool:
            del waiting[: at + 1]
            return exchange.output
    return None


def refused_answer(act: PlannedCall, result: ToolResult) -> PlanAnswer:
    """Return an answer that shows what would have been done; the plan stops there."""
    words = result.text.strip().splitlines()[0][:300]
    return PlanAnswer(
        f"I stopped, because {span(act.call.tool)} was not permitted: {words}\n\n"
        f"This is what I would have done:\n\n{shown_input(act.call)}",
        "The call was refused, so I stop here and try no other way.",
    )


def shown_input(call: ToolUse) -> str:
    """Return a call's input for reading."""
    for key in ("code", "command", "content"):
        if isinstance(call.input.get(key), str):
            others = ", ".join(f"{k}={v!r}" for k, v in call.input.items() if k != key)
            return (f"{span(others)}\n\n" if others else "") + quoted(call.input[key], 40)
    inputs = ", ".join(f"{key}={value!r}" for key, value in call.input.items())
    return span(f"{call.tool}({inputs})")

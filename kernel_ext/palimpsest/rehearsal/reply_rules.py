"""The rules of the rehearsal model as one pure function from a request to a reply.

The same request always gives the same reply, since nothing but the messages is remembered.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

from palimpsest.rehearsal import extractive_summary
from palimpsest.rehearsal.parsing.conversation import (
    SUMMARY_PROMPT,
    Conversation,
    Messages,
    ToolUse,
    read_conversation,
)
from palimpsest.rehearsal.parsing.prompt_parser import ParsedPrompt
from palimpsest.rehearsal.parsing.tool_outputs import inline_code
from palimpsest.rehearsal.parsing.vocabulary import word_set
from palimpsest.rehearsal.plan_runner import (
    MAX_CALLS,
    PlanAnswer,
    PlannedCall,
    PlanRunner,
    next_step,
    shown_input,
)
from palimpsest.rehearsal.prompt_kinds import plan_for, prompt_kind
from palimpsest.rehearsal.small_talk import NOTICE, NOTICE_MARK, open_question
from palimpsest.rehearsal.structured_answer import filled_schema
from palimpsest.transcript.values import ToolSpec

ANSWER_TOOL = "StructuredOutput"
"""The tool whose input is a structured answer."""
PLAN_TOOLS = word_set("python variables read write list glob grep bash notebook cells")
"""The tools that plans call."""


@dataclass(frozen=True)
class RehearsalReply:
    """The model's reply: thoughts first, then text, then calls."""

    reasoning: str = ""
    text: str = ""
    tool_uses: tuple[ToolUse, ...] = ()


def reply(
    messages: Messages,
    tools: Sequence[ToolSpec] = (),
    purpose: str = "step",
    parameters: Mapping[str, Any] | None = None,
) -> RehearsalReply:
    """Return the reply to a request."""
    conversation = read_conversation(messages)
    if purpose == "title" or extractive_summary.asks_for_title(conversation):
        return RehearsalReply(text=extractive_summary.title_of(conversation))
    if purpose == "turn-summary":
        return RehearsalReply(text=extractive_summary.turn_summary_of(conversation))
    if purpose == "compaction" or extractive_summary.asks_for_summary(conversation):
        return RehearsalReply(text=extractive_summary.summary_of(conversation))
    offered_tools = {tool.name: tool for tool in tools}
    if (parameters or {}).get("tool_choice") == "none":
        offered_tools = {}
    answer = _next_reply(conversation, offered_tools.keys())
    tool = offered_tools.get(ANSWER_TOOL)
    return answer if tool is None or answer.tool_uses else _with_structured_answer(answer, tool)


def _with_structured_answer(answer: RehearsalReply, tool: ToolSpec) -> RehearsalReply:
    """Add a call of ``StructuredOutput`` to an answer, where the answer's text can fill the schema."""
    values = filled_schema(tool.parameters, extractive_summary.without_notice(answer.text))
    if values is None:
        return answer
    return replace(answer, tool_uses=(ToolUse(ANSWER_TOOL, values),))


def _next_reply(conversation: Conversation, offered_tools: Set[str]) -> RehearsalReply:
    turn = conversation.current
    # With the tools that this turn used, a replay of the plan takes the same branches.
    used_tools = {exchange.tool_use.tool for exchange in turn.exchanges}
    tools = offered_tools | used_tools if offered_tools else PLAN_TOOLS
    prompt = ParsedPrompt(turn.prompt)
    kind = prompt_kind(prompt)
    if kind.name == "continue" and (unanswered := _unanswered_prompt(conversation)):
        prompt = ParsedPrompt(unanswered)
        kind = prompt_kind(prompt)
    next_plan_step = next_step(
        plan_for(PlanRunner(prompt, conversation, tools), kind), turn.exchanges
    )
    may_call = bool(offered_tools) and len(turn.exchanges) < MAX_CALLS
    if isinstance(next_plan_step, PlannedCall) and not may_call:
        next_plan_step = PlanAnswer(
            f"No more tools may be called in this turn, so I stop here. Next I would have called {inline_code(next_plan_step.tool_use.tool)}:\n\n{shown_input(next_plan_step.tool_use)}",
            "A tool is needed, and none is offered in this step.",
        )
    reasoning = next_plan_step.reasoning
    if not turn.exchanges and isinstance(next_plan_step, PlannedCall):
        op, why = kind.request.op, kind.request.why
        rule_text = (
            f"The words {why!r} fire the rule {op}."
            if op
            else f"The prompt fires the rule {kind.name}."
        )
        reasoning = f"{rule_text} {reasoning}"
    has_notice = any(NOTICE_MARK in text for past in conversation.turns for text in past.answers)
    notice = "" if has_notice else NOTICE
    if isinstance(next_plan_step, PlannedCall):
        return RehearsalReply(reasoning, notice, (next_plan_step.tool_use,))
    return RehearsalReply(
        reasoning, "\n\n".join(part for part in (notice, next_plan_step.text) if part)
    )


def _unanswered_prompt(conversation: Conversation) -> str | None:
    """Return the earlier prompt that has no answer, because of a compaction or a stop."""
    if conversation.summary and (unanswered := open_question(conversation.summary)):
        return unanswered
    earlier = [turn for turn in conversation.earlier if turn.prompt != SUMMARY_PROMPT]
    if earlier and not earlier[-1].answers and not conversation.current.exchanges:
        return earlier[-1].prompt
    return None

"""The rules of the rehearsal model as one pure function: a request in, a reply out.

The same request always gives the same reply. There is no memory besides the messages.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from palimpsest.model.rehearsal.extractive_summary import (
    is_compaction,
    is_title,
    summary_of,
    title_of,
    turn_summary_of,
    without_notice,
)
from palimpsest.model.rehearsal.parsing.conversation import (
    COMPACTED,
    Conversation,
    Exchange,
    Messages,
    PastTurn,
    ToolUse,
    read_conversation,
)
from palimpsest.model.rehearsal.parsing.prompt_parser import ParsedPrompt
from palimpsest.model.rehearsal.parsing.query_spec import QuerySpec
from palimpsest.model.rehearsal.parsing.tables import parse_variables
from palimpsest.model.rehearsal.parsing.tool_outputs import span
from palimpsest.model.rehearsal.plans.intents import Intent, plan_for, read_intent
from palimpsest.model.rehearsal.plans.plan_runner import (
    MOST_ACTS,
    PlanAnswer,
    PlannedCall,
    PlanRunner,
    next_step,
    shown_input,
)
from palimpsest.model.rehearsal.plans.small_talk import (
    NOTICE,
    NOTICE_MARK,
    known_names,
    open_question,
)
from palimpsest.model.rehearsal.plans.table_search import paths_in
from palimpsest.model.rehearsal.structured_answer import filled_schema
from palimpsest.transcript.values import ToolSpec

FORM = "StructuredOutput"
"""The tool that takes a structured answer."""
TURNS_REMEMBERED = 12
"""A follow-up reaches back this far at most; earlier topics are no longer what *it* means."""
TOOLS = ("python", "variables", "read", "write", "edit", "list", "glob", "grep", "bash")


@dataclass(frozen=True)
class RehearsalReply:
    """What the model answers: thoughts first, then text, then calls."""

    thoughts: str = ""
    text: str = ""
    calls: tuple[ToolUse, ...] = ()


def reply(
    messages: Messages,
    tools: Sequence[ToolSpec] = (),
    purpose: str = "step",
    parameters: Mapping[str, Any] | None = None,
) -> RehearsalReply:
    """Return the answer to a request."""
    conversation = read_conversation(messages)
    if purpose == "title" or is_title(conversation):
        return RehearsalReply(text=title_of(conversation))
    if purpose == "turn-summary":
        return RehearsalReply(text=turn_summary_of(conversation))
    if purpose == "compaction" or is_compaction(conversation):
        return RehearsalReply(text=summary_of(conversation))
    offered = {tool.name: tool for tool in tools}
    if (parameters or {}).get("tool_choice") == "none":
        offered = {}
    answered = _step(conversation, offered)
    form = offered.get(FORM)
    return answered if form is None or answered.calls else _in_form(answered, form)


def _in_form(answered: RehearsalReply, form: ToolSpec) -> RehearsalReply:
    """Add a call of ``StructuredOutput`` to an answer, where its text holds what the schema requires."""
    given = filled_schema(form.parameters, without_notice(answered.text))
    if given is None:
        return answered
    return replace(answered, calls=(ToolUse(FORM, given),))


def _step(conversation: Conversation, offered: dict[str, ToolSpec]) -> RehearsalReply:
    turn = conversation.current
    topic = topic_of(conversation.earlier, offered)
    tools = (
        _with_used(offered, turn.exchanges) if offered else {name: _unknown(name) for name in TOOLS}
    )
    prompt = ParsedPrompt(turn.prompt)
    intent = read_intent(prompt, topic)
    if intent.kind == "continue" and (left := _left_open(conversation)):
        prompt = ParsedPrompt(left)
        intent = read_intent(prompt, topic)
    runner = PlanRunner(prompt, conversation, tools, topic, names_seen(conversation))
    move = next_step(plan_for(runner, intent), turn.exchanges)
    if isinstance(move, PlannedCall) and (not offered or len(turn.exchanges) >= MOST_ACTS):
        move = PlanAnswer(
            f"No more tools may be called in this turn, so I stop here. Next I would have called {span(move.call.tool)}:\n\n{shown_input(move.call)}",
            "A tool is needed, and none is offered in this step.",
        )
    thoughts = move.thought
    if not turn.exchanges and isinstance(move, PlannedCall):
        thoughts = f"{_reason(intent)} {thoughts}"
    told = any(NOTICE_MARK in text for past in conversation.turns for text in past.said)
    notice = "" if told else NOTICE
    if isinstance(move, PlannedCall):
        return RehearsalReply(thoughts, notice, (move.call,))
    return RehearsalReply(thoughts, "\n\n".join(part for part in (notice, move.text) if part))


def _unknown(name: str) -> ToolSpec:
    return ToolSpec(name=name, description="", parameters={})


def _with_used(
    offered: Mapping[str, ToolSpec], exchanges: Sequence[Exchange]
) -> dict[str, ToolSpec]:
    """Add the tools that this turn used, so that a replay of the plan takes the same branches."""
    used = {exchange.call.tool: _unknown(exchange.call.tool) for exchange in exchanges}
    return {**used, **offered}


def _reason(intent: Intent) -> str:
    if intent.wish.op:
        return f"The words {intent.wish.why!r} fire the rule {intent.wish.op}."
    return f"The prompt fires the rule {intent.kind}."


def _left_open(conversation: Conversation) -> str | None:
    """Return the prompt that a compaction or a stop left without an answer."""
    if conversation.summary and (left := open_question(conversation.summary)):
        return left
    earlier = [turn for turn in conversation.earlier if turn.prompt != COMPACTED]
    if earlier and not earlier[-1].said and not conversation.current.exchanges:
        return earlier[-1].prompt
    return None


def topic_of(turns: Sequence[PastTurn], offered: Mapping[str, ToolSpec]) -> QuerySpec | None:
    """Replay the earlier turns to find what the last one about data computed."""
    topic: QuerySpec | None = None
    for at, turn in list(enumerate(turns))[-TURNS_REMEMBERED:]:
        if not turn.exchanges:
            continue
        prompt = ParsedPrompt(turn.prompt)
        before = Conversation("", tuple(turns[: at + 1]))
        runner = PlanRunner(prompt, before, _with_used(offered, turn.exchanges), topic)
        move = next_step(plan_for(runner, read_intent(prompt, topic)), turn.exchanges)
        if isinstance(move, PlanAnswer) and move.topic:
            topic = move.topic
    if topic and topic.op == "columns":
        topic = replace(topic, op="describe")
    return topic


def names_seen(conversation: Conversation) -> tuple[str, ...]:
    """Return variables and files that tools showed in this conversation."""
    variables: dict[str, Any] = {}
    files: dict[str, None] = {}
    for turn in conversation.turns:
        for exchange in turn.exchanges:
            if exchange.call.tool == "variables" and not exchange.call.input:
                variables |= {
                    variable.name: variable for variable in parse_variables(exchange.output)
                }
            elif exchange.call.tool == "glob":
                files |= dict.fromkeys(paths_in(exchange.output))
    return known_names(tuple(variables.values()), list(files))

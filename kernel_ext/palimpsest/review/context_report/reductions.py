"""List the reductions of a request: the parts that are summarised, cleared, cut or left out, and the rule of each.

Only current reductions are listed: a decision that the user reversed is not, and covered messages are listed as their
summary. Texts come from the session; the caller passes a function that removes secrets.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from palimpsest.context.budget.request_tokens import message_tokens
from palimpsest.context.compaction.summary_request import COMPACT_RULE as COMPACT
from palimpsest.context.conversion.part_conversion import is_from_failed_attempt, neutral_messages
from palimpsest.context.request_assembly.turn_limit import with_turn_limit
from palimpsest.context.request_kinds.request_inputs import RequestInputs
from palimpsest.context.visible_messages import good_summaries, marker, without_undone_compactions
from palimpsest.render.content.decision_reasons import reason
from palimpsest.render.content.phrases import count, counted_noun
from palimpsest.request_items import Scrub, name_and_first_line, state_of
from palimpsest.review.context_report.window_contents import WAY_OF_STATE, DecisionTime, Reduction
from palimpsest.transcript.context_values.decisions import REDUCTIONS, Decision, EffectiveDecisions
from palimpsest.transcript.errors import AbortedError
from palimpsest.transcript.messages import AssistantMessage, Message, Messages
from palimpsest.transcript.parts import (
    CompactionPart,
    Part,
    StepFinishPart,
    StepStartPart,
    TextPart,
    ToolPart,
)
from palimpsest.transcript.provider_calls import (
    DIALECT,
    MAX_SENT_TEXT_CHARS,
    RESPONSES,
    is_left_out,
    is_provider_call,
    sent_result,
)
from palimpsest.transcript.user_notices import COMMAND_KEY, user_notice_text

LIMIT_RULE = "history limit"
EXCLUDED_RULE = "by hand"
FAILED_RULE = "failed answers"
REPEATED_RULE = "failed attempts"
PROVIDER_CALL_RULE = "ran at a provider"
OTHER_PROVIDER_REASON = (
    "It ran at {ran_at}, whose own form {model} does not know, so that call and result are told as text, at most {max_chars} "
    "characters of the result."
)
SAME_PROVIDER_REASON = (
    "{ran_at} takes such an item back only beside the reasoning before it, and while its server keeps both, so that call "
    "and result are told as text, at most {max_chars} characters of the result."
)
LEFT_OUT_REASON = "{ran_at} has no form in which it takes such a call back; the words of the answer tell what it found."


def reductions(
    inputs: RequestInputs, times: Mapping[str, DecisionTime], scrub: Scrub
) -> tuple[Reduction, ...]:
    """Return the reductions of a request: those of messages first, then those of parts, in order."""
    visible_messages = inputs.view.folded_messages(inputs.policy.compact)
    builder = _ReductionBuilder(inputs, times, scrub)
    rows = [
        *builder.summary_reduction(visible_messages),
        *builder.turn_limit_reduction(visible_messages),
        *builder.failed_answer_reduction(visible_messages),
        *builder.repeated_answer_reduction(visible_messages),
        *builder.part_reductions(visible_messages),
    ]
    return tuple(rows)


def ids_of_timed_decisions(inputs: RequestInputs) -> frozenset[str]:
    """Return the ids of the decisions for which the report shows a time."""
    return frozenset(
        decision.id
        for decision in inputs.view.decisions
        if decision.action in REDUCTIONS or decision.rule == COMPACT
    )


@dataclass(frozen=True, slots=True)
class _ReductionBuilder:
    """Yields the reductions of one request."""

    inputs: RequestInputs
    times: Mapping[str, DecisionTime]
    scrub: Scrub

    def summary_reduction(self, visible_messages: Messages) -> Iterator[Reduction]:
        """Yield the reduction for the newest summary, which includes the older ones."""
        summaries = good_summaries(visible_messages)
        marked_compaction = next(
            (
                message
                for message in reversed(visible_messages)
                if marker(message) and message.id in summaries
            ),
            None,
        )
        hidden_count = self._hidden_count(visible_messages)
        if marked_compaction is None:
            # As under the presets of some other agents.
            if hidden_count:
                yield Reduction(
                    way="summarise",
                    name="summary",
                    text=f"{counted_noun(hidden_count, 'message')} hidden by a summary that failed",
                    rule=COMPACT,
                    reason="Under this policy a summary that failed hides what came before, too.",
                    numbers={"messages": hidden_count},
                )
            return
        marker_part = marker(marked_compaction)
        summary = visible_messages[summaries[marked_compaction.id]]
        summary_decision = self._decision_of_summary(summary.id)
        cause_text = (
            "as asked"
            if marker_part is None or not marker_part.auto
            else "since the window was nearly full"
        )
        yield Reduction(
            way="summarise",
            name="summary",
            text=f"{counted_noun(hidden_count, 'message')} told in a summary, {cause_text}",
            rule=COMPACT,
            message_id=summary.id,
            **({"reason": ""} if summary_decision is None else self._fields_of(summary_decision)),
        )

    def _fields_of(self, decision: Decision) -> dict[str, Any]:
        """Return the fields of a reduction that come from a decision."""
        return {
            "reason": self.scrub(reason(decision)),
            "numbers": dict(decision.numbers),
            "tokens_before": decision.tokens_before,
            "tokens_after": decision.tokens_after,
            "decided_at": self.times.get(decision.id),
        }

    def _hidden_count(self, visible_messages: Messages) -> int:
        """Return how many messages are hidden by the fold, without those of undone compactions."""
        view = self.inputs.view
        shown_ids = {message.id for message in visible_messages}
        valid_messages = without_undone_compactions(view.messages, view.decisions)
        hidden_count = sum(message.id not in shown_ids for message in valid_messages)
        return self.inputs.unloaded_count + hidden_count

    def _decision_of_summary(self, summary_id: str) -> Decision | None:
        summary_decisions = (
            decision
            for decision in reversed(self.inputs.view.decisions)
            if decision.rule == COMPACT and decision.message_id == summary_id
        )
        return next(summary_decisions, None)

    def turn_limit_reduction(self, visible_messages: Messages) -> Iterator[Reduction]:
        """Yield the reduction for turns that a history limit leaves out of every request."""
        inputs = self.inputs
        max_turns = inputs.policy.history_limit
        request_messages = neutral_messages(
            visible_messages, inputs.model.ref, inputs.policy.convert
        )
        sent_ids = {
            id(message)
            for message in with_turn_limit(request_messages, max_turns, inputs.policy.limit)
        }
        left_out_messages = [message for message in request_messages if id(message) not in sent_ids]
        if not left_out_messages:
            return
        turn_count = sum(message.role == "user" for message in left_out_messages)
        tokens = sum(message_tokens(message, inputs.count) for message in left_out_messages)
        yield Reduction(
            way="limit",
            name="earlier turns",
            text=f"{counted_noun(turn_count, 'turn')} not sent",
            rule=LIMIT_RULE,
            reason=f"The history limit of this session is {count(max_turns or 0)} turns.",
            numbers={"turns": max_turns},
            tokens_before=tokens,
            tokens_after=0,
        )

    def failed_answer_reduction(self, visible_messages: Messages) -> Iterator[Reduction]:
        """Yield the reduction for answers that ended in an error, which are stored and not sent again."""
        failed_count = sum(map(_is_unsent, visible_messages))
        if failed_count:
            yield Reduction(
                way="fail",
                name="failed answers",
                text=f"{count(failed_count)} not sent again",
                rule=FAILED_RULE,
                reason="What ended in an error is kept in the session, and not sent to the model again.",
                numbers={"answers": failed_count},
            )

    def repeated_answer_reduction(self, visible_messages: Messages) -> Iterator[Reduction]:
        """Yield the reduction for partial answers of requests that failed and were sent again."""
        partial_answers = [
            message
            for message in visible_messages
            if not _is_unsent(message) and any(map(is_from_failed_attempt, message.parts))
        ]
        if partial_answers:
            yield Reduction(
                way="fail",
                name=REPEATED_RULE,
                text=f"what came of {counted_noun(len(partial_answers), 'answer')} before the connection broke",
                rule=REPEATED_RULE,
                reason="A request that failed half-way was sent again. What had come of its answer is "
                "kept in the session, and not sent to the model.",
                numbers={"answers": len(partial_answers)},
            )

    def part_reductions(self, visible_messages: Messages) -> Iterator[Reduction]:
        """Yield the reductions of single parts that are cleared, cut or left out."""
        decisions = EffectiveDecisions(self.inputs.view.decisions)
        for message in visible_messages:
            for part in message.parts:
                decision = decisions.reduction(part.id, message.id)
                if decision is None and isinstance(part, ToolPart) and is_provider_call(part):
                    yield from self._provider_call_reduction(message, part)
                if isinstance(part, CompactionPart | StepStartPart | StepFinishPart):
                    continue
                if decision is not None:
                    yield self._part_reduction(
                        part,
                        way=WAY_OF_STATE[state_of(decision)],
                        rule=decision.rule,
                        **self._fields_of(decision),
                    )
                elif isinstance(part, TextPart) and part.ignored and not _is_for_user_only(part):
                    yield self._part_reduction(
                        part,
                        way="exclude",
                        rule=EXCLUDED_RULE,
                        reason="Somebody left this out of what the model sees.",
                        tokens_before=self.inputs.count(part.text),
                        tokens_after=0,
                    )

    def _part_reduction(self, part: Part, **fields: Any) -> Reduction:
        """Return a reduction of a part, under the part's name."""
        name, first_line = name_and_first_line(part, self.scrub)
        return Reduction(
            name=name, text=first_line, message_id=part.message_id, part_id=part.id, **fields
        )

    def _provider_call_reduction(self, message: Message, part: ToolPart) -> Iterator[Reduction]:
        """Yield the reduction of a provider's call that is sent as text, or left out where the provider does not accept it."""
        model, ran_at = self.inputs.model.ref, message.info.model.provider
        is_same_provider = ran_at == model.provider
        is_dropped = is_left_out(part, is_same_provider=is_same_provider)
        dialect = (part.metadata or {}).get(DIALECT)
        if is_same_provider and not is_dropped and dialect != RESPONSES:
            return
        result = str(getattr(part.state, "output", "") or getattr(part.state, "error", ""))
        native_form = sent_result(part, result, is_same_provider=True)
        sent_form = "" if is_dropped else sent_result(part, result, is_same_provider=False)
        template = (
            LEFT_OUT_REASON
            if is_dropped
            else SAME_PROVIDER_REASON
            if is_same_provider
            else OTHER_PROVIDER_REASON
        )
        yield self._part_reduction(
            part,
            way="drop" if is_dropped else "tell",
            rule=PROVIDER_CALL_RULE,
            reason=template.format(
                ran_at=ran_at, model=model.id, max_chars=count(MAX_SENT_TEXT_CHARS)
            ),
            tokens_before=self.inputs.count(
                result if is_dropped or is_same_provider else native_form
            ),
            tokens_after=self.inputs.count(sent_form),
        )


def _is_for_user_only(part: TextPart) -> bool:
    """Return whether a text was never meant for the model: a notice, or a command that was sent in expanded form."""
    return user_notice_text(part) is not None or COMMAND_KEY in (part.metadata or {})


def _is_unsent(message: Message) -> bool:
    error = message.info.error if isinstance(message.info, AssistantMessage) else None
    return error is not None and not isinstance(error, AbortedError)

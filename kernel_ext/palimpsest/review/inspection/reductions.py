"""List what a request no longer shows whole: summarised, cleared, cut or left out, and by which rule.

Only what holds now: a decision that the user reversed is not listed, and messages that a summary covers
are listed as that summary. Texts are the session's own; the caller passes a function that scrubs secrets.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from palimpsest.context.budget.request_tokens import message_tokens
from palimpsest.context.compaction.summary_request import RULE as COMPACT
from palimpsest.context.conversion.part_conversion import is_from_failed_attempt, neutral_messages
from palimpsest.context.request_assembly.turn_limit import with_turn_limit
from palimpsest.context.request_kinds.request_inputs import RequestInputs
from palimpsest.context.visible_messages import good_summaries, marker, without_undone
from palimpsest.loop.run_inputs.request_items import Scrub, named, state_of
from palimpsest.render.content.decision_reasons import reason
from palimpsest.render.content.phrases import count, some
from palimpsest.review.inspection.window_contents import WAYS, DecisionTime, Reduction
from palimpsest.transcript.context_values.decisions import (
    REDUCTIONS,
    Decision,
    EffectiveDecisions,
)
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
    RESPONSES,
    TOLD_CHARS,
    is_left_out,
    is_provider_call,
    sent_result,
)
from palimpsest.transcript.user_notices import COMMAND, user_notice_text

LIMIT = "history limit"
EXCLUDED = "by hand"
FAILED = "failed answers"
REPEATED = "failed attempts"
PROVIDER_CALL = "ran at a provider"
OTHERS_TEXT = (
    "It ran at {ran_at}, whose own form {model} does not know, so that call and result are told as text, at most {most} "
    "characters of the result."
)
OWN_TEXT = (
    "{ran_at} takes such an item back only beside the reasoning before it, and while its server keeps both, so that call "
    "and result are told as text, at most {most} characters of the result."
)
LEFT_OUT = "{ran_at} has no form in which it takes such a call back; the words of the answer tell what it found."


def reductions(
    basis: RequestInputs, dated: Mapping[str, DecisionTime], scrub: Scrub
) -> tuple[Reduction, ...]:
    """Return what the request does not show, or not whole: messages first, then parts in order."""
    seen = basis.view.folded(basis.policy.compact)
    teller = _ReductionBuilder(basis, dated, scrub)
    found = [
        *teller.summarised(seen),
        *teller.limited(seen),
        *teller.failed(seen),
        *teller.repeated(seen),
        *teller.of_parts(seen),
    ]
    return tuple(found)


def decisions_to_date(basis: RequestInputs) -> frozenset[str]:
    """Return the ids of the decisions whose time the report shows."""
    return frozenset(
        one.id for one in basis.view.decisions if one.action in REDUCTIONS or one.rule == COMPACT
    )


class _ReductionBuilder:
    def __init__(
        self, basis: RequestInputs, dated: Mapping[str, DecisionTime], scrub: Scrub
    ) -> None:
        self._basis = basis
        self._dated = dated
        self._scrub = scrub

    def summarised(self, seen: Messages) -> Iterator[Reduction]:
        """Yield the newest summary, which includes the older ones."""
        summaries = good_summaries(seen)
        marked = next((m for m in reversed(seen) if marker(m) and m.id in summaries), None)
        number = self._hidden(seen)
        if marked is None:
            if number:  # as under the presets of some other agents
                yield Reduction(
                    way="summarise",
                    name="summary",
                    words=f"{some(number, 'message')} hidden by a summary that failed",
                    rule=COMPACT,
                    reason="Under this policy a summary that failed hides what came before, too.",
                    numbers={"messages": number},
                )
            return
        part = marker(marked)
        summary = seen[summaries[marked.id]]
        made = self._judged(summary.id)
        why = "as asked" if part is None or not part.auto else "since the window was nearly full"
        yield Reduction(
            way="summarise",
            name="summary",
            words=f"{some(number, 'message')} told in a summary, {why}",
            rule=COMPACT,
            message_id=summary.id,
            **({"reason": ""} if made is None else self._decided(made)),
        )

    def _decided(self, decision: Decision) -> dict[str, Any]:
        """Return what a decision says of itself."""
        return {
            "reason": self._scrub(reason(decision)),
            "numbers": dict(decision.numbers),
            "tokens_before": decision.tokens_before,
            "tokens_after": decision.tokens_after,
            "since": self._dated.get(decision.id),
        }

    def _hidden(self, seen: Messages) -> int:
        """Return how many messages the fold hides, not counting those of undone compactions."""
        view = self._basis.view
        shown = {message.id for message in seen}
        all_of_them = without_undone(view.messages, view.decisions)
        return self._basis.older + sum(message.id not in shown for message in all_of_them)

    def _judged(self, summary_id: str) -> Decision | None:
        decided = (
            one
            for one in reversed(self._basis.view.decisions)
            if one.rule == COMPACT and one.message_id == summary_id
        )
        return next(decided, None)

    def limited(self, seen: Messages) -> Iterator[Reduction]:
        """Yield the turns that a history limit leaves out of every request."""
        basis = self._basis
        turns = basis.policy.history_limit
        flat = neutral_messages(seen, basis.model.ref, basis.policy.convert)
        kept = {id(one) for one in with_turn_limit(flat, turns, basis.policy.limit)}
        gone = [one for one in flat if id(one) not in kept]
        if not gone:
            return
        users = sum(one.role == "user" for one in gone)
        yield Reduction(
            way="limit",
            name="earlier turns",
            words=f"{some(users, 'turn')} not sent",
            rule=LIMIT,
            reason=f"The history limit of this session is {count(turns or 0)} turns.",
            numbers={"turns": turns},
            tokens_before=sum(message_tokens(one, basis.count) for one in gone),
            tokens_after=0,
        )

    def failed(self, seen: Messages) -> Iterator[Reduction]:
        """Yield the answers that ended in an error, which are kept and not sent again."""
        number = sum(map(_is_unsent, seen))
        if number:
            yield Reduction(
                way="fail",
                name="failed answers",
                words=f"{count(number)} not sent again",
                rule=FAILED,
                reason="What ended in an error is kept in the session, and not sent to the model again.",
                numbers={"answers": number},
            )

    def repeated(self, seen: Messages) -> Iterator[Reduction]:
        """Yield the partial answers of requests that failed and were sent again."""
        broken = [
            message
            for message in seen
            if not _is_unsent(message) and any(map(is_from_failed_attempt, message.parts))
        ]
        if broken:
            yield Reduction(
                way="fail",
                name=REPEATED,
                words=f"what came of {some(len(broken), 'answer')} before the connection broke",
                rule=REPEATED,
                reason="A request that failed half-way was sent again. What had come of its answer is "
                "kept in the session, and not sent to the model.",
                numbers={"answers": len(broken)},
            )

    def of_parts(self, seen: Messages) -> Iterator[Reduction]:
        """Yield the single parts that are cleared, cut or left out."""
        effective = EffectiveDecisions(self._basis.view.decisions)
        for message in seen:
            for part in message.parts:
                decision = effective.reduction(part.id, message.id)
                if decision is None and isinstance(part, ToolPart) and is_provider_call(part):
                    yield from self._told(message, part)
                if isinstance(part, CompactionPart | StepStartPart | StepFinishPart):
                    continue
                if decision is not None:
                    yield self._of_part(part, decision)
                elif isinstance(part, TextPart) and part.ignored and not _is_for_people(part):
                    yield self._excluded(part)

    def _of_part(self, part: Part, decision: Decision) -> Reduction:
        way = WAYS[state_of(decision)]
        return self._named(part, way=way, rule=decision.rule, **self._decided(decision))

    def _named(self, part: Part, **more: Any) -> Reduction:
        """Return what was done to a part, under its name."""
        name, words = named(part, self._scrub)
        return Reduction(
            name=name, words=words, message_id=part.message_id, part_id=part.id, **more
        )

    def _told(self, message: Message, part: ToolPart) -> Iterator[Reduction]:
        """Yield what became of a call that another provider ran, or of one that its own takes back in no form."""
        model, ran_at = self._basis.model.ref, message.info.model.provider
        same = ran_at == model.provider
        is_left = is_left_out(part, same_provider=same)
        dialect = (part.metadata or {}).get(DIALECT)
        if same and not is_left and dialect != RESPONSES:
            return
        result = str(getattr(part.state, "output", "") or getattr(part.state, "error", ""))
        native = sent_result(part, result, same_provider=True)
        told = "" if is_left else sent_result(part, result, same_provider=False)
        why = LEFT_OUT if is_left else OWN_TEXT if same else OTHERS_TEXT
        yield self._named(
            part,
            way="drop" if is_left else "tell",
            rule=PROVIDER_CALL,
            reason=why.format(ran_at=ran_at, model=model.id, most=count(TOLD_CHARS)),
            tokens_before=self._basis.count(result if is_left or same else native),
            tokens_after=self._basis.count(told),
        )

    def _excluded(self, part: TextPart) -> Reduction:
        return self._named(
            part,
            way="exclude",
            rule=EXCLUDED,
            reason="Somebody left this out of what the model sees.",
            tokens_before=self._basis.count(part.text),
            tokens_after=0,
        )


def _is_for_people(part: TextPart) -> bool:
    """Return whether a text was never for the model: a notice, or a command that was sent expanded."""
    return user_notice_text(part) is not None or COMMAND in (part.metadata or {})


def _is_unsent(message: Message) -> bool:
    info = message.info
    if not isinstance(info, AssistantMessage) or info.error is None:
        return False
    return not isinstance(info.error, AbortedError)

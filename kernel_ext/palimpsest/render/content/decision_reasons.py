"""Write the sentence on why the model sees a part shortened or not at all.

Border: pure. A decision stores its rule and its numbers; the sentence for a reader is written from them
when it is read, so that a better text also applies to old sessions. Every view takes its sentences from
here: the cell and the panel get them with the decision (``frontends/protocol/page_records.py``). The
sentences for pruning are defined with its numbers, in ``transcript/context_values/prune_policy.py``.
"""

from collections.abc import Callable, Mapping
from typing import TypeGuard, assert_never

from palimpsest.render.content.phrases import counted_noun
from palimpsest.render.safety.escaping import one_line
from palimpsest.transcript.context_values.decisions import (
    ANOTHER,
    EXCLUDE,
    LEFT_OUT,
    OLDER_SUMMARY_KEY,
    OWN_POLICY,
    OWN_RULES,
    PICTURES,
    PICTURES_RULE,
    Decision,
    OwnRule,
    is_of_own_policy,
)
from palimpsest.transcript.context_values.prune_policy import PRUNE_RULE, is_prune_rule, why_pruned
from palimpsest.transcript.ids import short_id
from palimpsest.transcript.strings.number_words import (
    Numbers,
    count,
    joined_sentences,
    kept_ends_text,
    number_of,
    number_text,
)

MAX_NAMES = 5
"""Maximum lost names that a sentence lists; the decision has more."""
MAX_NAME_CHARS = 48
"""Maximum characters of a lost name in a sentence, such as an error with its message."""
MAX_REASON_CHARS = 600
"""Maximum characters of a reason that is shown under a part."""

PINNED_REASON = "Pinned: kept in every request"
EXCLUDED_REASON = "Excluded from every request, as asked; it is kept here"
SET_ASIDE_CLAUSE = "Left out for the model; it is kept here"
KEPT_WHOLE_CLAUSE = "the whole text is kept"

COMPACT_RULE: OwnRule = "compact"


def reason(decision: Decision) -> str:
    """Return the reason for a decision, in one or two sentences."""
    return reason_from_numbers(decision) or f"Decided by the rule {decision.rule}."


def reason_from_numbers(decision: Decision) -> str:
    """Return the reason that follows from a decision's rule and numbers; empty for an unknown rule."""
    rule, numbers = decision.rule, decision.numbers
    if is_of_own_policy(decision):
        policy_name = one_line(rule.removeprefix(OWN_POLICY), MAX_REASON_CHARS)
        return f"Decided by your policy {policy_name}."
    pruning_rule = rule.removeprefix(PRUNE_RULE)
    if pruning_rule != rule:
        return why_pruned(pruning_rule, numbers) if is_prune_rule(pruning_rule) else ""
    if not _is_own_rule(rule):
        return ""
    return SENTENCE_WRITERS[rule](numbers) if rule in SENTENCE_WRITERS else FIXED_SENTENCES[rule]


def decision_sentence(decision: Decision) -> str:
    """Return the sentence under a part with a decision: the reduction, and its reason."""
    reason_text = one_line(reason_from_numbers(decision), MAX_REASON_CHARS)
    match decision.action:
        case "pin":
            return PINNED_REASON
        case "drop":
            if decision.rule == EXCLUDE:
                return EXCLUDED_REASON
            return joined_sentences(f"{SET_ASIDE_CLAUSE}.", reason_text)
        case "truncate" if decision.rule == PICTURES_RULE:
            return reason_text
        case "truncate" | "clear":
            return joined_sentences(
                _reduction_sentence(decision, ends_in="." if reason_text else ""), reason_text
            )
        case "summarise":
            return joined_sentences(_conversation_size(decision), reason_text)
        case "keep" | "repair" | "wrap" | "restore":
            return reason_text
        case _:
            assert_never(decision.action)


def _reduction_sentence(decision: Decision, *, ends_in: str) -> str:
    verb = "Truncated" if decision.action == "truncate" else "Cleared"
    before, after = count(decision.tokens_before), count(decision.tokens_after)
    return (
        f"{verb} for the model: {before} → {after} tokens, by rule {one_line(decision.rule)}; "
        f"{KEPT_WHOLE_CLAUSE}{ends_in}"
    )


def _conversation_size(decision: Decision) -> str:
    """Return a sentence on the size of the conversation before and after a compaction; empty for other decisions."""
    if decision.rule != COMPACT_RULE:
        return ""
    before, after = decision.tokens_before, decision.tokens_after
    return conversation_size(before, after, decision.numbers.get("kept"))


def conversation_size(tokens_before: int, tokens_after: int, kept_numbers: object) -> str:
    """Return a sentence on the tokens of the conversation around a compaction; empty where one is not known."""
    if not tokens_before or not tokens_after:
        return ""
    return (
        f"The conversation takes {count(tokens_after)} tokens in a request instead of {count(tokens_before)}: "
        f"the summary, and {_kept_text(kept_numbers)}."
    )


def _kept_text(value: object) -> str:
    """Return what stays beside a summary, to follow "the summary, and"; reports of older logs do not name it."""
    if not isinstance(value, Mapping):
        return "the messages that stay as they are"
    turns, tokens, pinned_count = (
        max(0, round(number_of(value, name) or 0)) for name in ("turns", "tokens", "pinned")
    )
    newest_turn = "the end of the newest turn" if turns == 0 else "the newest turn"
    newest_turns = f"the newest {count(turns)} turns" if turns > 1 else newest_turn
    kept_texts = [
        *([f"{newest_turns} ({count(tokens)} tokens)"] if tokens else []),
        *([counted_noun(pinned_count, "pinned part")] if pinned_count else []),
    ]
    return f"as they are {' and '.join(kept_texts)}" if kept_texts else "no other message"


def _is_own_rule(rule: str) -> TypeGuard[OwnRule]:
    return rule in OWN_RULES


FIXED_SENTENCES: Mapping[OwnRule, str] = {
    "remind/mode": "It said which mode the agent is in; that is said beside the newest prompt alone.",
    "compact/plan": "Another policy would have begun the newest turns here.",
    "import": "It was cleared before the session was brought here.",
    "user/pin": "A person keeps this in every request.",
    "user/unpin": "A person no longer keeps this in every request.",
    "user/exclude": "A person left this out of what the model sees.",
    "user/restore": "A person brought this back.",
    "user/redo-compaction": "A person took this summary back, which had been put aside.",
}
"""The reasons without numbers."""


def _undone_sentence(numbers: Numbers) -> str:
    if numbers.get(OLDER_SUMMARY_KEY):
        return "A person put this summary aside and took the one before it back."
    if numbers.get(ANOTHER):
        return "A person put this summary aside and asked for another."
    return "A person undid the compaction, so that the model sees again what it had summarised."


def _truncate_sentence(numbers: Numbers) -> str:
    max_lines, max_bytes = number_text(numbers, "max_lines"), number_text(numbers, "max_bytes")
    if not max_lines or not max_bytes:
        return kept_ends_text(numbers)
    max_tokens = number_text(numbers, "max_tokens")
    limit_text = f"{max_lines} lines or {max_bytes} bytes"
    if max_tokens:
        limit_text = f"{max_tokens} tokens, its share of the window"
    length_sentence = f"When the tool ended, its output was longer than {limit_text}."
    return joined_sentences(length_sentence, kept_ends_text(numbers))


def _oversized_sentence(numbers: Numbers) -> str:
    max_chars = number_text(numbers, "limit_chars")
    length_clause = f", and the output was longer than {max_chars} characters" if max_chars else ""
    return joined_sentences(f"The request did not fit{length_clause}.", kept_ends_text(numbers))


PICTURE_LIMITS = {
    "pictures": "at most {most} pictures in a request",
    "side": "pictures of at most {most} pixels a side",
    "many_side": "pictures of at most {most} pixels a side where there are many",
    "pixels": "pictures of at most {most} pixels",
    "picture_bytes": "pictures of at most {most} bytes",
    "request_bytes": "requests of at most {most} bytes",
}
"""The limits of a provider for pictures, by name."""


def _tool_limit_sentence(numbers: Numbers) -> str:
    return f"The model's provider said that it takes {number_text(numbers, 'most')} tools at most."


def _pictures_sentence(numbers: Numbers) -> str:
    """Return a sentence on pictures that are sent smaller or not at all, with the provider's limit."""
    picture_by_index = numbers.get(PICTURES)
    pictures = list(picture_by_index.values()) if isinstance(picture_by_index, Mapping) else []
    picture_records = [picture for picture in pictures if isinstance(picture, Mapping)]
    shrunk_pictures = [picture for picture in picture_records if LEFT_OUT not in picture]
    omitted_names = [
        _short_name(str(p.get("name") or "picture")) for p in picture_records if LEFT_OUT in p
    ]
    changes = []
    if shrunk_pictures:
        noun_and_verb = "picture is" if len(shrunk_pictures) == 1 else "pictures are"
        before, after = (_dimensions_text(shrunk_pictures[0].get(key)) for key in ("size", "to"))
        sizes = f" ({before} pixels became {after})" if before and after else ""
        changes.append(f"{count(len(shrunk_pictures))} {noun_and_verb} sent smaller{sizes}")
    if omitted_names:
        more_text = (
            f" and {count(len(omitted_names) - MAX_NAMES)} more"
            if len(omitted_names) > MAX_NAMES
            else ""
        )
        changes.append(f"not sent: {', '.join(omitted_names[:MAX_NAMES])}{more_text}")
    limit = PICTURE_LIMITS.get(str(numbers.get("limit")), "no more")
    limit_text = f"its provider takes {limit.format(most=number_text(numbers, 'most'))}"
    return f"For the model {', '.join(changes)}, since {limit_text}; the session keeps all of it."


def _dimensions_text(value: object) -> str:
    sides = value if isinstance(value, list | tuple) else ()
    return " x ".join(count(side) for side in sides if isinstance(side, int))


def _summary_sentence(numbers: Numbers) -> str:
    """Return the grade of a summary: the names that it keeps and loses by kind, and lost ones likely to be needed."""
    retention = numbers.get("retention")
    if not isinstance(retention, Mapping):
        return _summary_request_sentence(numbers)
    counts_by_kind = {str(k): c for k, c in retention.items() if isinstance(c, Mapping)}
    lost_by_kind = {k: c for k, c in counts_by_kind.items() if number_of(c, "lost")}
    if not lost_by_kind:
        return "Every path, identifier, error and number of them is still in view."
    kept_counts = ", ".join(
        filter(None, (_kept_count_text(k, c) for k, c in counts_by_kind.items()))
    )
    lost_names_text = "; ".join(filter(None, map(_lost_names_text, lost_by_kind.values())))
    lost_clause = f"; not kept: {lost_names_text}" if lost_names_text else ""
    likely_sentence = _likely_needed_sentence(lost_by_kind, numbers)
    return joined_sentences(f"Keeps {kept_counts}{lost_clause}.", likely_sentence)


def _summary_request_sentence(numbers: Numbers) -> str:
    """Return a sentence on the content of a summary request; empty for reports of older logs."""
    max_chars = number_text(numbers, "result_chars")
    if not max_chars:
        return ""
    text = f"where they are sent as a text, at most {max_chars} characters of each tool output"
    stage = number_of(numbers, "stage")
    defects, repetition_sentence = numbers.get("lacks"), ""
    if isinstance(defects, list | tuple) and defects:
        defects_text = " ".join(map(str, defects))
        repetition_sentence = (
            f"It is requested once more, since the one before lacked: {defects_text}"
        )
    if stage is None:
        return joined_sentences(
            f"One request for the summary holds all messages that it replaces; {text}.",
            repetition_sentence,
        )
    first_id, last_id = str(numbers.get("first") or ""), str(numbers.get("last") or "")
    messages_text = "no message"
    if first_id and last_id:
        messages_text = f"the messages from {short_id(first_id)} to {short_id(last_id)}"
    stage_text = f"Part {count(round(stage))} of the history, {'the last' if numbers.get('final') else 'more follow'}"
    continuation = ", and the summary of the parts before it" if numbers.get("prior") else ""
    return joined_sentences(
        f"{stage_text}: the request for the summary holds {messages_text}{continuation}; {text}.",
        _left_out_sentence(numbers.get("left_out")),
        repetition_sentence,
    )


def _left_out_sentence(sizes: object) -> str:
    """Return a sentence on messages that were too large for any summary request."""
    if not isinstance(sizes, Mapping) or not sizes:
        return ""
    tokens = sum(size for size in sizes.values() if isinstance(size, int | float))
    return f"Left out, too large for any request: {counted_noun(len(sizes), 'message')} of {count(round(tokens))} tokens."


def _kept_count_text(kind: str, counts: Numbers) -> str:
    name_count, lost_count = number_of(counts, "found"), number_of(counts, "lost") or 0
    if name_count is None:
        return f"not {number_text(counts, 'lost')} {kind}" if lost_count else ""
    return f"{count(max(0, round(name_count - lost_count)))} of {count(round(name_count))} {kind}"


def _lost_names_text(counts: Numbers) -> str:
    lost_names = counts.get("names")
    first_lost = lost_names[:MAX_NAMES] if isinstance(lost_names, list | tuple) else ()
    names = [_short_name(str(name)) for name in first_lost]
    ellipsis = ", …" if names and len(names) < counts["lost"] else ""
    return f"{', '.join(names)}{ellipsis}"


def _short_name(name: str) -> str:
    return name if len(name) <= MAX_NAME_CHARS else f"{name[: MAX_NAME_CHARS - 1].rstrip()}…"


def _likely_needed_sentence(lost_by_kind: Mapping[str, Numbers], numbers: Numbers) -> str:
    """Return a sentence on the lost names that the newest answers use."""
    names = [
        _short_name(str(name))
        for counts in lost_by_kind.values()
        if isinstance(lost_names := counts.get("names"), list | tuple)
        for name in lost_names[: max(0, round(number_of(counts, "likely") or 0))]
    ]
    answers = number_text(numbers, "recent")
    if not names or not answers:
        return ""
    ellipsis = ", …" if len(names) > MAX_NAMES else ""
    names_text = f"{', '.join(names[:MAX_NAMES])}{ellipsis}"
    return f"Likely to be needed, by the last {answers} answers (an estimate): {names_text}."


def _steered_sentence(numbers: Numbers) -> str:
    if numbers.get("before"):
        return "It was said while the model was at work, so the model is told that."
    return "It was answered, so nothing is said around it any more."


def _rollback_sentence(numbers: Numbers) -> str:
    outcome = "took too long" if numbers.get("timed_out") else "came to nothing"
    return f"It belongs to a compaction that {outcome}, so the history goes on as it was before."


SENTENCE_WRITERS: Mapping[OwnRule, Callable[[Numbers], str]] = {
    "truncate": _truncate_sentence,
    "recover/oversized": _oversized_sentence,
    "limit/pictures": _pictures_sentence,
    "limit/tools": _tool_limit_sentence,
    "remind/steered": _steered_sentence,
    "compact": _summary_sentence,
    "compact/aside": _rollback_sentence,
    "user/undo-compaction": _undone_sentence,
}
"""The functions that write a reason from a decision's numbers."""

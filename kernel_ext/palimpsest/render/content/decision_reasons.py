"""Write a sentence about why a part is left out or shortened in what the model sees.

Border: pure. A decision keeps its rule and its numbers; the sentence for a reader is made of them
when it is read, so that a better text reaches old sessions too. Every view takes its sentences from
here: the cell and the panel get them with the decision (``frontends/protocol/page_records.py``). The
sentences for pruning are defined with its numbers, in ``transcript/context_values/prune_policy.py``.
"""

from collections.abc import Callable, Mapping
from typing import TypeGuard, assert_never

from palimpsest.render.content.phrases import some
from palimpsest.render.safety.escaping import one_line
from palimpsest.transcript.context_values.decisions import (
    ANOTHER,
    EXCLUDE,
    LEFT_OUT,
    OLDER,
    OWN_POLICY,
    OWN_RULES,
    PICTURES,
    PICTURES_RULE,
    Decision,
    OwnRule,
    is_of_own_policy,
)
from palimpsest.transcript.context_values.prune_policy import PRUNE_RULE, is_prune_rule, why_pruned
from palimpsest.transcript.ids import short
from palimpsest.transcript.strings.number_words import (
    Numbers,
    count,
    joined_sentences,
    kept_ends_text,
    number,
    quantity,
)

MOST_NAMES = 5
"""How many lost names a sentence lists; the decision holds more."""
NAME_CHARS = 48
"""Longest lost name in a sentence, such as an error with its message."""

PINNED = "Pinned: kept in every request"
EXCLUDED = "Excluded from every request, as asked; it is kept here"
SET_ASIDE = "Left out for the model; it is kept here"
KEPT = "the whole text is kept"

COMPACT: OwnRule = "compact"


def reason(decision: Decision) -> str:
    """Return the reason for a decision, in one or two sentences."""
    return reason_from_numbers(decision) or f"Decided by the rule {decision.rule}."


def reason_from_numbers(decision: Decision) -> str:
    """Return the reason that follows from a decision's rule and numbers; empty for an unknown rule."""
    rule, numbers = decision.rule, decision.numbers
    if is_of_own_policy(decision):
        return f"Decided by your policy {one_line(rule.removeprefix(OWN_POLICY), LONGEST)}."
    pruning = rule.removeprefix(PRUNE_RULE)
    if pruning != rule:
        return why_pruned(pruning, numbers) if is_prune_rule(pruning) else ""
    if not _is_own(rule):
        return ""
    return COUNTED[rule](numbers) if rule in COUNTED else SENTENCES[rule]


def decision_sentence(decision: Decision) -> str:
    """Return the sentence shown under a part with a decision: what was done to it, and why."""
    why = one_line(reason_from_numbers(decision), LONGEST)
    match decision.action:
        case "pin":
            return PINNED
        case "drop":
            return EXCLUDED if decision.rule == EXCLUDE else joined_sentences(f"{SET_ASIDE}.", why)
        case "truncate" if decision.rule == PICTURES_RULE:
            return why
        case "truncate":
            return joined_sentences(
                _reduced("Truncated", decision, ends_in="." if why else ""), why
            )
        case "clear":
            return joined_sentences(_reduced("Cleared", decision, ends_in="." if why else ""), why)
        case "summarise":
            return joined_sentences(_conversation(decision), why)
        case "keep" | "repair" | "wrap" | "restore":
            return why
        case _:
            assert_never(decision.action)


LONGEST = 600
"""Longest reason in characters that is shown under a part."""


def _reduced(done: str, decision: Decision, *, ends_in: str) -> str:
    before, after = count(decision.tokens_before), count(decision.tokens_after)
    return (
        f"{done} for the model: {before} → {after} tokens, by rule {one_line(decision.rule)}; "
        f"{KEPT}{ends_in}"
    )


def _conversation(decision: Decision) -> str:
    """Return how many tokens the whole conversation takes after a compaction, and took before it."""
    before, after = decision.tokens_before, decision.tokens_after
    if decision.rule != COMPACT or not before or not after:
        return ""
    return (
        f"The conversation takes {count(after)} tokens in a request instead of {count(before)}: "
        f"the summary, and {_kept_beside(decision.numbers.get('kept'))}."
    )


def _kept_beside(given: object) -> str:
    """Return what stays as it is beside a summary; a report of an older log does not say what."""
    if not isinstance(given, Mapping):
        return "the messages that stay as they are"
    turns, tokens, pinned = (
        max(0, round(quantity(given, name) or 0)) for name in ("turns", "tokens", "pinned")
    )
    tail = "the end of the newest turn" if turns == 0 else "the newest turn"
    newest = f"the newest {count(turns)} turns" if turns > 1 else tail
    kept = [
        *([f"{newest} ({count(tokens)} tokens)"] if tokens else []),
        *([some(pinned, "pinned part")] if pinned else []),
    ]
    return f"as they are {' and '.join(kept)}" if kept else "no other message"


def _is_own(rule: str) -> TypeGuard[OwnRule]:
    return rule in OWN_RULES


SENTENCES: Mapping[OwnRule, str] = {
    "remind/mode": "It said which mode the agent is in; that is said beside the newest prompt alone.",
    "compact/plan": "Another policy would have begun the newest turns here.",
    "import": "It was cleared before the session was brought here.",
    "user/pin": "A person keeps this in every request.",
    "user/unpin": "A person no longer keeps this in every request.",
    "user/exclude": "A person left this out of what the model sees.",
    "user/restore": "A person brought this back.",
    "user/redo-compaction": "A person took this summary back, which had been put aside.",
}
"""The reasons that need no numbers."""


def _undone(numbers: Numbers) -> str:
    if numbers.get(OLDER):
        return "A person put this summary aside and took the one before it back."
    if numbers.get(ANOTHER):
        return "A person put this summary aside and asked for another."
    return "A person undid the compaction, so that the model sees again what it had summarised."


def _truncate(numbers: Numbers) -> str:
    lines, limit = number(numbers, "max_lines"), number(numbers, "max_bytes")
    if not lines or not limit:
        return kept_ends_text(numbers)
    tokens = number(numbers, "max_tokens")
    sizes = (
        f"{tokens} tokens, its share of the window" if tokens else f"{lines} lines or {limit} bytes"
    )
    longer = f"When the tool ended, its output was longer than {sizes}."
    return joined_sentences(longer, kept_ends_text(numbers))


def _oversized(numbers: Numbers) -> str:
    limit = number(numbers, "limit_chars")
    what = "The request did not fit"
    words = f"{what}, and the output was longer than {limit} characters." if limit else f"{what}."
    return joined_sentences(words, kept_ends_text(numbers))


PICTURE_LIMITS = {
    "pictures": "at most {most} pictures in a request",
    "side": "pictures of at most {most} pixels a side",
    "many_side": "pictures of at most {most} pixels a side where there are many",
    "pixels": "pictures of at most {most} pixels",
    "picture_bytes": "pictures of at most {most} bytes",
    "request_bytes": "requests of at most {most} bytes",
}
"""What a provider takes, by the name of the limit."""


def _tools(numbers: Numbers) -> str:
    return f"The model's provider said that it takes {number(numbers, 'most')} tools at most."


def _limited(numbers: Numbers) -> str:
    """Return what is sent smaller or not at all, and by which limit of the model's provider."""
    given = numbers.get(PICTURES)
    pictures = list(given.values()) if isinstance(given, Mapping) else []
    told = [one for one in pictures if isinstance(one, Mapping)]
    smaller = [one for one in told if LEFT_OUT not in one]
    out = [_short(str(one.get("name") or "picture")) for one in told if LEFT_OUT in one]
    done = []
    if smaller:
        are = "picture is" if len(smaller) == 1 else "pictures are"
        before, after = (_size(smaller[0].get(key)) for key in ("size", "to"))
        sizes = f" ({before} pixels became {after})" if before and after else ""
        done.append(f"{count(len(smaller))} {are} sent smaller{sizes}")
    if out:
        more = f" and {count(len(out) - MOST_NAMES)} more" if len(out) > MOST_NAMES else ""
        done.append(f"not sent: {', '.join(out[:MOST_NAMES])}{more}")
    limit = PICTURE_LIMITS.get(str(numbers.get("limit")), "no more")
    why = f"its provider takes {limit.format(most=number(numbers, 'most'))}"
    return f"For the model {', '.join(done)}, since {why}; the session keeps all of it."


def _size(given: object) -> str:
    sides = given if isinstance(given, list | tuple) else ()
    return " x ".join(count(one) for one in sides if isinstance(one, int))


def _summary(numbers: Numbers) -> str:
    """Return the grade of a summary: what it keeps and loses by kind, and what of that is likely to be needed."""
    found = numbers.get("retention")
    if not isinstance(found, Mapping):
        return _summary_request(numbers)
    kinds = {str(kind): told for kind, told in found.items() if isinstance(told, Mapping)}
    lost = {kind: told for kind, told in kinds.items() if quantity(told, "lost")}
    if not lost:
        return "Every path, identifier, error and number of them is still in view."
    kept = [words for kind, told in kinds.items() if (words := _kept(kind, told))]
    names = "; ".join(words for told in lost.values() if (words := _names(told)))
    not_kept = f"; not kept: {names}" if names else ""
    return joined_sentences(f"Keeps {', '.join(kept)}{not_kept}.", _likely(lost, numbers))


def _summary_request(numbers: Numbers) -> str:
    """Return what a request for a summary contains; empty for a report of an older log, which says nothing of that."""
    limit = number(numbers, "result_chars")
    if not limit:
        return ""
    text = f"where they are sent as a text, at most {limit} characters of each tool output"
    stage = quantity(numbers, "stage")
    lacks = numbers.get("lacks")
    again = (
        f"It is requested once more, since the one before lacked: {' '.join(map(str, lacks))}"
        if isinstance(lacks, list | tuple) and lacks
        else ""
    )
    if stage is None:
        return joined_sentences(
            f"One request for the summary holds all messages that it replaces; {text}.", again
        )
    first, last = str(numbers.get("first") or ""), str(numbers.get("last") or "")
    what = f"the messages from {short(first)} to {short(last)}" if first and last else "no message"
    place = f"Part {count(round(stage))} of the history, {'the last' if numbers.get('final') else 'more follow'}"
    goes_on = ", and the summary of the parts before it" if numbers.get("prior") else ""
    return joined_sentences(
        f"{place}: the request for the summary holds {what}{goes_on}; {text}.",
        _left_out(numbers.get("left_out")),
        again,
    )


def _left_out(given: object) -> str:
    """Return how much was too large for any request for a summary."""
    if not isinstance(given, Mapping) or not given:
        return ""
    tokens = sum(one for one in given.values() if isinstance(one, int | float))
    return f"Left out, too large for any request: {some(len(given), 'message')} of {count(round(tokens))} tokens."


def _kept(kind: str, told: Numbers) -> str:
    found, lost = quantity(told, "found"), quantity(told, "lost") or 0
    if found is None:
        return f"not {number(told, 'lost')} {kind}" if lost else ""
    return f"{count(max(0, round(found - lost)))} of {count(round(found))} {kind}"


def _names(told: Numbers) -> str:
    given = told.get("names")
    listed = given[:MOST_NAMES] if isinstance(given, list | tuple) else ()
    names = [_short(str(name)) for name in listed]
    more = ", …" if names and len(names) < told["lost"] else ""
    return f"{', '.join(names)}{more}"


def _short(name: str) -> str:
    return name if len(name) <= NAME_CHARS else f"{name[: NAME_CHARS - 1].rstrip()}…"


def _likely(lost: Mapping[str, Numbers], numbers: Numbers) -> str:
    """Return which lost names the newest answers use: those stand first among the names."""
    names = [
        _short(str(name))
        for told in lost.values()
        if isinstance(given := told.get("names"), list | tuple)
        for name in given[: max(0, round(quantity(told, "likely") or 0))]
    ]
    answers = number(numbers, "recent")
    if not names or not answers:
        return ""
    more = ", …" if len(names) > MOST_NAMES else ""
    listed = f"{', '.join(names[:MOST_NAMES])}{more}"
    return f"Likely to be needed, by the last {answers} answers (an estimate): {listed}."


def _steered(numbers: Numbers) -> str:
    if numbers.get("before"):
        return "It was said while the model was at work, so the model is told that."
    return "It was answered, so nothing is said around it any more."


def _aside(numbers: Numbers) -> str:
    why = "took too long" if numbers.get("timed_out") else "came to nothing"
    return f"It belongs to a compaction that {why}, so the history goes on as it was before."


COUNTED: Mapping[OwnRule, Callable[[Numbers], str]] = {
    "truncate": _truncate,
    "recover/oversized": _oversized,
    "limit/pictures": _limited,
    "limit/tools": _tools,
    "remind/steered": _steered,
    "compact": _summary,
    "compact/aside": _aside,
    "user/undo-compaction": _undone,
}
"""The reasons that are made of a decision's numbers."""

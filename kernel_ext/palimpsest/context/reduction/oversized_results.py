"""Cut tool results that are too long for the window, when nothing cheaper is left.

Border: pure; it decides, and the loop journals and sends again. The forms are those of OpenClaw's versions: later ones
also keep the tail (where errors and totals are), and then count Chinese, Japanese and Korean characters by their real
cost. Each cut starts from the stored original, so cutting twice changes nothing. Lengths are those of Python's strings;
OpenClaw counts a character beyond the basic plane as two.
"""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from palimpsest.context.budget.precheck import max_results_chars, result_chars
from palimpsest.context.budget.request_tokens import CHARS_PER_WIDE_CHARACTER, weigh_chars
from palimpsest.context.reduction.request_outputs import (
    OutputReduction,
    RequestOutput,
    RequestOutputs,
)
from palimpsest.context.reduction.truncation import apply_truncation
from palimpsest.transcript.context_values.decisions import OwnRule
from palimpsest.transcript.context_values.policies import RecoveryPolicy
from palimpsest.transcript.ids import short_id

OVERSIZED_RULE: OwnRule = "recover/oversized"
ASSUMED_WINDOW = 200_000
"""Tokens assumed for a window without a configured limit, after the provider refused a request."""
MAX_NARROWINGS = 4
"""Maximum limits in characters that are tried until a text is within its share of the window; usually two suffice."""
NARROWING_FACTOR = 0.95
"""Factor on a limit computed from a text's average, since the kept ends may have more tokens than the rest."""
MIN_KEPT_SHARE = 0.8
"""A cut moves back to the end of a line when that keeps more than this share."""
MAX_TAIL_SHARE = 0.3
MAX_TAIL_CHARS = 4_000
"""The tail gets at most this share of the characters kept, and at most this many."""
MAX_TAIL_LOSS_SHARE = 0.2
"""A tail begins with a whole line when that costs less than this share of it."""
MAX_SEARCHED_CHARS = 2_000
"""Characters at the end that are searched for important words."""
IMPORTANT_WORDS = re.compile(
    r"\b(?:error|exception|failed|fatal|traceback|panic|stack trace|errno|exit code"
    r"|total|summary|result|complete|finished|done)\b|\}\s*$",
    re.IGNORECASE,
)
MAX_BYTES_PER_CHAR = 4
"""Bytes of a character in UTF-8."""
RECALL_SUFFIX = "; recall {name} shows them.]"
"""Ends the suffix where the tool ``recall`` is offered."""


@dataclass(frozen=True, slots=True)
class CutText:
    """The shown pieces of a long text: its head, perhaps its tail, and notes in between and after."""

    head_chars: int
    tail_chars: int = 0
    skipped_chars: int = 0
    """Characters at the very end that are left out."""
    middle: str = ""
    suffix: str = ""
    omitted_chars: int = 0

    @property
    def numbers(self) -> dict[str, int | str]:
        """The numbers of a decision, enough to cut again."""
        fields: dict[str, int | str] = {
            "head_chars": self.head_chars,
            "tail_chars": self.tail_chars,
            "omitted": self.omitted_chars,
            "unit": "characters",
            "suffix": self.suffix,
        }
        if self.tail_chars or self.middle:
            fields |= {"tail_skipped": self.skipped_chars, "middle": self.middle}
        return fields


def cut_result(
    text: str, max_chars: int, policy: RecoveryPolicy, min_chars: int | None = None
) -> CutText | None:
    """Choose the shown pieces of a text that may have ``max_chars`` characters; None keeps all of it.

    ``min_chars`` characters are kept in any case, where the form of the policy allows that.
    """
    min_kept_chars = policy.result_minimum if min_chars is None else min_chars
    if (weigh_chars(text) if policy.result_form == "weighed" else len(text)) <= max_chars:
        return None
    match policy.result_form:
        case "head":
            chars_left = max(min_kept_chars, max_chars - len(_suffix(policy, 0)))
            return _with_suffix(text, CutText(head_chars=_at_newline(text, chars_left)), policy)
        case "ends":
            chars_left = max(
                min_kept_chars, max_chars - len(_suffix(policy, len(text) - max_chars))
            )
            return _with_suffix(
                text, _cut_to_ends(text, chars_left, min_kept_chars, policy), policy
            )
        case "weighed":
            return _cut_by_weight(text, max_chars, min_kept_chars, policy)


def cut_oversized(
    outputs: RequestOutputs, policy: RecoveryPolicy, window: int
) -> tuple[OutputReduction, ...]:
    """Cut every result that is too long for the window, then all of them until they fit together.

    Pinned results stay as they are. A ``window`` of 0 tokens has no limit.
    """
    results = [output for output in outputs.newest_first() if not output.pinned][::-1]
    capacity = window or ASSUMED_WINDOW
    max_chars = result_chars(capacity, policy)
    max_total_chars = max_results_chars(capacity, policy)
    cut_by_part_id = {
        result.part_id: cut_alone
        for result in results
        if (cut_alone := _cut_alone(result, max_chars, capacity, outputs.count, policy)) is not None
    }
    if max_total_chars is not None and len(results) > 1:
        cut_by_part_id |= _cut_together(results, cut_by_part_id, max_total_chars, policy)
    reductions = []
    for result in results:
        cut_text = cut_by_part_id.get(result.part_id)
        text = _shown_text(result, cut_text)
        if cut_text is not None and len(text) < len(result.shown_text):
            numbers = cut_text.numbers | {"limit_chars": max_chars}
            tokens = result.tokens
            reductions.append(OutputReduction(result.part_id, "truncate", numbers, text, tokens))
    return tuple(reductions)


def _cut_alone(
    result: RequestOutput,
    max_chars: int,
    window: int,
    count: Callable[[str], int],
    policy: RecoveryPolicy,
) -> CutText | None:
    """Cut one result to ``max_chars`` characters and, where tokens count, to its share of the window; None leaves it whole."""
    suffixed_policy, cut_text = _with_recall_suffix(policy, result), None
    if len(result.shown_text) > max_chars:
        cut_text = cut_result(result.whole_text, max_chars, suffixed_policy)
    if policy.results_counted == "characters":
        return cut_text
    max_tokens = max(math.floor(window * policy.result_share), 1)
    for _ in range(MAX_NARROWINGS):
        text = _shown_text(result, cut_text)
        # No text takes more tokens than bytes.
        if len(text) * MAX_BYTES_PER_CHAR <= max_tokens or (tokens := count(text)) <= max_tokens:
            break
        max_chars = int(len(text) * max_tokens / tokens * NARROWING_FACTOR)
        cut_text = (
            cut_result(result.whole_text, max_chars, suffixed_policy, min_chars=0) or cut_text
        )
    return cut_text


def _shown_text(result: RequestOutput, cut_text: CutText | None) -> str:
    if cut_text is None:
        return result.shown_text
    return apply_truncation(result.whole_text, cut_text.numbers)


def _cut_together(
    results: Sequence[RequestOutput],
    cut_by_part_id: dict[str, CutText],
    max_chars: int,
    policy: RecoveryPolicy,
) -> dict[str, CutText]:
    """Shorten one result after the other, each as far as needed, until all fit together."""
    chars_by_part_id = {
        result.part_id: len(_shown_text(result, cut_by_part_id.get(result.part_id)))
        for result in results
    }
    excess_chars = sum(chars_by_part_id.values()) - max_chars
    shorter_cuts: dict[str, CutText] = {}
    for result in results if policy.cut_first == "oldest" else reversed(results):
        if excess_chars <= 0:
            break
        shown_chars, suffixed_policy = (
            chars_by_part_id[result.part_id],
            _with_recall_suffix(policy, result),
        )
        max_result_chars = max(shown_chars - excess_chars, 0)
        shorter_cut = cut_result(result.whole_text, max_result_chars, suffixed_policy, min_chars=0)
        saved_chars = shown_chars - len(_shown_text(result, shorter_cut)) if shorter_cut else 0
        if shorter_cut is not None and saved_chars > 0:
            shorter_cuts[result.part_id] = shorter_cut
            excess_chars -= saved_chars
    return shorter_cuts


def _with_recall_suffix(policy: RecoveryPolicy, result: RequestOutput) -> RecoveryPolicy:
    """Return the policy with a suffix that names the result, so that the rest can be recalled."""
    if not policy.recall:
        return policy
    recall_suffix = RECALL_SUFFIX.format(name=short_id(result.part_id))
    suffix = policy.result_suffix.removesuffix("]").removesuffix(".") + recall_suffix
    return policy.model_copy(update={"result_suffix": suffix})


def _suffix(policy: RecoveryPolicy, omitted_chars: int) -> str:
    return policy.result_suffix.replace("{omitted}", str(max(1, omitted_chars)))


def _with_suffix(text: str, cut_text: CutText, policy: RecoveryPolicy) -> CutText:
    """Add the suffix, which states how much is missing; the note in between counts as kept."""
    omitted = len(text) - cut_text.head_chars - len(cut_text.middle) - cut_text.tail_chars
    return replace(cut_text, suffix=_suffix(policy, omitted), omitted_chars=max(1, omitted))


def _has_important_end(text: str) -> bool:
    return IMPORTANT_WORDS.search(text[-MAX_SEARCHED_CHARS:]) is not None


def _at_newline(text: str, max_chars: int) -> int:
    newline = text.rfind("\n", 0, max_chars + 1)
    return newline if newline > max_chars * MIN_KEPT_SHARE else min(max_chars, len(text))


def _cut_to_ends(text: str, max_chars: int, min_chars: int, policy: RecoveryPolicy) -> CutText:
    tail_chars = min(math.floor(max_chars * MAX_TAIL_SHARE), MAX_TAIL_CHARS)
    head_chars = max_chars - tail_chars - len(policy.result_middle)
    if not _has_important_end(text) or max_chars <= min_chars * 2 or head_chars <= min_chars:
        return CutText(head_chars=_at_newline(text, max_chars))
    start = len(text) - tail_chars
    newline = text.find("\n", start)
    if newline != -1 and newline < start + tail_chars * MAX_TAIL_LOSS_SHARE:
        start = newline + 1
    return CutText(_at_newline(text, head_chars), len(text) - start, middle=policy.result_middle)


def _cut_by_weight(text: str, max_chars: int, min_chars: int, policy: RecoveryPolicy) -> CutText:
    chars_left = max(0, max_chars - len(_suffix(policy, len(text) - max_chars)))
    cut_text = _with_suffix(text, _weighed_ends(text, chars_left, min_chars, policy), policy)
    while excess_chars := max(weigh_chars(apply_truncation(text, cut_text.numbers)) - max_chars, 0):
        if not cut_text.head_chars and not cut_text.tail_chars:
            break
        cut_text = _with_suffix(text, _remove_excess(text, cut_text, excess_chars), policy)
    if not excess_chars:
        return cut_text
    return CutText(0, suffix=_prefix_by_weight(cut_text.suffix, max_chars), omitted_chars=len(text))


def _weighed_ends(text: str, max_chars: int, min_chars: int, policy: RecoveryPolicy) -> CutText:
    tail_chars = min(math.floor(max_chars * MAX_TAIL_SHARE), MAX_TAIL_CHARS)
    head_chars = max_chars - tail_chars - len(policy.result_middle)
    if not _has_important_end(text) or max_chars <= min_chars * 2 or head_chars <= min_chars:
        return CutText(head_chars=_line_end(_prefix_by_weight(text, max_chars)))
    tail_text = _prefix_by_weight(text[::-1], tail_chars)[::-1]
    newline = tail_text.find("\n")
    if 0 <= newline < tail_chars * MAX_TAIL_LOSS_SHARE:
        tail_text = tail_text[newline + 1 :]
    return CutText(
        _line_end(_prefix_by_weight(text, head_chars)), len(tail_text), middle=policy.result_middle
    )


def _line_end(text: str) -> int:
    newline = text.rfind("\n")
    return newline if newline > len(text) * MIN_KEPT_SHARE else len(text)


def _prefix_by_weight(text: str, max_chars: int) -> str:
    """Return a beginning of a text whose length by ``weigh_chars`` is at most ``max_chars``."""
    if weigh_chars(text) <= max_chars:
        return text
    beginning = text[:max_chars]
    while (excess_chars := weigh_chars(beginning) - max_chars) > 0:
        beginning = beginning[: len(beginning) - math.ceil(excess_chars / CHARS_PER_WIDE_CHARACTER)]
    return beginning


def _remove_excess(text: str, cut_text: CutText, excess_chars: int) -> CutText:
    """Remove the excess from the tail's end; where the tail is too short, from the head's."""
    tail_end = len(text) - cut_text.skipped_chars
    if cut_text.tail_chars:
        tail_text = text[tail_end - cut_text.tail_chars : tail_end]
        shorter_tail = _prefix_by_weight(tail_text, weigh_chars(tail_text) - excess_chars)
        if shorter_tail:
            skipped_chars = cut_text.skipped_chars + len(tail_text) - len(shorter_tail)
            return CutText(cut_text.head_chars, len(shorter_tail), skipped_chars, cut_text.middle)
        return CutText(cut_text.head_chars)
    head_text = text[: cut_text.head_chars]
    return CutText(len(_prefix_by_weight(head_text, weigh_chars(head_text) - excess_chars)))

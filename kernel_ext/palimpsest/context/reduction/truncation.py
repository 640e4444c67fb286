"""Shorten one tool output at a cap, when the tool ends.

Whole lines are kept, up to a number of lines and of UTF-8 bytes, and up to a share of the window, which is counted in
tokens: a printed frame of numbers takes a token for two bytes. The whole text stays stored, so the decision only
records how much of its head and tail is shown. A single long line is cut inside. The limits are OpenCode's; keeping
head and tail when the tail has an error is Palimpsest's own rule, since the model needs the traceback at the end most.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from palimpsest.transcript.context_values.decisions import Decision, Facts, OwnRule
from palimpsest.transcript.context_values.policies import TruncatePolicy
from palimpsest.transcript.ids import short_id

TRUNCATE_RULE: OwnRule = "truncate"
TAIL_SHARE = 0.4
"""Share of the cap that goes to the tail when both ends are kept: a traceback is rarely longer."""
MAX_ERROR_LINES = 40
"""Lines at the end that are searched for an error: a long Python traceback has about 40 lines."""
MAX_ERROR_CHARS = 20_000
"""Maximum characters of these lines."""
ERROR_PATTERN = re.compile(
    r"(error|exception|traceback|fatal|failed|panic|segmentation fault)\b", re.IGNORECASE
)
BYTES_PER_TOKEN = 4
"""Converts a share of the window to bytes, for policies that do not count its tokens."""
MAX_NARROWINGS = 16
"""Maximum caps in bytes that are tried until a text is within its share of the window; usually two suffice."""
MIN_FILLED_SHARE = 0.75
"""A shortened text fills at least this part of its share of the window; below it, a larger cap is tried."""
NARROWING_FACTOR = 0.97
"""Factor on a cap computed from the text's average tokens per byte, since tokens are not spread evenly."""
WHOLE_OUTPUT_HINT = (
    "The whole output is kept in the session. To see more of it, ask for a narrower piece: "
    "read with offset and limit, search with grep, or print less."
)
RECALL_HINT = (
    "The whole output is kept in the session: recall {name} reads it from a line on, or searches it. A "
    "narrower piece helps too: read with offset and limit, search with grep, or print less."
)
TASK_HINT = (
    "The whole output is kept in the session. Do not read all of it yourself: have a task look through it, whose "
    "agent finds it by recall {name} too, and go on with what it tells you. For a few lines, recall {name} reads "
    "from a line on, or searches."
)
"""Used where the agent may start tasks: a task's agent reads without filling this conversation."""


@dataclass(frozen=True, slots=True)
class KeptEnds:
    """The characters of a text that are kept at each end, and the amount left out."""

    head_chars: int
    tail_chars: int
    omitted_amount: int
    unit: Literal["lines", "bytes"]


def choose_ends(
    text: str, max_lines: int, max_bytes: int, *, from_end: bool = False
) -> KeptEnds | None:
    """Choose how much of one end is kept; None when the whole text fits."""
    lines = text.split("\n")
    total_bytes = len(_utf8(text))
    if len(lines) <= max_lines and total_bytes <= max_bytes:
        return None
    kept_lines, used_bytes, is_byte_cap_hit = 0, 0, False
    for line in reversed(lines) if from_end else lines:
        if kept_lines >= max_lines:
            break
        line_bytes = len(_utf8(line)) + (1 if kept_lines else 0)
        if used_bytes + line_bytes > max_bytes:
            is_byte_cap_hit = True
            break
        kept_lines += 1
        used_bytes += line_bytes
    chosen_lines = lines[len(lines) - kept_lines :] if from_end else lines[:kept_lines]
    kept_chars = len("\n".join(chosen_lines))
    omitted_amount = total_bytes - used_bytes if is_byte_cap_hit else len(lines) - kept_lines
    unit: Literal["lines", "bytes"] = "bytes" if is_byte_cap_hit else "lines"
    return KeptEnds(
        0 if from_end else kept_chars, kept_chars if from_end else 0, omitted_amount, unit
    )


def output_caps(policy: TruncatePolicy, facts: Facts) -> tuple[int, int]:
    """Return the caps in lines and bytes for one output, before its tokens are counted."""
    max_bytes = policy.max_bytes
    if policy.window_share is not None and policy.share_counted == "bytes":
        max_bytes = min(max_bytes, int(facts.capacity * policy.window_share * BYTES_PER_TOKEN))
    return policy.max_lines, max(max_bytes, 1)


def max_output_tokens(policy: TruncatePolicy, facts: Facts) -> int | None:
    """Return the most tokens of one output by the session's estimator; None where tokens are not counted."""
    if policy.window_share is None or policy.share_counted == "bytes":
        return None
    return max(int(facts.capacity * policy.window_share), 1)


def is_shortened_by_tool(metadata: Mapping[str, Any], policy: TruncatePolicy) -> bool:
    """Return whether an output stays as its tool shortened it; not where a share of the window is counted in tokens."""
    has_token_share = policy.window_share is not None and policy.share_counted == "tokens"
    return bool(metadata.get("truncated")) and not has_token_share


def fits_surely(text: str, policy: TruncatePolicy, facts: Facts) -> bool:
    """Return whether a text is surely within all caps, without counting: no text has more tokens than bytes."""
    max_lines, max_bytes = output_caps(policy, facts)
    max_tokens = max_output_tokens(policy, facts)
    max_bytes = max_bytes if max_tokens is None else min(max_bytes, max_tokens)
    if text.count("\n") >= max_lines or len(text) > max_bytes:
        return False
    return len(_utf8(text)) <= max_bytes


def truncate(
    decision_id: str,
    part_id: str,
    message_id: str,
    text: str,
    policy: TruncatePolicy,
    facts: Facts,
    count: Callable[[str], int],
) -> Decision | None:
    """Decide how much of a tool output the model sees; None leaves it whole."""
    if fits_surely(text, policy, facts):
        return None
    max_lines, max_bytes = output_caps(policy, facts)
    max_tokens = max_output_tokens(policy, facts)
    full_tokens = count(text)
    numbers = _numbers(text, policy, part_id, max_lines, max_bytes)
    shown_tokens = count(apply_truncation(text, numbers)) if numbers is not None else full_tokens
    if max_tokens is not None and shown_tokens > max_tokens:
        numbers = _numbers_within(max_tokens, shown_tokens, max_bytes, text, policy, part_id, count)
        shown_tokens = count(apply_truncation(text, numbers))
    if numbers is None:
        return None
    return Decision(
        id=decision_id,
        action="truncate",
        rule=TRUNCATE_RULE,
        message_id=message_id,
        part_id=part_id,
        numbers=numbers,
        tokens_before=full_tokens,
        tokens_after=shown_tokens,
    )


def _numbers_within(
    max_tokens: int,
    shown_tokens: int,
    max_bytes: int,
    text: str,
    policy: TruncatePolicy,
    part_id: str,
    count: Callable[[str], int],
) -> dict[str, int | str]:
    """Return the numbers of a decision that shows at most ``max_tokens`` tokens of a text that now shows more."""
    fitting_bytes, exceeding_bytes = 0, min(max_bytes, len(_utf8(text)))
    tried_bytes = int(exceeding_bytes * max_tokens / shown_tokens * NARROWING_FACTOR)
    best_numbers = _numbers(text, policy, part_id, policy.max_lines, 1) or {}
    for _ in range(MAX_NARROWINGS):
        tried_bytes = min(max(tried_bytes, fitting_bytes + 1), exceeding_bytes - 1)
        if tried_bytes <= fitting_bytes:
            break
        numbers = _numbers(text, policy, part_id, policy.max_lines, tried_bytes) or {}
        shown_tokens = count(apply_truncation(text, numbers))
        if shown_tokens > max_tokens:
            exceeding_bytes = tried_bytes
            tried_bytes = (
                (fitting_bytes + tried_bytes) // 2
                if fitting_bytes
                else int(tried_bytes * max_tokens / shown_tokens * NARROWING_FACTOR)
            )
            continue
        best_numbers, fitting_bytes, tried_bytes = (
            numbers,
            tried_bytes,
            (tried_bytes + exceeding_bytes) // 2,
        )
        if shown_tokens >= max_tokens * MIN_FILLED_SHARE:
            break
    return best_numbers | {"max_bytes": max_bytes, "max_tokens": max_tokens}


def _numbers(
    text: str, policy: TruncatePolicy, part_id: str, max_lines: int, max_bytes: int
) -> dict[str, int | str] | None:
    """Return the numbers of a decision that keeps a text within caps; None where the whole text is within."""
    ends, last_lines = None, text[-MAX_ERROR_CHARS:].split("\n")[-MAX_ERROR_LINES:]
    if policy.direction == "auto" and ERROR_PATTERN.search("\n".join(last_lines)):
        ends = _both_ends(text, max_lines, max_bytes)
    if ends is None:
        ends = choose_ends(text, max_lines, max_bytes, from_end=policy.direction == "tail")
    if ends is None:
        return None
    if not ends.head_chars and not ends.tail_chars and policy.form == "ends":
        ends = _inside_a_line(text, max_bytes, from_end=policy.direction == "tail")
    numbers: dict[str, int | str] = {
        "head_chars": ends.head_chars,
        "tail_chars": ends.tail_chars,
        "omitted": ends.omitted_amount,
        "unit": ends.unit,
        "max_lines": max_lines,
        "max_bytes": max_bytes,
    }
    if policy.recall:
        numbers["recall"] = short_id(part_id)
    if policy.recall and policy.task:
        numbers["hand_to"] = "task"
    if policy.form == "lines":
        numbers["lines_of"] = "tail" if policy.direction == "tail" else "head"
    return numbers


def apply_truncation(text: str, numbers: Mapping[str, int | str]) -> str:
    """Apply a truncation to the original text; the same numbers always give the same text."""
    head_chars, tail_chars = int(numbers["head_chars"]), int(numbers["tail_chars"])
    if "suffix" in numbers:
        return _join_ends(text, head_chars, tail_chars, numbers)
    gap_note = f"...{numbers['omitted']} {numbers['unit']} truncated..."
    tail_text = text[len(text) - tail_chars :] if tail_chars else ""
    hint = _hint(numbers)
    match numbers.get("lines_of"):
        case "head":
            return "\n\n".join((text[:head_chars], gap_note, hint))
        case "tail":
            return "\n\n".join((gap_note, hint, tail_text))
        case _:
            return "\n\n".join(filter(None, (text[:head_chars], gap_note, tail_text, hint)))


def _hint(numbers: Mapping[str, int | str]) -> str:
    """Return the hint for seeing the rest; older decisions without the newer numbers keep the older hint."""
    if "recall" not in numbers:
        return WHOLE_OUTPUT_HINT
    hint = TASK_HINT if "hand_to" in numbers else RECALL_HINT
    return hint.format(name=numbers["recall"])


def _join_ends(
    text: str, head_chars: int, tail_chars: int, numbers: Mapping[str, int | str]
) -> str:
    """Join the ends of a text with the middle and suffix that the decision records."""
    text += str(numbers.get("appended", ""))
    end = max(len(text) - int(numbers.get("tail_skipped", 0)), 0)
    tail_text = text[max(end - tail_chars, 0) : end] if tail_chars else ""
    return f"{text[:head_chars]}{numbers.get('middle', '')}{tail_text}{numbers['suffix']}"


def _both_ends(text: str, max_lines: int, max_bytes: int) -> KeptEnds | None:
    if choose_ends(text, max_lines, max_bytes) is None:
        return None
    tail_lines, tail_bytes = int(max_lines * TAIL_SHARE), int(max_bytes * TAIL_SHARE)
    tail = choose_ends(text, max(1, tail_lines), tail_bytes, from_end=True)
    head = choose_ends(text, max_lines - tail_lines, max_bytes - tail_bytes)
    if tail is None or head is None or not tail.tail_chars or not head.head_chars:
        return None
    shown_text = text[: head.head_chars] + text[-tail.tail_chars :]
    omitted_bytes = len(_utf8(text)) - len(_utf8(shown_text))
    return KeptEnds(head.head_chars, tail.tail_chars, max(omitted_bytes, 0), "bytes")


def _inside_a_line(text: str, max_bytes: int, *, from_end: bool) -> KeptEnds:
    encoded = _utf8(text)
    if from_end:
        start = max(len(encoded) - max_bytes, 0)
        while start < len(encoded) and _is_continuation_byte(encoded[start]):
            start += 1
        kept_bytes = encoded[start:]
    else:
        end = min(max_bytes, len(encoded))
        while 0 < end < len(encoded) and _is_continuation_byte(encoded[end]):
            end -= 1
        kept_bytes = encoded[:end]
    kept_chars = len(kept_bytes.decode("utf-8", "surrogatepass"))
    omitted_bytes = len(encoded) - len(kept_bytes)
    return KeptEnds(
        0 if from_end else kept_chars, kept_chars if from_end else 0, omitted_bytes, "bytes"
    )


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _is_continuation_byte(byte: int) -> bool:
    """Return whether a byte of UTF-8 continues a character."""
    return byte & 0xC0 == 0x80

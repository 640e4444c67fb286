"""Shorten one tool output at a cap, when the tool ends.

Whole lines are kept, up to a number of lines and of UTF-8 bytes, and up to a share of the window, which is counted in
tokens: a printed frame of numbers takes a token for two bytes. The whole text stays stored,
so the decision only records how much of its head and tail is shown. A single long line is cut
inside. Limits follow spec/session-engine.md 1.15; keeping head and tail when the tail holds
an error is ours, since a traceback at the end is what the model needs most.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from palimpsest.transcript.context_values.decisions import Decision, Facts, OwnRule
from palimpsest.transcript.context_values.policies import TruncatePolicy
from palimpsest.transcript.ids import short

RULE: OwnRule = "truncate"

TAIL_SHARE = 0.4
"""Share of the cap that goes to the tail when both ends are kept: a traceback is rarely longer."""

ERROR_LINES = 40
"""How far from the end an error is looked for: a long Python traceback has about 40 lines."""

ERROR_PATTERN = re.compile(
    r"(error|exception|traceback|fatal|failed|panic|segmentation fault)\b", re.IGNORECASE
)

BYTES_PER_TOKEN = 4
"""Converts a share of the window to bytes for policies that count none of its tokens."""

NARROWINGS = 16
"""Times that a cap in bytes is tried until a text is within its share of the window; two suffice mostly."""
ENOUGH = 0.75
"""Part of its share that a text takes at least, where it is long enough for more."""
NARROWER = 0.97
"""Factor by which it gets smaller than the tokens of what was kept ask for, since these are not spread evenly."""

HINT = (
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
"""Used where the agent may start tasks: what a task's agent reads does not fill this conversation."""


@dataclass(frozen=True, slots=True)
class KeptEnds:
    """How much of a text is kept at each end, in characters, and what that leaves out."""

    head: int
    tail: int
    omitted: int
    unit: Literal["lines", "bytes"]


def measure(
    text: str, max_lines: int, max_bytes: int, *, from_end: bool = False
) -> KeptEnds | None:
    """Choose how much of one end is kept, or None when the whole text fits."""
    lines = text.split("\n")
    total_bytes = len(text.encode("utf-8", "surrogatepass"))
    if len(lines) <= max_lines and total_bytes <= max_bytes:
        return None
    kept, used, hit_bytes = 0, 0, False
    for line in reversed(lines) if from_end else lines:
        if kept >= max_lines:
            break
        size = len(line.encode("utf-8", "surrogatepass")) + (1 if kept else 0)
        if used + size > max_bytes:
            hit_bytes = True
            break
        kept += 1
        used += size
    chosen = lines[len(lines) - kept :] if from_end else lines[:kept]
    chars = len("\n".join(chosen))
    omitted, unit = (total_bytes - used, "bytes") if hit_bytes else (len(lines) - kept, "lines")
    return KeptEnds(
        head=0 if from_end else chars,
        tail=chars if from_end else 0,
        omitted=omitted,
        unit="bytes" if unit == "bytes" else "lines",
    )


def caps(policy: TruncatePolicy, facts: Facts) -> tuple[int, int]:
    """Return the caps in lines and bytes for one output, before its tokens are counted."""
    max_bytes = policy.max_bytes
    if policy.window_share is not None and policy.share_counted == "bytes":
        max_bytes = min(max_bytes, int(facts.capacity * policy.window_share * BYTES_PER_TOKEN))
    return policy.max_lines, max(max_bytes, 1)


def most_tokens(policy: TruncatePolicy, facts: Facts) -> int | None:
    """Return the tokens that one output may take by the session's estimator; None where none are counted."""
    if policy.window_share is None or policy.share_counted == "bytes":
        return None
    return max(int(facts.capacity * policy.window_share), 1)


def left_to_tool(metadata: Mapping[str, Any], policy: TruncatePolicy) -> bool:
    """Tell whether an output that its tool shortened itself stays as it is; its share of the window holds where it is counted."""
    shares = policy.window_share is not None and policy.share_counted == "tokens"
    return bool(metadata.get("truncated")) and not shares


def fits_surely(text: str, policy: TruncatePolicy, facts: Facts) -> bool:
    """Tell whether a text is within all caps without a count of its tokens: no text takes more of them than bytes."""
    lines, size = caps(policy, facts)
    most = most_tokens(policy, facts)
    size = size if most is None else min(size, most)
    if text.count("\n") >= lines or len(text) > size:
        return False
    return len(text.encode("utf-8", "surrogatepass")) <= size


def truncate(
    decision_id: str,
    part_id: str,
    message_id: str,
    text: str,
    policy: TruncatePolicy,
    facts: Facts,
    count: Callable[[str], int],
) -> Decision | None:
    """Decide how much of a tool output the model is shown; None leaves it whole."""
    if fits_surely(text, policy, facts):
        return None
    max_lines, max_bytes = caps(policy, facts)
    most = most_tokens(policy, facts)
    whole = count(text)
    numbers = _numbers(text, policy, part_id, max_lines, max_bytes)
    shown = count(shorten(text, numbers)) if numbers is not None else whole
    if most is not None and shown > most:
        numbers = _within(most, shown, max_bytes, text, policy, part_id, count)
        shown = count(shorten(text, numbers))
    if numbers is None:
        return None
    return Decision(
        id=decision_id,
        action="truncate",
        rule=RULE,
        message_id=message_id,
        part_id=part_id,
        numbers=numbers,
        tokens_before=whole,
        tokens_after=shown,
    )


def _within(
    most: int,
    shown: int,
    max_bytes: int,
    text: str,
    policy: TruncatePolicy,
    part_id: str,
    count: Callable[[str], int],
) -> dict[str, int | str]:
    """Return the numbers of a decision that shows ``most`` tokens of a text at most, where it shows too many of them now."""
    low, high = 0, min(max_bytes, len(text.encode("utf-8", "surrogatepass")))
    size = int(high * most / shown * NARROWER)
    best = _numbers(text, policy, part_id, policy.max_lines, 1) or {}
    for _ in range(NARROWINGS):
        size = min(max(size, low + 1), high - 1)
        if size <= low:
            break
        numbers = _numbers(text, policy, part_id, policy.max_lines, size) or {}
        shown = count(shorten(text, numbers))
        if shown > most:
            high, size = size, (low + size) // 2 if low else int(size * most / shown * NARROWER)
            continue
        best, low, size = numbers, size, (size + high) // 2
        if shown >= most * ENOUGH:
            break
    return best | {"max_bytes": max_bytes, "max_tokens": most}


def _numbers(
    text: str, policy: TruncatePolicy, part_id: str, max_lines: int, max_bytes: int
) -> dict[str, int | str] | None:
    """Return the numbers of a decision that keeps so much of a text; None where that is all of it."""
    both = policy.direction == "auto" and _tail_holds_error(text)
    kept = _both_ends(text, max_lines, max_bytes) if both else None
    if kept is None:
        kept = measure(text, max_lines, max_bytes, from_end=policy.direction == "tail")
    if kept is None:
        return None
    if not kept.head and not kept.tail and policy.form == "ends":
        kept = _inside_a_line(text, max_bytes, from_end=policy.direction == "tail")
    numbers: dict[str, int | str] = {
        "head_chars": kept.head,
        "tail_chars": kept.tail,
        "omitted": kept.omitted,
        "unit": kept.unit,
        "max_lines": max_lines,
        "max_bytes": max_bytes,
    }
    if policy.recall:
        numbers["recall"] = short(part_id)
    if policy.recall and policy.task:
        numbers["hand_to"] = "task"
    if policy.form == "lines":
        numbers["lines_of"] = "tail" if policy.direction == "tail" else "head"
    return numbers


def shorten(text: str, numbers: Mapping[str, int | str]) -> str:
    """Apply a truncation to the original text; the same numbers always give the same text."""
    head, tail = int(numbers["head_chars"]), int(numbers["tail_chars"])
    if "suffix" in numbers:
        return _between(text, head, tail, numbers)
    gap = f"...{numbers['omitted']} {numbers['unit']} truncated..."
    last = text[len(text) - tail :] if tail else ""
    hint = _hint(numbers)
    match numbers.get("lines_of"):
        case "head":
            return "\n\n".join((text[:head], gap, hint))
        case "tail":
            return "\n\n".join((gap, hint, last))
        case _:
            return "\n\n".join(piece for piece in (text[:head], gap, last, hint) if piece)


def _hint(numbers: Mapping[str, int | str]) -> str:
    """Return the hint how to see the rest; older decisions lack newer numbers, and keep their older hint."""
    if "recall" not in numbers:
        return HINT
    hint = TASK_HINT if "hand_to" in numbers else RECALL_HINT
    return hint.format(name=numbers["recall"])


def _between(text: str, head: int, tail: int, numbers: Mapping[str, int | str]) -> str:
    """Join the ends of a text with the middle and suffix that the decision records."""
    text += str(numbers.get("appended", ""))
    end = max(len(text) - int(numbers.get("tail_skipped", 0)), 0)
    last = text[max(end - tail, 0) : end] if tail else ""
    return f"{text[:head]}{numbers.get('middle', '')}{last}{numbers['suffix']}"


def _tail_holds_error(text: str) -> bool:
    return ERROR_PATTERN.search("\n".join(text[-20_000:].split("\n")[-ERROR_LINES:])) is not None


def _both_ends(text: str, max_lines: int, max_bytes: int) -> KeptEnds | None:
    if measure(text, max_lines, max_bytes) is None:
        return None
    tail = measure(
        text, max(1, int(max_lines * TAIL_SHARE)), int(max_bytes * TAIL_SHARE), from_end=True
    )
    head = measure(
        text, max_lines - int(max_lines * TAIL_SHARE), max_bytes - int(max_bytes * TAIL_SHARE)
    )
    if tail is None or head is None or not tail.tail or not head.head:
        return None
    shown = len((text[: head.head] + text[-tail.tail :]).encode("utf-8", "surrogatepass"))
    omitted = len(text.encode("utf-8", "surrogatepass")) - shown
    return KeptEnds(head=head.head, tail=tail.tail, omitted=max(omitted, 0), unit="bytes")


def _inside_a_line(text: str, max_bytes: int, *, from_end: bool) -> KeptEnds:
    raw = text.encode("utf-8", "surrogatepass")
    if from_end:
        start = max(len(raw) - max_bytes, 0)
        while start < len(raw) and _continues(raw[start]):
            start += 1
        piece = raw[start:]
    else:
        end = min(max_bytes, len(raw))
        while 0 < end < len(raw) and _continues(raw[end]):
            end -= 1
        piece = raw[:end]
    chars = len(piece.decode("utf-8", "surrogatepass"))
    return KeptEnds(
        head=0 if from_end else chars,
        tail=chars if from_end else 0,
        omitted=len(raw) - len(piece),
        unit="bytes",
    )


def _continues(byte: int) -> bool:
    """Tell whether a byte of UTF-8 goes on with a character."""
    return byte & 0xC0 == 0x80

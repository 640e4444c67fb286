"""Short texts that all views share: counts, durations, money, signs, subjects.

Border: pure; plain text, which each view escapes in its own way.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, assert_never

from palimpsest.transcript.errors import ErrorValue
from palimpsest.transcript.parts import NotebookPart, StepFinishPart
from palimpsest.transcript.strings.number_words import count as count
from palimpsest.transcript.strings.number_words import duration as duration
from palimpsest.transcript.strings.number_words import ranges_text
from palimpsest.transcript.values import Reply

CALL_SIGNS = {
    "pending": "○",
    "running": "◐",
    "waiting": "◔",
    "completed": "✓",
    "error": "✗",
    "refused": "\N{EN DASH}",
    "stopped": "■",
}
"""The sign of each state of a tool call; they differ in shape, not only in colour."""

_SUBJECT_KEYS = (
    "path", "file_path", "command", "pattern", "code", "name", "url", "query", "description",
)  # fmt: skip
_SKIPPED_BEGINNINGS = ("import ", "from ", "#", "%", "@", "plt.figure", "plt.style")
_CENT_DIGITS = 3
ONE_CENT = 0.01
"""Minimum amount in US dollars with two decimals; smaller amounts get more decimals, so that one digit is shown."""
MAX_USD_DIGITS = 9
"""Maximum decimals: a billionth of a dollar is less than the price of a token of any model."""


def counted_noun(number: int, noun: str) -> str:
    """Return a number with its noun, in singular or plural: ``1 prompt``, ``2 prompts``."""
    return f"{count(number)} {noun}{'' if number == 1 else 's'}"


def first_names(names: Sequence[str], max_names: int) -> str:
    """Return the first names with commas, and the number of further ones: ``a, b and 3 more``."""
    more_text = f" and {len(names) - max_names} more" if len(names) > max_names else ""
    return ", ".join(names[:max_names]) + more_text


def short_count(number: int) -> str:
    """Return a number of tokens in few characters: ``980``, ``46k``, ``1.2M``."""
    if number < 1_000:
        return str(number)
    if number < 999_500:
        return f"{number / 1_000:.1f}k" if number < 9_950 else f"{number / 1_000:.0f}k"
    return f"{number / 1_000_000:.1f}M"


def size_text(number: int) -> str:
    """Return a number of bytes: ``640 bytes``, ``12.3 kB``, ``4.0 MB``."""
    if number < 1_000:
        return f"{number} bytes"
    return f"{number / 1_000:.1f} kB" if number < 999_950 else f"{number / 1_000_000:.1f} MB"


def usd_digits(value: float) -> int:
    """Return the decimals for an amount in US dollars: two, or below a cent enough for its first digit."""
    if not value or not math.isfinite(value) or abs(value) >= ONE_CENT:
        return 2
    return min(-int(f"{value:.0e}".partition("e")[2]), MAX_USD_DIGITS)


def usd_text(value: float, digits: int = 0) -> str:
    """Return an amount in US dollars without its unit: ``0.41``, ``0.0004``; ``digits`` are the decimals of its column."""
    return f"{value:,.{max(digits, usd_digits(value))}f}"


def money(cost: float | None) -> str:
    """Return US dollars as text; an unknown cost is never shown as zero."""
    if cost is None:
        return "cost unknown"
    if cost == 0:
        return "$0"
    return f"${cost:.{2 if cost >= 1 else _CENT_DIGITS}f}" if cost >= 0.001 else "under $0.001"


def about_money(cost: float | None, *, is_estimate: bool) -> str:
    """Return US dollars as text, with a mark where they are an estimate."""
    return f"~{money(cost)}" if is_estimate and cost else money(cost)


def step_text(part: StepFinishPart, number: int) -> str:
    """Return the numbers of one step in one line."""
    tokens = part.tokens
    estimate_mark = "about " if tokens.estimated else ""
    cached = f" ({count(tokens.cache_read)} cached)" if tokens.cache_read else ""
    phrases = [
        f"step {number}",
        f"{estimate_mark}{count(tokens.prompt)} in{cached}",
        f"{count(tokens.output + tokens.reasoning)} out",
        about_money(part.cost, is_estimate=bool(part.cost_listed)),
    ]
    if part.seconds is not None:
        phrases.append(duration(part.seconds))
    if part.waited_seconds is not None:
        phrases.append(f"{duration(part.waited_seconds)} for your answers")
    return " · ".join(phrases)


def cells_text(part: NotebookPart) -> str:
    """Return a sentence that names the cells in a message for the agent."""
    cells = part.cells
    numbers = [cell.number for cell in cells if cell.number is not None]
    failed_count = sum(cell.status == "error" for cell in cells)
    edited_count = sum(edit.state == "edited" for edit in part.edits)
    deleted_count = sum(edit.state == "deleted" for edit in part.edits)
    facts = [
        f"cell{'s' if len(numbers) > 1 else ''} {ranges_text(numbers)}" if numbers else "",
        f"{failed_count} with an error" if failed_count else "",
        f"{len(part.omitted)} only named" if part.omitted else "",
        f"{edited_count} edited and not run" if edited_count else "",
        f"{deleted_count} deleted" if deleted_count else "",
        f"{part.hidden} kept from it" if part.hidden else "",
        f"{count(part.tokens)} tokens" if part.tokens else "",
    ]
    if part.about != "runs":
        names = ", ".join(f"@{name}" for name in part.names)
        return f"Goes along: {', '.join(filter(None, [names, *facts]))}"
    return f"What you ran was told: {', '.join(filter(None, facts))}"


def share_text(used_tokens: int, window: int) -> str:
    """Return the used share of the window: ``23% of 200k``; ``46k tokens`` where it has no limit."""
    if not window:
        return f"{short_count(used_tokens)} tokens"
    percent = 100 * used_tokens / window
    number = "under 1" if 0 < percent < 0.95 else f"{percent:.0f}"
    return f"{number}% of {short_count(window)}"


def gauge_bar(used_tokens: int, window: int, width: int = 16, free_sign: str = "·") -> str:
    """Return the used share of the window as a bar of characters; ``free_sign`` fills the rest.

    A window without a limit has no share, and no bar.
    """
    if not window:
        return ""
    eighths = min(width * 8, round(8 * width * max(used_tokens, 0) / window))
    full_count, eighths_left = divmod(eighths, 8)
    bar = "█" * full_count + " ▏▎▍▌▋▊▉"[eighths_left].strip()
    return bar + free_sign * (width - len(bar))


def reply_text(reply: Reply) -> str:
    """Return the answer of the user, a rule or a program to a permission question as text."""
    if reply.answer == "reject":
        feedback = f": {reply.feedback}" if reply.feedback else ""
        if reply.by == "headless":
            return f"refused, nobody was there to ask{feedback}"
        source_text = {"person": "", "cancel": "", "engine": "", "rule": " by a rule"}
        return f"refused{source_text.get(reply.by, f' by {reply.by}')}{feedback}"
    permission = "allowed once" if reply.answer == "once" else "always allowed"
    return permission if reply.by == "person" else f"{permission} by {reply.by}"


def subject(arguments: Mapping[str, Any]) -> str:
    """Return the subject of a tool call: its path, its command, or the first line of its code."""
    for key in _SUBJECT_KEYS:
        value = arguments.get(key)
        if isinstance(value, str) and value.strip():
            return value.strip().split("\n", 1)[0]
    return next((v for v in arguments.values() if isinstance(v, str) and v.strip()), "")


def first_code_line(code: str) -> str:
    """Return the first line of code that is no import, comment or bracket."""
    lines = [line.strip() for line in code.strip().split("\n")]
    statements = (
        line for line in lines if len(line) > 1 and not line.startswith(_SKIPPED_BEGINNINGS)
    )
    return next(statements, lines[0])


def error_texts(error: ErrorValue) -> tuple[str, str]:
    """Return two sentences on an error: the problem, and what to do."""
    problem = error.message.strip() or "Something failed that gave no reason."
    match error.type:
        case "auth":
            advice = "Then ask again, or use another model."
            if "environment variable" not in problem:
                advice = f"Set the key of {error.provider} in the environment of the kernel and ask again."
        case "output-length":
            advice = "Ask it to go on, or for a shorter answer."
        case "aborted":
            advice = "What was done up to here is kept. Ask again to go on."
        case "context-overflow":
            advice = "Start a new session with --new, or choose a model with a larger window."
        case "api":
            other_model = "Ask again, or use another model."
            advice = "Ask again in a moment." if error.retryable else other_model
        case "content-filter":
            advice = "Say it differently, or use another model."
        case "structured-output":
            advice = "Ask again, ask for a simpler form, or use another model."
        case "unknown":
            retry_advice = "Ask again; if it stays, %agent status shows where the record is."
            advice = "" if error.explained else retry_advice
        case _:
            assert_never(error)
    return problem, advice


def thought_text(title: str, seconds: float | None) -> str:
    """Return the heading of a reasoning part, or of a text that is shown like one."""
    return title or ("Thought" if seconds is None else f"Thought for {duration(seconds)}")


LOADING = "loading what the model needs…"
"""Shown while a first turn waits for the import of a library."""

"""Recognise a refusal that means: the request does not fit the context window.

Pure. Providers agree on neither status nor words, so codes and phrases are listed here, and
what sounds alike but is a rate limit is told apart. Only real error fields are to be read,
never the words of a user or model, who may well talk about context overflow.
"""

import re

OVERFLOW_CODES = frozenset(
    {
        "context_length_exceeded",
        "context_window_exceeded",
        "model_context_window_exceeded",
        "request_too_large",
    }
)

OVERFLOW_PATTERNS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"prompt is too long",
        r"(?:input|prompt|request|conversation|context) (?:is |was )?too (?:long|large)",
        r"exceed\w*(?: \w+){0,3} context (?:window|length|limit|size)",
        r"context (?:window|length|limit|size)(?: \S+){0,4} exceed",
        r"exceeds? (?:the )?(?:model'?s? )?(?:maximum|max) (?:context|number of (?:input )?tokens|input|allowed tokens)",
        r"maximum (?:context|prompt|sequence) length(?: \w+){0,3} \d+",
        r"input token count.{0,60}exceeds? the maximum",
        r"(?:input|prompt|request).{0,40}exceeds? the (?:maximum|limit of|available context|context)",
        r"too many (?:input )?tokens",
        r"token limit exceeded",
        r"(?:input|total) tokens?.{0,30} exceeds?.{0,20}(?:max|maximum|limit)",
        r"input length and .?max_tokens.? exceed context limit",
        r"reduce the length of (?:the|your) (?:messages|prompt|input)",
        r"request entity too large",
        r"request (?:size )?exceeds the maximum size",
        r"context_length_exceeded|context_window_exceeded|request_too_large",
        r"greater than the (?:maximum )?context (?:length|window)",
        r"larger than the (?:maximum )?context (?:length|window|size)",
        r"^4(?:00|13)\s*(?:status code)?\s*\(no body\)",
        r"prompt contains too many tokens",
        r"maximum context length",
        r"too large for (?:the |this )?model",
        r"longer than the .{0,20}context",
        r"exceed\w* (?:the )?model(?:'s)? token limit",
        r"context overflow:",
        r"上下文(?:过长|长度|超出|超过|窗口)",
    )
)

NOT_OVERFLOW = re.compile(
    r"rate.?limit|too many requests|requests per|tokens per (?:minute|day|hour)|\btpm\b|throttl|quota|credit balance|billing",
    re.IGNORECASE,
)


def is_overflow(message: str, code: str | None = None, status: int | None = None) -> bool:
    """Say whether a refusal with this message, code and status means "too long"."""
    if code in OVERFLOW_CODES:
        return True
    if status == TOO_MANY_REQUESTS or NOT_OVERFLOW.search(message):
        return False
    if status == ENTITY_TOO_LARGE:
        return True
    return any(pattern.search(message) for pattern in OVERFLOW_PATTERNS)


TOO_MANY_REQUESTS = 429
ENTITY_TOO_LARGE = 413

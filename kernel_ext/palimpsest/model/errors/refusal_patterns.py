"""Patterns that classify providers' error messages: request too long, rate limit, billing.

Data only; ``model/errors/overflow_detection.py`` reads it. Providers agree on neither status nor wording, so each table
lists the patterns of one recorded agent, and ``UNION`` is ours: the certain patterns of all, without their guesses from
words that merely occur near each other. The recorded agents are OpenCode, and OpenClaw 2026.2 and 2026.9.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

Patterns = tuple[re.Pattern[str], ...]


def phrase_patterns(*patterns: str) -> Patterns:
    """Return patterns that ignore case."""
    return tuple(re.compile(pattern, re.IGNORECASE | re.DOTALL) for pattern in patterns)


def pattern_with_all(*pieces: str) -> str:
    """Return a pattern for texts that contain all pieces, in any order."""
    return r"\A" + "".join(f"(?=.*{re.escape(piece)})" for piece in pieces)


@dataclass(frozen=True, slots=True)
class BillingPatterns:
    """Patterns of errors about billing."""

    words: Patterns = ()
    """Patterns that may match anywhere in a message."""
    status: Patterns = ()
    """Status 402 in the text; in a long text only this counts."""
    beginnings: Patterns = ()
    """Beginnings of a message about billing, if ``continuations`` matches it too."""
    continuations: Patterns = ()
    max_chars: int = 512


@dataclass(frozen=True, slots=True)
class RefusalPatterns:
    """The patterns by which one agent recognises that a request was too long.

    It matches when none of ``excluded_first`` and ``excluded`` and one of ``sure`` matches; or else, when
    none of ``excluding_likely`` and one of ``likely`` matches.
    """

    sure: Patterns = ()
    """Patterns that are certain, unless one of ``excluded_first`` matches too."""
    excluded_first: Patterns = ()
    excluded: Patterns = ()
    likely: tuple[Patterns, ...] = ()
    """Each group of patterns must match in this order in one line."""
    excluding_likely: Patterns = ()
    rate: Patterns = ()
    """Patterns of rate limits."""
    bills: BillingPatterns = BillingPatterns()
    excludes_bills: bool = False
    """Whether a message about billing excludes that the request was too long."""
    compaction: Patterns = ()
    """Patterns by which an overflow error is about a failed compaction."""
    tokens: Patterns = ()
    """Patterns for the request's tokens; several groups are added up."""
    codes: frozenset[str] = frozenset()
    """Error codes that certainly mean an overflow."""
    statuses: frozenset[int] = frozenset()
    """HTTP statuses that mean an overflow, unless the message is about something else."""
    reads_code: bool = True
    """Whether status and code are matched as part of the text, as by agents that match the whole error."""


TOKENS_PER_MINUTE = (r"\btpm\b", "tokens per minute")
"""One provider reports this rate limit with status 413."""

REASONING = (
    "reasoning is mandatory",
    "reasoning is required",
    "requires reasoning",
    pattern_with_all("reasoning", "cannot be disabled"),
)

WINDOW_TOO_SMALL = "context window.*(?:too small|minimum is)"
"""The message of our own window check, since a compaction does not enlarge a window."""

STATUS_402 = (
    r"[\"']?(?:status|code)[\"']?\s*[:=]\s*402\b|\bhttp\s*402\b|\berror(?:\s+code)?\s*[:=]?\s*402\b"
    r"|\b(?:got|returned|received)\s+(?:a\s+)?402\b|\A\s*402\s+payment"
)

BILLING = (
    STATUS_402,
    "payment required",
    "insufficient credits",
    "insufficient[_ ]quota",
    "insufficient balance",
    "credit balance",
    "plans & billing",
)

BILLING_HEAD = (
    r"\A(?:error[:\s-]+)?billing(?:\s+error)?(?:[:\s-]+|\Z)",
    r"\A(?:error[:\s-]+)?(?:credit balance|insufficient credits?|payment required|http\s*402\b)",
)
BILLING_TAIL = ("upgrade|credits|billing|plan",)


def billing_patterns(*patterns: str) -> BillingPatterns:
    """Return the billing patterns of a table: the given ones, status 402 and the usual beginnings."""
    return BillingPatterns(
        words=phrase_patterns(*patterns),
        status=phrase_patterns(STATUS_402),
        beginnings=phrase_patterns(*BILLING_HEAD),
        continuations=phrase_patterns(*BILLING_TAIL),
    )


RATE_2026_2 = (
    r"rate[_ ]limit|too many requests|429",
    "model_cooldown",
    "cooling down",
    "exceeded your current quota",
    "resource has been exhausted",
    "quota exceeded",
    "resource_exhausted",
    "usage limit",
    *TOKENS_PER_MINUTE,
)

SURE_2026_2 = (
    "request_too_large",
    "request exceeds the maximum size",
    "context length exceeded",
    "maximum context length",
    "prompt is too long",
    "exceeds model context window",
    "model token limit",
    pattern_with_all("request size exceeds", "context window"),
    pattern_with_all("request size exceeds", "context length"),
    "context overflow:",
    "exceed context limit",
    "exceeds the model's maximum context",
    pattern_with_all("max_tokens", "exceed", "context"),
    pattern_with_all("input length", "exceed", "context"),
    pattern_with_all("413", "too large"),
    "上下文过长|上下文超出|上下文长度超|超出最大上下文|请压缩上下文",
)

TOO_LONG = "(?:too (?:large|long)|exceed|over|limit|max(?:imum)?)"

LIKELY_2026_2 = (
    phrase_patterns("context", "overflow"),
    phrase_patterns("context window", f"{TOO_LONG}|requested|sent|tokens"),
    phrase_patterns("prompt", TOO_LONG),
    phrase_patterns("request|input", "context|window|length|token", TOO_LONG),
)

EXCLUDING_LIKELY = (
    WINDOW_TOO_SMALL,
    "rate limit|too many requests|requests per (?:minute|hour|day)|quota|throttl|429\\b|tokens per day",
)

COMPACTION = ("summarization failed", "auto-compaction", "compaction failed", "compaction")

OPENCLAW_2026_2 = RefusalPatterns(
    sure=phrase_patterns(*SURE_2026_2),
    excluded_first=phrase_patterns(*TOKENS_PER_MINUTE, *REASONING),
    likely=LIKELY_2026_2,
    excluded=phrase_patterns(WINDOW_TOO_SMALL, *RATE_2026_2),
    excluding_likely=phrase_patterns(*EXCLUDING_LIKELY),
    rate=phrase_patterns(*RATE_2026_2),
    bills=billing_patterns(*BILLING),
    compaction=phrase_patterns(*COMPACTION),
)
"""The oldest recorded version of OpenClaw, which neither excludes billing errors nor reads token numbers."""

PROVIDERS_2026_9 = (
    r"\binput token count exceeds the maximum number of input tokens\b",
    r"\btokens in request more than max tokens allowed\b",
    r"\binput is too long for this model\b",
    r"\binput exceeds the maximum number of tokens\b",
    r"\bollama error:\s*context length exceeded\b",
    r"\btotal tokens?[^\n]*exceeds? (?:the )?(?:model(?:'s)? )?(?:max|maximum|limit)",
    r"\b(?:request|prompt) \(\d[\d,]*\s*tokens?\) exceeds (?:the )?available context size\b",
    r"\binput (?:is )?too long for (?:the )?model\b",
    r"\bprompt has [\d,]+ tokens?, but the configured context size is [\d,]+ tokens?\b",
    r"\bthe input \([\d,]+ tokens?\) is longer than the model's context length\b",
)

SURE_2026_9 = (
    *SURE_2026_2,
    "prompt too long",
    "context_window_exceeded",
    pattern_with_all("invalid_argument", "maximum number of tokens"),
    pattern_with_all("input exceeds", "maximum number of tokens"),
    *PROVIDERS_2026_9,
)

RATE_2026_9 = (
    r"rate[_ ]limit|too many (?:concurrent )?requests|429",
    "throttling|throttled",
    "model_cooldown",
    "exceeded your current quota",
    "resource has been exhausted",
    "quota exceeded",
    "resource_exhausted",
    "usage limit",
    *TOKENS_PER_MINUTE,
    "tokens per day",
)

BILLING_2026_9 = (
    *BILLING,
    "requires more credits",
    "out of extra usage",
    "extra usage is required",
)

NUMBER = r"(\d[\d,]*)"

TOKENS_2026_9 = (
    rf"prompt is too long:\s*{NUMBER}\s+tokens\s*>\s*[\d,]+\s+maximum",
    rf"requested\s+{NUMBER}\s+tokens",
    rf"\(requested:\s*{NUMBER}\)",
    rf"resulted in\s+{NUMBER}\s+tokens",
    rf"exceed context limit\D*{NUMBER}\s*\+\s*{NUMBER}\s*>",
)

OPENCLAW_2026_9 = RefusalPatterns(
    sure=phrase_patterns(*SURE_2026_9),
    excluded_first=phrase_patterns(*TOKENS_PER_MINUTE, *REASONING),
    likely=LIKELY_2026_2,
    excluded=phrase_patterns(WINDOW_TOO_SMALL, *RATE_2026_9),
    excludes_bills=True,
    excluding_likely=phrase_patterns(*EXCLUDING_LIKELY),
    rate=phrase_patterns(*RATE_2026_9),
    bills=billing_patterns(*BILLING_2026_9),
    compaction=phrase_patterns(*COMPACTION),
    tokens=phrase_patterns(*TOKENS_2026_9),
)

SURE_OPENCODE = (
    "prompt is too long",
    "input is too long for requested model",
    "exceeds the context window",
    "input token count[^\n]*exceeds the maximum",
    r"maximum prompt length is \d+",
    "reduce the length of the messages",
    r"maximum context length is \d+ tokens",
    r"exceeds the limit of \d+",
    "exceeds the available context size",
    "greater than the context length",
    "context window exceeds limit",
    "exceeded model token limit",
    "context[_ ]length[_ ]exceeded",
    "request entity too large",
    r"context length is only \d+ tokens",
    "input length[^\n]*exceeds[^\n]*context length",
    "prompt too long; exceeded (?:max )?context length",
    r"too large for model with \d+ maximum context length",
    "model_context_window_exceeded",
    "too many tokens",
    "token limit exceeded",
    "tokens in request more than max tokens allowed",
    r"exceeds (?:the )?(?:model'?s )?maximum context length",
    "exceeds (?:the )?maximum allowed input length",
    "is longer than the model'?s context length",
    r"prompt has [\d,]+ tokens?, but the configured context size is",
    r"\A4(?:00|13)\s*(?:status code)?\s*\(no body\)",
)

RATE_OPENCODE = ("rate.?limit|too many requests|throttl|service unavailable",)

OPENCODE = RefusalPatterns(
    sure=phrase_patterns(*SURE_OPENCODE),
    excluded=phrase_patterns(*RATE_OPENCODE),
    rate=phrase_patterns(*RATE_OPENCODE),
    codes=frozenset({"context_length_exceeded"}),
    statuses=frozenset({413}),
    reads_code=False,
)

NO_REFUSALS = RefusalPatterns(reads_code=False)
"""OpenCode 1.1 recognises no overflows."""

SURE_OWN = (
    # Further patterns by which litellm recognises a request that is too long.
    r"string too long\. expected a string with maximum length",
    "model's maximum context limit",
    "`inputs` tokens \\+ `max_new_tokens` must be",
    "current length is [^\n]*while limit is",
    "maximum input length is [^\n]*tokens",
    r"(?:input|prompt|request|conversation|context) (?:is |was )?too (?:long|large)(?! for (?:upload|file))",
    r"exceed\w*(?: \w+){0,3} context (?:window|length|limit|size)",
    r"context (?:window|length|limit|size)(?: \S+){0,4} exceed",
    r"exceeds? (?:the )?(?:model'?s? )?(?:maximum|max) (?:context|number of (?:input )?tokens|input|allowed (?:input|tokens))",
    r"maximum (?:context|prompt|sequence) length(?: \w+){0,3} \d+",
    r"input token count.{0,60}exceeds? the maximum",
    r"(?:input|prompt|request).{0,40}exceeds? the (?:maximum|limit of|available context|context)",
    r"(?:input|total) tokens?.{0,30} exceeds?.{0,20}(?:max|maximum|limit)",
    r"reduce the length of (?:the|your) (?:messages|prompt|input)",
    r"request (?:size )?exceeds the maximum size",
    r"(?:greater|larger|longer) than the (?:.{0,20})context",
    r"prompt contains too many tokens",
    r"(?:input|prompt|request|context) (?:length )?exceeds? (?:the )?max(?:imum)? (?:\w+ )?length",
    r"(?:loaded|configured|started) with (?:a )?context (?:length|window|size) of (?:only )?\d+",
    r"too large for (?:the |this )?model",
    r"exceed\w* (?:the )?model(?:'s)? token limit",
    r"\b4(?:00|13)\s*(?:status code)?\s*\(no body\)",
    r"上下文(?:过长|长度|超出|超过|窗口)",
)

RATE_OURS = (
    r"rate[_ ]limit|too many (?:concurrent )?requests|\b429\b",
    "throttling|throttled",
    "model_cooldown|cooling down",
    "resource has been exhausted|resource_exhausted",
    "exceeded your current quota|quota exceeded",
    *TOKENS_PER_MINUTE,
)
"""Limits that pass after a short wait, unlike a plan's usage limit and its daily tokens."""

UNION = RefusalPatterns(
    sure=phrase_patterns(*SURE_2026_9, *SURE_OPENCODE, *SURE_OWN),
    excluded=phrase_patterns(
        *REASONING,
        *TOKENS_PER_MINUTE,
        WINDOW_TOO_SMALL,
        r"rate.?limit|too many (?:concurrent )?requests|requests per|tokens per (?:day|hour)|throttl"
        "|quota|usage limit|resource.?exhausted",
        STATUS_402,
        "payment required|insufficient (?:credits|balance)|credit balance|plans & billing|billing"
        "|requires more credits|extra usage",
    ),
    rate=phrase_patterns(*RATE_OURS),
    bills=billing_patterns(*BILLING_2026_9),
    compaction=phrase_patterns("summari[sz]ation failed", "compaction"),
    tokens=phrase_patterns(
        *TOKENS_2026_9,
        rf"requested about {NUMBER} tokens",
        rf"request contains {NUMBER} tokens",
        rf"prompt contains {NUMBER} tokens",
        rf"prompt has {NUMBER} tokens",
        rf"input token count \({NUMBER}\) exceeds",
        rf"prompt token count of {NUMBER} exceeds",
        rf"(?:request|prompt|input) \({NUMBER} tokens?\) (?:exceeds|is longer)",
        rf"input length \(?{NUMBER}\)? exceeds",
    ),
    codes=frozenset(
        {"context_length_exceeded", "context_window_exceeded", "model_context_window_exceeded"}
        | {"request_too_large"}
    ),
    statuses=frozenset({413}),
)

TABLES: Mapping[str, RefusalPatterns] = {
    "none": NO_REFUSALS,
    "opencode": OPENCODE,
    "openclaw-2026.2": OPENCLAW_2026_2,
    "openclaw-2026.9": OPENCLAW_2026_9,
    "union": UNION,
}
"""The tables by the name that a policy uses."""

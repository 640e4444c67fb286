"""Check whether a summary may replace the covered messages: structure, names, the latest request, no refusal.

Border: pure; it compares words, not meanings, as ``loss_report`` does. As in OpenClaw, half of the names in prompts and
of the changed files must occur in the summary; requiring all of them was seen to fail good summaries.
"""

import re
from collections.abc import Iterator

from palimpsest.context.compaction.loss_report import NAME_PATTERNS
from palimpsest.context.conversion.transcript_text import serialize_messages
from palimpsest.context.visible_messages import marker
from palimpsest.lazy_patterns import lazy_pattern
from palimpsest.transcript.context_values.policies import CompactPolicy
from palimpsest.transcript.messages import AssistantMessage, Message, Messages, UserMessage
from palimpsest.transcript.parts import TextPart, ToolPart

REFUSAL = lazy_pattern(
    r"""^\W*(?:
      (?:i(?:['\u2019]?m|\s+am)\s+)?(?:very\s+|so\s+)?sorry\b
    | i\s+apologi[sz]e\b | my\s+apologies\b
    | (?:unfortunately,?\s+)?i\s+(?:can(?:['\u2019]t|not|\s+not)|could\s+not|won['\u2019]t|am\s+(?:not\s+able|unable)|must\s+decline)\b
    | (?:unfortunately,?\s+)?i['\u2019]m\s+(?:not\s+able|unable)\b
    | as\s+an\s+ai\b
    | (?:es\s+tut\s+mir\s+leid|leider\s+kann\s+ich|ich\s+kann\s+(?:dabei|das|dies|ihnen|dir)\b.{0,40}\bnicht)
    | (?:je\s+suis\s+d[eé]sol[eé]e?|d[eé]sol[eé]e?\b|je\s+ne\s+(?:peux|suis)\b)
    | (?:lo\s+siento|no\s+puedo)\b | (?:desculpe|sinto\s+muito|n[aã]o\s+posso)\b
    | (?:mi\s+dispiace|non\s+posso)\b
    | (?:извините|простите|к\s+сожалению,?\s+я|я\s+не\s+могу)
    | (?:抱歉|对不起|對不起|很抱歉|我无法|我無法|我不能) | (?:申し訳|すみません|ごめんなさい) | (?:죄송|미안)
    )""",
    re.IGNORECASE | re.VERBOSE,
)
"""Beginnings of a refusal; such a text is no summary, whatever its length."""
HEADING = lazy_pattern(
    r"^\s{0,3}(?:#{1,6}\s+\S|\*\*[^*\n]{2,60}\*\*:?\s*$|[^\W\d_][^\n:]{1,40}[:\uff1a]\s*$)",
    re.MULTILINE,
)
ITEM = lazy_pattern(r"^\s*(?:[-*+•]|\d{1,3}[.)])\s+\S", re.MULTILINE)
MIN_HEADINGS = 2
MIN_ITEMS = 3
AUDITED_KINDS = ("paths", "identifiers")
"""The kinds of names in prompts that must occur, by ``KINDS`` of ``context/compaction/loss_report.py``."""
OPAQUE = lazy_pattern(
    r"https?://[^\s<>\"')\]]+|\b(?=[0-9a-fA-F-]{0,40}\d)[0-9a-fA-F]{8}[0-9a-fA-F-]*\b"
)
"""URLs, and identifiers that cannot be guessed, such as hashes."""
MAX_NAMES = 12
MIN_LOST_NAMES = 2
"""Fewer lost names do not count: a single lost name may be a word that only looks like a name."""
MAX_SEARCHED_PROMPTS = 3
"""Names are taken from this many of the newest prompts that the summary covers."""
CHANGING_TOOLS = ("write", "edit")
"""Tools whose calls change the file at their path."""
WORD = lazy_pattern(r"[^\W_]{4,}|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{2}")
ABBREVIATION = lazy_pattern(r"[^\W\d_](?:\.[^\W\d_])+")
"""Such as ``e.g``, which looks like a file."""
MIN_REQUEST_WORDS = 3
MIN_SHARED_WORDS = 2
MAX_QUOTE_CHARS = 200
REFUSES = "It refuses, or apologises, instead of telling what happened."
UNSTRUCTURED = "It has no headings and no list."
NAMELESS = "It names too few of the files and identifiers that matter: {names}."
REQUESTLESS = "It does not tell what the user asked last: {request}"


def summary_defects(text: str, messages: Messages, policy: CompactPolicy) -> tuple[str, ...]:
    """Return a sentence for each defect of a summary; empty where it may replace the covered messages.

    ``messages`` ends with the marker that requested it. A summary need not repeat the messages of the tail,
    nor the newest request where the engine repeats that after the summary.
    """
    covered_messages, tail_messages = split_at_tail(messages)
    marker_part = marker(messages[-1])
    request = next(filter(None, map(_prompt_text, reversed(covered_messages))), "")
    has_newer = any(map(_prompt_text, tail_messages))
    is_repeated = marker_part is None or marker_part.auto or has_newer
    repeated_request, request = (request, "") if is_repeated else ("", request)
    shown_text = "\n".join(
        (text, serialize_messages(tail_messages, policy.result_chars), repeated_request)
    ).casefold()
    refusals = (REFUSES,) if REFUSAL.search(text) else ()
    if policy.prompt:
        # The user's own prompt defines the contents of a summary, so only refusals count.
        return refusals
    has_headings = len(HEADING.findall(text)) >= MIN_HEADINGS
    is_structured = has_headings or len(ITEM.findall(text)) >= MIN_ITEMS
    return (
        *refusals,
        *(() if is_structured else (UNSTRUCTURED,)),
        *_name_defects(covered_messages, shown_text),
        *_request_defects(request, shown_text),
    )


def split_at_tail(messages: Messages) -> tuple[Messages, Messages]:
    """Return the messages that a marker (the last message) summarises, and those it keeps word for word."""
    marker_part = marker(messages[-1])
    ids = [message.id for message in messages]
    cut = (
        ids.index(marker_part.tail_start_id)
        if marker_part and marker_part.tail_start_id in ids
        else len(messages) - 1
    )
    return messages[:cut], messages[cut:]


def _name_defects(covered_messages: Messages, shown_text: str) -> Iterator[str]:
    names = list(dict.fromkeys(_names(covered_messages)))[:MAX_NAMES]
    # A path may be named without its folders.
    last_pieces = {name: name.rstrip("/").rpartition("/")[2].casefold() for name in names}
    lost_names = [name for name, piece in last_pieces.items() if piece not in shown_text]
    if len(lost_names) >= MIN_LOST_NAMES and len(lost_names) * 2 > len(names):
        yield NAMELESS.format(names=", ".join(lost_names))


def _names(covered_messages: Messages) -> Iterator[str]:
    """Yield the names in the newest prompts, and the paths of changed files, newest first."""
    prompts_searched = 0
    for message in reversed(covered_messages):
        if isinstance(message.info, AssistantMessage):
            yield from _changed_files(message)
        elif (prompt := _prompt_text(message)) and prompts_searched < MAX_SEARCHED_PROMPTS:
            prompts_searched += 1
            for pattern in (OPAQUE, *(NAME_PATTERNS[kind] for kind in AUDITED_KINDS)):
                names = (match[0].rstrip(".,:;") for match in pattern.finditer(prompt))
                yield from (name for name in names if not ABBREVIATION.fullmatch(name))


def _changed_files(message: Message) -> Iterator[str]:
    for part in message.parts:
        if (
            isinstance(part, ToolPart)
            and part.tool in CHANGING_TOOLS
            and part.state.status == "completed"
        ):
            path = part.state.input.get("path") or part.state.input.get("file_path")
            if isinstance(path, str) and path:
                yield path


def _request_defects(request: str, shown_text: str) -> Iterator[str]:
    request_words = set(WORD.findall(request.casefold()))
    shared_word_count = sum(word in shown_text for word in request_words)
    if len(request_words) >= MIN_REQUEST_WORDS and shared_word_count < MIN_SHARED_WORDS:
        quoted_request = " ".join(request.split())
        yield REQUESTLESS.format(request=quoted_request[:MAX_QUOTE_CHARS])


def _prompt_text(message: Message) -> str:
    """Return the text that the user wrote in a message; empty for answers, markers and synthetic text."""
    if not isinstance(message.info, UserMessage) or marker(message) is not None:
        return ""
    return "\n".join(
        part.text.strip()
        for part in message.parts
        if isinstance(part, TextPart)
        and not part.synthetic
        and not part.ignored
        and part.text.strip()
    )

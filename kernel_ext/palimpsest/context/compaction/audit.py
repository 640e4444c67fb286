"""Check whether a summary may replace what it covers: structure, names, the latest request, no refusal.

Border: pure, and does not judge meaning: it compares words, as ``loss_report`` does. Rules follow
spec/context-stability.md 1.16 (6, 7): half of the names in prompts and of the changed files must occur in
it, since a summary is shorter than what it covers; requiring all of them was seen to fail good ones.
"""

import re
from collections.abc import Iterable, Iterator

from palimpsest.context.compaction.loss_report import KINDS
from palimpsest.context.conversion.transcript_text import serialize
from palimpsest.context.visible_messages import marker
from palimpsest.transcript.context_values.policies import CompactPolicy
from palimpsest.transcript.messages import AssistantMessage, Message, Messages, UserMessage
from palimpsest.transcript.parts import TextPart, ToolPart
from palimpsest.transcript.strings.lazy_patterns import lazy_pattern

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
"""How a refusal begins; a text that begins so is no summary, whatever its length."""
HEADING = lazy_pattern(
    r"^\s{0,3}(?:#{1,6}\s+\S|\*\*[^*\n]{2,60}\*\*:?\s*$|[^\W\d_][^\n:]{1,40}[:\uff1a]\s*$)",
    re.MULTILINE,
)
ITEM = lazy_pattern(r"^\s*(?:[-*+•]|\d{1,3}[.)])\s+\S", re.MULTILINE)
LEAST_HEADINGS = 2
LEAST_ITEMS = 3
NAMES = ("paths", "identifiers")
"""The kinds of names, by ``KINDS`` of ``context/compaction/loss_report.py``, that are looked for in prompts."""
OPAQUE = lazy_pattern(
    r"https?://[^\s<>\"')\]]+|\b(?=[0-9a-fA-F-]{0,40}\d)[0-9a-fA-F]{8}[0-9a-fA-F-]*\b"
)
"""URLs, and identifiers that cannot be guessed, such as hashes."""
MOST_NAMES = 12
LEAST_LOST = 2
"""Fewer lost names do not count: a single one may be a word that only looks like a name."""
PROMPTS = 3
"""Names are taken from this many of the newest prompts that the summary covers."""
CHANGES = ("write", "edit")
WORD = lazy_pattern(r"[^\W_]{4,}|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{2}")
ABBREVIATION = lazy_pattern(r"[^\W\d_](?:\.[^\W\d_])+")
"""Such as ``e.g``, which looks like a file."""
LEAST_WORDS = 3
SHARED_WORDS = 2
LONGEST_QUOTE = 200

REFUSES = "It refuses, or apologises, instead of telling what happened."
UNSTRUCTURED = "It has no headings and no list."
NAMELESS = "It names too few of the files and identifiers that matter: {names}."
REQUESTLESS = "It does not tell what the user asked last: {request}"


def missing_from_summary(text: str, seen: Messages, policy: CompactPolicy) -> tuple[str, ...]:
    """Return what a summary lacks, a sentence each; empty where it may replace what it covers.

    ``seen`` ends with the marker that requested it. What stays word for word need not be repeated in it,
    nor the newest request where the engine repeats that after the summary.
    """
    covered, beside = split_at_tail(seen)
    asked = marker(seen[-1])
    request = next((words for one in reversed(covered) if (words := _words_of(one))), "")
    if asked is None or asked.auto or any(_words_of(message) for message in beside):
        again, request = request, ""
    else:
        again = ""
    kept = "\n".join((text, serialize(beside, policy.result_chars), again)).casefold()
    refuses = (REFUSES,) if REFUSAL.search(text) else ()
    if policy.prompt:
        # The user's own prompt defines what a summary must hold, so only refusals are looked for.
        return refuses
    structure = () if _structured(text) else (UNSTRUCTURED,)
    return (*refuses, *structure, *_nameless(covered, kept), *_requestless(request, kept))


def split_at_tail(seen: Messages) -> tuple[Messages, Messages]:
    """Return the messages that a marker (the last message) summarises, and those it keeps word for word."""
    tail = marker(seen[-1])
    ids = [one.id for one in seen]
    cut = ids.index(tail.tail_start_id) if tail and tail.tail_start_id in ids else len(seen) - 1
    return seen[:cut], seen[cut:]


def _structured(text: str) -> bool:
    return len(HEADING.findall(text)) >= LEAST_HEADINGS or len(ITEM.findall(text)) >= LEAST_ITEMS


def _nameless(covered: Messages, kept: str) -> Iterator[str]:
    names = list(dict.fromkeys(_names(covered)))[:MOST_NAMES]
    lost = [name for name in names if not _holds(kept, name)]
    if len(lost) >= LEAST_LOST and len(lost) * 2 > len(names):
        yield NAMELESS.format(names=", ".join(lost))


def _holds(kept: str, name: str) -> bool:
    """Return whether a name occurs in a text, a path with or without its folders."""
    return name.casefold() in kept or name.rstrip("/").rpartition("/")[2].casefold() in kept


def _names(covered: Messages) -> Iterator[str]:
    """Yield the names in the newest prompts, and the paths of changed files, newest first."""
    asked = 0
    for message in reversed(covered):
        if isinstance(message.info, AssistantMessage):
            yield from _changed(message)
        elif (words := _words_of(message)) and asked < PROMPTS:
            asked += 1
            for pattern in (OPAQUE, *(KINDS[kind] for kind in NAMES)):
                found = (match[0].rstrip(".,:;") for match in pattern.finditer(words))
                yield from (name for name in found if not ABBREVIATION.fullmatch(name))


def _changed(message: Message) -> Iterator[str]:
    for part in message.parts:
        if isinstance(part, ToolPart) and part.tool in CHANGES and part.state.status == "completed":
            path = part.state.input.get("path") or part.state.input.get("file_path")
            if isinstance(path, str) and path:
                yield path


def _requestless(request: str, kept: str) -> Iterator[str]:
    wanted = set(WORD.findall(request.casefold()))
    if len(wanted) >= LEAST_WORDS and sum(word in kept for word in wanted) < SHARED_WORDS:
        quoted = " ".join(request.split())
        yield REQUESTLESS.format(request=quoted[:LONGEST_QUOTE])


def _words_of(message: Message) -> str:
    """Return the text that the user wrote in a message; empty for answers, markers and synthetic text."""
    if not isinstance(message.info, UserMessage) or marker(message) is not None:
        return ""
    return "\n".join(_said(message))


def _said(message: Message) -> Iterable[str]:
    return (
        part.text.strip()
        for part in message.parts
        if isinstance(part, TextPart)
        and not part.synthetic
        and not part.ignored
        and part.text.strip()
    )

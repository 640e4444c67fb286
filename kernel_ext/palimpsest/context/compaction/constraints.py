"""What a person forbade or demanded, and whether a text still holds it: words are compared, not meanings.

Border: pure. A constraint is a sentence of a person's own words with a word such as ``never`` or ``must`` in it. A text
holds it where most of its other words stand in that text. ``demand_words.py`` has the lists of words.
"""

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

from palimpsest.context.compaction.demand_words import (
    ADVERBS,
    DEMANDS,
    DESCRIBES,
    MODALS,
    NOT_NEEDED,
    SUPPOSES,
)
from palimpsest.transcript.strings.lazy_patterns import lazy_pattern

CONSTRAINTS = "constraints"
"""Their kind, beside the kinds of names."""
LEAST_WORDS = 3
"""A shorter sentence forbids nothing in particular."""
LONGEST = 300
"""Characters; a longer sentence is cut there."""
MOST = 1_000
"""Sentences of one text that are looked at for constraints: the first and the last."""
KEPT_SHARE = 0.6
"""Of the words of a constraint; where so many stand in a text, it holds it."""
LEAST_WORD = 4
"""Letters of a word that says what a constraint is about."""

_MUSED = lazy_pattern(r"\?\s*$|\bi\s+(?:think|guess|believe|wonder)\b", re.IGNORECASE)
"""A question, or what somebody only supposes."""
_SENTENCE = lazy_pattern(r"(?<=[.!?;\u3002\uff01\uff1f])\s+|(?<=[\u3002\uff01\uff1f])|\n+")
_CLAUSE = lazy_pattern(r"[,;:]\s+|[\uff0c\uff1b]")
_FENCE = lazy_pattern(
    r"^[ \t]*(?P<fence>```|~~~).*?(?:^[ \t]*(?P=fence)|\Z)|```.*?(?:```|\Z)",
    re.DOTALL | re.MULTILINE,
)
_CODE_LINE = lazy_pattern(r"^(?: {4,}|\t+)[ \t]*(?:#|//|/?\*|--|;).*$", re.MULTILINE)
_TAG = lazy_pattern(r"<(/?)([A-Za-z][\w.:-]{0,60})(?:\s[^<>]{0,300})?>")
_CITED = lazy_pattern(
    r"\b(?:says?|said|states?|reads?|writes?|wrote|tells?|shows?|printed|message|documentation|docs?|error)\b[^\"“«„\n]{0,40}(?:\"[^\"\n]{12,2000}\"|“[^”\n]{12,2000}”|«[^»\n]{12,2000}»)",
    re.IGNORECASE,
)
"""What somebody else says, in the words of the one who cites it."""
_INLINE = lazy_pattern(r"`[^`\n]{1,200}`|<[\w-]{1,40}>")
_WORD = lazy_pattern(
    r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_\u3040-\u30ff\u3400-\u9fff]{2,}(?:[._/-][^\W_]+)*"
)
_PART = lazy_pattern(r"[._/-]")
_PROGRAM = lazy_pattern(
    r"[{}=<>|\\]|\bat \S+:\d+|^\s*(?:\d+[:→|]|[-+]{2,}|\$ |>>> |(?:\w+(?:Error|Exception|Warning)|error|fatal|usage)\s*:)",
    re.IGNORECASE,
)
_COMMON = frozenset(
    word
    for line in """
about after again also anyone anything because been before being both cannot does doing done dont each everything from have having here into just like make
made more most much need nothing only other over please really same should some something such sure than that their them then there these they
this those through under unless until very want well were what when where which while will with without would your yours always
never must mustn shall required require ensure avoid except instead allowed least most
aber alle alles auch bitte dann dass deine denn diese dieser dieses doch eine einen einer eines haben immer keine keinen mehr muss
nicht noch oder ohne sein sind soll sollst über wenn werden wird
avec dans elle mais nous pour quand sans seulement toujours vous
como cuando debe esta este nunca para pero porque siempre sobre solamente
""".splitlines()
    for word in line.split()
)


@lru_cache(maxsize=2_000)
def constraints_in(text: str) -> tuple[str, ...]:
    """Return the constraints in a person's words, each once, as they stand there; code and pasted output are passed over."""
    return tuple(dict.fromkeys(_constraints(text)))


def _constraints(text: str) -> Iterator[str]:
    pieces = _SENTENCE.split(_own_words(text))
    if len(pieces) > MOST:
        # A person asks in front of what they paste, or behind it.
        pieces = [*pieces[: MOST // 2], *pieces[-MOST // 2 :]]
    for piece in pieces:
        sentence = " ".join(piece[: 2 * LONGEST].split()).strip("-*•# ")[:LONGEST]
        if is_demand(sentence) and not _PROGRAM.search(_INLINE.sub(" ", sentence)):
            words = _WORD.findall(sentence)
            if len(words) >= LEAST_WORDS and subject_words(sentence):
                yield sentence


def is_demand(sentence: str) -> bool:
    """Return whether a sentence forbids or demands something, by its words."""
    if _MUSED.search(sentence):
        return False
    if NOT_NEEDED.search(sentence):
        clauses = _CLAUSE.split(sentence)
        sentence = ", ".join(one for one in clauses if not NOT_NEEDED.search(one))
    if DEMANDS.search(sentence):
        return True
    if SUPPOSES.search(sentence):
        return False
    return bool(
        MODALS.search(sentence) or (ADVERBS.search(sentence) and not DESCRIBES.search(sentence))
    )


def _own_words(text: str) -> str:
    """Return a text without code, what stands between tags, and what it cites."""
    text = _CODE_LINE.sub("", _FENCE.sub("\n", text))
    return _CITED.sub(" ", _outside_of_tags(text))


def _outside_of_tags(text: str) -> str:
    """Return a text without its elements, each from the first tag of its name to the last before it is closed."""
    kept: list[str] = []
    begun: dict[str, int] = {}
    depth: list[str] = []
    done = 0
    tags = [*_TAG.finditer(text)]
    closed = Counter(tag[2] for tag in tags if tag[1])
    for tag in tags:
        name = tag[2]
        if tag[1]:
            closed[name] -= 1
            if begun.get(name):
                while depth:
                    last = depth.pop()
                    begun[last] -= 1
                    if last == name:
                        break
                if not depth:
                    done = tag.end()
        elif begun.get(name, 0) < closed[name]:
            # A tag that is never closed is a placeholder such as <name>.
            if not depth:
                kept.append(text[done : tag.start()])
                done = tag.end()
            depth.append(name)
            begun[name] = begun.get(name, 0) + 1
    if not depth:
        kept.append(text[done:])
    return "\n".join(kept)


@lru_cache(maxsize=20_000)
def subject_words(sentence: str) -> frozenset[str]:
    """Return the words that say what a sentence is about, in small letters."""
    found = (one.casefold() for one in _WORD.findall(sentence))
    return frozenset(
        one for one in found if (len(one) >= LEAST_WORD or not one.isascii()) and one not in _COMMON
    )


def words_of(text: str) -> frozenset[str]:
    """Return all words of a text in small letters, and the parts of those that hold signs."""
    found = frozenset(one.casefold() for one in _WORD.findall(text))
    return found.union(*(_PART.split(one) for one in found))


def holds_constraint(words: frozenset[str], sentence: str) -> bool:
    """Return whether a text of these words holds most of what a constraint says."""
    subject = subject_words(sentence)
    return len(subject & words) >= KEPT_SHARE * len(subject)

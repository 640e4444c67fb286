"""Find the user's prohibitions and demands, and check whether a text still contains them; by words, not by meaning.

Border: pure. A constraint is a sentence in the user's own words with a word such as ``never`` or ``must``. A text
contains it where most of its other words occur in that text. ``demand_words.py`` has the lists of words.
"""

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

from palimpsest.context.compaction.demand_words import (
    ADVERBS,
    DEMANDS,
    DESCRIPTIONS,
    MODALS,
    NOT_NEEDED,
    SUPPOSITIONS,
)
from palimpsest.lazy_patterns import lazy_pattern

CONSTRAINTS = "constraints"
"""The kind of constraints, beside the kinds of names."""
MIN_CONSTRAINT_WORDS = 3
"""A shorter sentence forbids nothing in particular."""
MAX_SENTENCE_CHARS = 300
"""A longer sentence is cut there."""
MAX_SENTENCES = 1_000
"""Sentences of one text that are searched for constraints: the first and the last."""
MIN_HELD_SHARE = 0.6
"""Minimum share of a constraint's words that a text must have to contain the constraint."""
MIN_WORD_CHARS = 4
"""Minimum letters of a word that names the subject of a constraint."""

_QUESTION = lazy_pattern(r"\?\s*$|\bi\s+(?:think|guess|believe|wonder)\b", re.IGNORECASE)
"""A question or a supposition, which demands nothing."""
_SENTENCE = lazy_pattern(r"(?<=[.!?;\u3002\uff01\uff1f])\s+|(?<=[\u3002\uff01\uff1f])|\n+")
_CLAUSE = lazy_pattern(r"[,;:]\s+|[\uff0c\uff1b]")
_FENCE = lazy_pattern(
    r"^[ \t]*(?P<fence>```|~~~).*?(?:^[ \t]*(?P=fence)|\Z)|```.*?(?:```|\Z)",
    re.DOTALL | re.MULTILINE,
)
_CODE_LINE = lazy_pattern(r"^(?: {4,}|\t+)[ \t]*(?:#|//|/?\*|--|;).*$", re.MULTILINE)
_TAG = lazy_pattern(r"<(/?)([A-Za-z][\w.:-]{0,60})(?:\s[^<>]{0,300})?>")
_INTRODUCED_QUOTATION = lazy_pattern(
    r"\b(?:says?|said|states?|reads?|writes?|wrote|tells?|shows?|printed|message|documentation|docs?|error)\b[^\"“«„\n]{0,40}(?:\"[^\"\n]{12,2000}\"|“[^”\n]{12,2000}”|«[^»\n]{12,2000}»)",
    re.IGNORECASE,
)
"""A quotation with the verb that introduces it."""
_INLINE_CODE = lazy_pattern(r"`[^`\n]{1,200}`|<[\w-]{1,40}>")
_WORD = lazy_pattern(
    r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_\u3040-\u30ff\u3400-\u9fff]{2,}(?:[._/-][^\W_]+)*"
)
_WORD_SEPARATOR = lazy_pattern(r"[._/-]")
_PROGRAM_TEXT = lazy_pattern(
    r"[{}=<>|\\]|\bat \S+:\d+|^\s*(?:\d+[:→|]|[-+]{2,}|\$ |>>> |(?:\w+(?:Error|Exception|Warning)|error|fatal|usage)\s*:)",
    re.IGNORECASE,
)
_COMMON_WORDS = frozenset(
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
    """Return the constraints in a prompt, each once and word for word; code and pasted output are skipped."""
    return tuple(dict.fromkeys(_constraints(text)))


def _constraints(text: str) -> Iterator[str]:
    sentences = _SENTENCE.split(_unquoted_prose(text))
    if len(sentences) > MAX_SENTENCES:
        # A request is written before or after the text that is pasted with it.
        sentences = [*sentences[: MAX_SENTENCES // 2], *sentences[-MAX_SENTENCES // 2 :]]
    for piece in sentences:
        sentence = " ".join(piece[: 2 * MAX_SENTENCE_CHARS].split())
        sentence = sentence.strip("-*•# ")[:MAX_SENTENCE_CHARS]
        if is_demand(sentence) and not _PROGRAM_TEXT.search(_INLINE_CODE.sub(" ", sentence)):
            words = _WORD.findall(sentence)
            if len(words) >= MIN_CONSTRAINT_WORDS and subject_words(sentence):
                yield sentence


def is_demand(sentence: str) -> bool:
    """Return whether a sentence forbids or demands something, by its words."""
    if _QUESTION.search(sentence):
        return False
    if NOT_NEEDED.search(sentence):
        clauses = _CLAUSE.split(sentence)
        sentence = ", ".join(clause for clause in clauses if not NOT_NEEDED.search(clause))
    if DEMANDS.search(sentence):
        return True
    if SUPPOSITIONS.search(sentence):
        return False
    return bool(
        MODALS.search(sentence) or (ADVERBS.search(sentence) and not DESCRIPTIONS.search(sentence))
    )


def _unquoted_prose(text: str) -> str:
    """Return a text without code, the content of tags, and quotations."""
    text = _CODE_LINE.sub("", _FENCE.sub("\n", text))
    return _INTRODUCED_QUOTATION.sub(" ", _outside_of_tags(text))


def _outside_of_tags(text: str) -> str:
    """Return a text without its elements, from an opening tag to the closing tag of the same name."""
    outer_texts: list[str] = []
    open_by_name: dict[str, int] = {}
    open_tags: list[str] = []
    copied_to = 0
    tags = [*_TAG.finditer(text)]
    end_tag_counts = Counter(tag[2] for tag in tags if tag[1])
    for tag in tags:
        name = tag[2]
        if tag[1]:
            end_tag_counts[name] -= 1
            if open_by_name.get(name):
                while open_tags:
                    innermost_name = open_tags.pop()
                    open_by_name[innermost_name] -= 1
                    if innermost_name == name:
                        break
                if not open_tags:
                    copied_to = tag.end()
        elif open_by_name.get(name, 0) < end_tag_counts[name]:
            # A tag that is never closed is a placeholder such as <name>.
            if not open_tags:
                outer_texts.append(text[copied_to : tag.start()])
                copied_to = tag.end()
            open_tags.append(name)
            open_by_name[name] = open_by_name.get(name, 0) + 1
    if not open_tags:
        outer_texts.append(text[copied_to:])
    return "\n".join(outer_texts)


@lru_cache(maxsize=20_000)
def subject_words(sentence: str) -> frozenset[str]:
    """Return the words for the subject of a sentence, in lower case."""
    words = (word.casefold() for word in _WORD.findall(sentence))
    return frozenset(
        word
        for word in words
        if (len(word) >= MIN_WORD_CHARS or not word.isascii()) and word not in _COMMON_WORDS
    )


def words_of(text: str) -> frozenset[str]:
    """Return all words of a text in lower case, and the parts of words with dots, slashes, underscores or dashes."""
    words = frozenset(word.casefold() for word in _WORD.findall(text))
    return words.union(*(_WORD_SEPARATOR.split(word) for word in words))


def holds_constraint(text_words: frozenset[str], sentence: str) -> bool:
    """Return whether a text with these words has most words of a constraint."""
    subject = subject_words(sentence)
    return len(subject & text_words) >= MIN_HELD_SHARE * len(subject)

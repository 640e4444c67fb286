"""What a person forbade or demanded, and whether a text still holds it: words are compared, not meanings.

Border: pure. A constraint is a sentence of a person's own words with a word such as ``never`` or ``must`` in it. A text
holds it where most of its other words stand in that text. The lists of words are of English, German, French, Spanish,
Italian, Portuguese, Dutch, Russian, Chinese and Japanese; what a person says otherwise is not found.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

CONSTRAINTS = "constraints"
"""Their kind, beside the kinds of names."""
LEAST_WORDS = 3
"""A shorter sentence forbids nothing in particular."""
LONGEST = 300
"""Characters; a longer sentence is cut there."""
MOST = 500
"""Sentences of one text that are looked at for constraints."""
KEPT_SHARE = 0.6
"""Of the words of a constraint; where so many stand in a text, it holds it."""
LEAST_WORD = 4
"""Letters of a word that says what a constraint is about."""

_WORDS = re.compile(
    r"""\b(?:never|must(?:n'?t)?|shall|(?<!\bwe\s)should(?:n'?t)?|always|avoid|forbidden|not\s+allowed|make\s+sure|ensure|no\s+more\s+than|
      at\s+(?:most|least)|under\s+no\s+circumstances|
      nie(?:mals)?|darfst?|d(?:ü|ue)rfen|muss(?:t)?|m(?:ü|ue)ssen|soll(?:st|en|te)?|immer|nur|stets|verboten|vermeide\w*|
      jamais|toujours|doi(?:t|s|vent)|devez|seulement|uniquement|interdit\w*|
      nunca|jam[aá]s|siempre|debe[ns]?|s[oó]lo|solamente|prohibid\w*|sempre|dev[ei]\w{0,3}|soltanto|vietat\w*|
      somente|apenas|proibid\w*|nooit|altijd|moet(?:en)?|alleen)\b
    | (?:^|[,;:(]\s*|\b(?:please|but|and|so|then|also|ok)\s+)(?:do\s+not|don'?t|no(?=\s+\w+(?:\s+\w+){0,4}\s*!?$))\b
      (?!\s+(?:need|know|think|understand|mind|care|worry|longer|one|idea|problem|that|it|i|we)\b)
    | (?:^|[,;:(]\s*|\b(?:please|may|can)\s+)only\b(?!\s+(?:one|some|a|the)\b)
    | \bonly\s+(?:use|change|edit|touch|modify|read|write|run|look|work)\b
    | \b(?:никогда|нельзя|всегда|должн\w*|только|запрещ\w*)\b
    | 不要|不能|不得|不许|不可|必须|必須|务必|禁止|只能|只用|总是|一定要|切勿|しないで|してはいけ|必ず|常に|だけ|のみ|決して""",
    re.IGNORECASE | re.VERBOSE,
)
_MUSED = re.compile(r"\?\s*$|\bi\s+(?:think|guess|believe|wonder)\b", re.IGNORECASE)
"""A question, or what somebody only supposes."""
_SENTENCE = re.compile(r"(?<=[.!?;\u3002\uff01\uff1f])\s+|(?<=[\u3002\uff01\uff1f])|\n+")
_FENCE = re.compile(r"```.*?(?:```|\Z)|<[a-z-]{1,40}>.{0,20000}?</[a-z-]{1,40}>", re.DOTALL)
_WORD = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_\u3040-\u30ff\u3400-\u9fff]{2,}(?:[._/-][^\W_]+)*"
)
_PART = re.compile(r"[._/-]")
_PROGRAM = re.compile(r"[{}=<>|\\]|\bat \S+:\d+|^\s*(?:\d+[:→|]|[-+]{2,}|\$ |>>> )")
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
    for piece in _SENTENCE.split(_FENCE.sub("\n", text), MOST):
        sentence = " ".join(piece.split()).strip("-*•# ")[:LONGEST]
        is_demand = _WORDS.search(sentence) and not _MUSED.search(sentence)
        if is_demand and not _PROGRAM.search(sentence):
            words = _WORD.findall(sentence)
            if len(words) >= LEAST_WORDS and subject_words(sentence):
                yield sentence


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

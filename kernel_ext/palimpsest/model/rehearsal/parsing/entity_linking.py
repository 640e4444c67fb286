"""Find which columns, values and variables a prompt mentions.

Names need not be written as they are stored: ``bill length``, ``length of the bill``,
``BillLength`` and ``bill lenght`` all mean ``bill_length_mm``.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from palimpsest.model.rehearsal.parsing.tables import Column, Variable
from palimpsest.model.rehearsal.parsing.vocabulary import (
    BOUNDARIES,
    CHARTS,
    DATA,
    GLUE,
    KNOWN,
    PLOT,
    word_set,
)
from palimpsest.model.rehearsal.parsing.word_matching import Word, joined, near, words_of

SLIGHT = word_set(
    """
    mm cm m km g kg mg id no num nr usd eur gbp pct percent c f k s ms sec min hr avg in of the per
    is has and l ml deg lb ft sqft n col val raw code name df data table
    """
)
SLIGHT_WEIGHT = 0.25
NAME_LEADS = word_set("of in is show describe print plot inspect variable s by display")
NAME_TRAILS = PLOT | CHARTS.keys() | {"please", "now", "for", "me", "as", "a"}
ENOUGH = 0.3
"""The share of a column's name that the prompt must contain, fillers weighing less."""


@dataclass(frozen=True)
class ColumnMention:
    """A column that the prompt names, and where."""

    column: Column
    start: int
    end: int
    score: float
    rivals: tuple[Column, ...] = ()
    """Other columns that the same words fit as well."""


@dataclass(frozen=True)
class ValueMention:
    """A value of a column that the prompt names."""

    column: Column
    value: Any
    start: int
    end: int


def link_columns(words: Sequence[Word], columns: Iterable[Column]) -> tuple[ColumnMention, ...]:
    """Return the columns that the words name, in the order of the words."""
    windows = list(_windows(words))
    offers = [
        ColumnMention(column, window[0], window[-1] + 1, score)
        for column in columns
        for window in windows
        if (score := _fit([words[at] for at in window], column)) >= ENOUGH
    ]
    offers.sort(key=lambda offer: (-round(offer.score, 3), offer.start))
    chosen: list[ColumnMention] = []
    for offer in offers:
        if any(offer.start < other.end and other.start < offer.end for other in chosen):
            continue
        rivals = tuple(
            other.column
            for other in offers
            if (other.start, other.end) == (offer.start, offer.end)
            and other.column != offer.column
            and abs(other.score - offer.score) < 0.1
        )
        chosen.append(ColumnMention(offer.column, offer.start, offer.end, offer.score, rivals))
    return tuple(sorted(chosen, key=lambda mention: mention.start))


def _windows(words: Sequence[Word]) -> Iterable[list[int]]:
    """Yield runs of one to five words, with and without the filler words between them."""
    for start in range(len(words)):
        full: list[int] = []
        bare: list[int] = []
        for at in range(start, min(start + 8, len(words))):
            if words[at].text in {",", ";"}:
                break
            full.append(at)
            bare += [] if words[at].text in {"of", "the", "a", "an", "its", "their", "in"} else [at]
            if len(full) <= 6:
                yield list(full)
            # Skipping filler words allows another word order, but must not reach into another phrase.
            if at > start and words[at].text in BOUNDARIES:
                break
            if bare != full and bare and bare[0] == start and bare[-1] == at and len(bare) <= 5:
                yield list(bare)


def _fit(said: list[Word], column: Column) -> float:
    """Return how well words fit a column's name: over 1 for all of it, 0 for not at all."""
    tokens = column.tokens
    if not tokens or len(said) > len(tokens) + 2:
        return 0.0
    whole_said, whole = joined(tuple(said)), joined(tokens)
    if whole_said == whole:
        return 2.0 + 0.1 * len(tokens)
    if len(said) == len(tokens) and all(
        a.stem == b.stem for a, b in zip(said, tokens, strict=True)
    ):
        return 1.8 + 0.1 * len(tokens)
    if len(whole) > 4 and near(whole_said, whole) and not all(map(_is_known, said)):
        return 1.5 + 0.1 * len(tokens)
    if len(said) > len(tokens) or all(map(_is_known, said)):
        return 0.0
    return _partial(said, tokens)


def _is_known(word: Word) -> bool:
    return word.text in KNOWN or word.stem in KNOWN


def _partial(said: list[Word], tokens: tuple[Word, ...]) -> float:
    left = list(tokens)
    matched = 0.0
    for word in said:
        best = max(left, key=lambda token: _alike(word, token), default=None)
        alike = _alike(word, best) if best else 0.0
        if best is None or alike == 0.0:
            return 0.0
        left.remove(best)
        matched += alike * _weight(best)
    return matched / sum(_weight(token) for token in tokens) + 0.02 * len(said)


def _weight(token: Word) -> float:
    return SLIGHT_WEIGHT if token.text in SLIGHT or len(token.text) == 1 else 1.0


def _alike(word: Word, token: Word) -> float:
    if word.text == token.text or word.stem == token.stem:
        return 1.0
    if _is_known(word):
        return 0.0
    if near(word.stem, token.stem) or near(word.text, token.text):
        return 0.85
    shorter, longer = sorted((word.stem, token.stem), key=len)
    return 0.6 if len(shorter) >= 3 and longer.startswith(shorter) else 0.0


def link_values(
    words: Sequence[Word],
    free: set[int],
    values: dict[Any, tuple[Any, ...]],
    columns: Iterable[Column],
) -> tuple[ValueMention, ...]:
    """Return the values that words at the free positions name; longer values first."""
    by_key = {column.key: column for column in columns}
    offers: list[tuple[int, ValueMention]] = []
    for key, choices in values.items():
        for value in choices:
            tokens = words_of(str(value))
            for start in range(len(words) - len(tokens) + 1) if tokens and key in by_key else ():
                end = start + len(tokens)
                rank = _same(words[start:end], tokens) if {*range(start, end)} <= free else 0
                if rank:
                    mention = ValueMention(by_key[key], value, start, end)
                    offers.append((rank + 10 * len(tokens), mention))
    chosen: list[ValueMention] = []
    for _, offer in sorted(offers, key=lambda pair: -pair[0]):
        if not any(offer.start < other.end and other.start < offer.end for other in chosen):
            chosen.append(offer)
    return tuple(sorted(chosen, key=lambda mention: mention.start))


def _same(said: Sequence[Word], tokens: Sequence[Word]) -> int:
    """Rank how alike words and a value are: 3 the same, 2 but for the plural, 1 but for a letter."""
    pairs = list(zip(said, tokens, strict=True))
    if all(word.text == token.text for word, token in pairs):
        return 3
    if all(word.stem == token.stem for word, token in pairs):
        return 2
    return int(all(near(w.stem, t.stem) and w.text not in GLUE for w, t in pairs))


def link_variables(words: Sequence[Word], variables: Iterable[Variable]) -> dict[str, float]:
    """Return how well each variable's name is named by the words; unnamed ones are absent."""
    found: dict[str, float] = {}
    windows = list(_windows(words))
    for variable in variables:
        column = Column(variable.name)
        # Of a name that is also an everyday word only the place can mean it.
        common = (variable.name in KNOWN or len(variable.name) == 1) and variable.name not in DATA
        scores = [
            _fit([words[at] for at in window], column)
            for window in windows
            if not common or _stands_out(words, window)
        ]
        best = max(scores, default=0.0)
        if best >= ENOUGH:
            found[variable.name] = best
    return found


def _stands_out(words: Sequence[Word], window: list[int]) -> bool:
    """Tell whether words stand where only a name can: after *of* or a verb, at the end."""
    before = words[window[0] - 1].text if window[0] else ""
    rest = {word.text for word in words[window[-1] + 1 :]}
    return before in NAME_LEADS and rest <= NAME_TRAILS


def unlinked(words: Sequence[Word], taken: Iterable[tuple[int, int]]) -> set[int]:
    """Return the positions of words that carry meaning and are not linked to anything yet."""
    used = {at for start, end in taken for at in range(start, end)}
    return {
        at
        for at, word in enumerate(words)
        if at not in used and not _is_known(word) and len(word.text) > 1
    }

"""Find which columns, values and variables a prompt mentions.

Names match in other spellings, too: ``bill length`` and ``BillLength`` both mean ``bill_length_mm``.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from palimpsest.rehearsal.parsing.tables import Column, Variable
from palimpsest.rehearsal.parsing.vocabulary import (
    BOUNDARIES,
    CHARTS,
    DATA,
    KNOWN_WORDS,
    PLOT,
    word_set,
)
from palimpsest.rehearsal.parsing.word_matching import Word, words_of

FILLER_TOKENS = word_set(
    """
    mm cm m km g kg mg id no num nr usd eur gbp pct percent c f k s ms sec min hr avg in of the per
    is has and l ml deg lb ft sqft n col val raw code name df data table
    """
)
FILLER_WEIGHT = 0.25
NAME_LEADS = word_set("of in is show describe print plot inspect variable s by display")
NAME_TRAILS = PLOT | CHARTS.keys() | {"please", "now", "for", "me", "as", "a"}
MIN_SCORE = 0.3
"""Minimum share of a column's name that the words must contain; fillers weigh less."""


@dataclass(frozen=True)
class ColumnMention:
    """A column that the prompt names, with the position of its words."""

    column: Column
    start: int
    end: int
    score: float
    rivals: tuple[Column, ...] = ()
    """Other columns that the same words match as well."""


@dataclass(frozen=True)
class ValueMention:
    """A column's value that the prompt names."""

    column: Column
    value: Any
    start: int
    end: int


def link_columns(words: Sequence[Word], columns: Iterable[Column]) -> tuple[ColumnMention, ...]:
    """Return the columns that the words name, in the order of the words."""
    windows = list(_windows(words))
    candidates = [
        ColumnMention(column, window[0], window[-1] + 1, score)
        for column in columns
        for window in windows
        if (score := _match_score([words[index] for index in window], column)) >= MIN_SCORE
    ]
    candidates.sort(key=lambda candidate: (-round(candidate.score, 3), candidate.start))
    mentions: list[ColumnMention] = []
    for candidate in candidates:
        if any(candidate.start < other.end and other.start < candidate.end for other in mentions):
            continue
        rivals = tuple(
            other.column
            for other in candidates
            if (other.start, other.end) == (candidate.start, candidate.end)
            and other.column != candidate.column
            and abs(other.score - candidate.score) < 0.1
        )
        mentions.append(replace(candidate, rivals=rivals))
    return tuple(sorted(mentions, key=lambda mention: mention.start))


def _windows(words: Sequence[Word]) -> Iterable[list[int]]:
    """Yield the positions of runs of one to five words without a comma or a word such as *by*."""
    for start in range(len(words)):
        for end in range(start + 1, min(start + 5, len(words)) + 1):
            run = words[start:end]
            if run[-1].text in {",", ";"} or (len(run) > 1 and run[-1].text in BOUNDARIES):
                break
            yield list(range(start, end))


def _match_score(prompt_words: list[Word], column: Column) -> float:
    """Return a score of how well words match a column's name: over 1 for a full match, 0 for none."""
    tokens = column.tokens
    if not tokens or len(prompt_words) > len(tokens) + 2:
        return 0.0
    if "".join(word.text for word in prompt_words) == "".join(token.text for token in tokens):
        return 2.0 + 0.1 * len(tokens)
    if [word.stem for word in prompt_words] == [token.stem for token in tokens]:
        return 1.8 + 0.1 * len(tokens)
    if len(prompt_words) > len(tokens) or all(map(_is_known, prompt_words)):
        return 0.0
    return _partial_score(prompt_words, tokens)


def _is_known(word: Word) -> bool:
    return word.text in KNOWN_WORDS or word.stem in KNOWN_WORDS


def _partial_score(prompt_words: list[Word], tokens: tuple[Word, ...]) -> float:
    unmatched_tokens = list(tokens)
    matched_weight = 0.0
    for word in prompt_words:
        best = max(unmatched_tokens, key=lambda token: _similarity(word, token), default=None)
        similarity = _similarity(word, best) if best else 0.0
        if best is None or similarity == 0.0:
            return 0.0
        unmatched_tokens.remove(best)
        matched_weight += similarity * _weight(best)
    return matched_weight / sum(_weight(token) for token in tokens) + 0.02 * len(prompt_words)


def _weight(token: Word) -> float:
    return FILLER_WEIGHT if token.text in FILLER_TOKENS or len(token.text) == 1 else 1.0


def _similarity(word: Word, token: Word) -> float:
    if word.text == token.text or word.stem == token.stem:
        return 1.0
    if _is_known(word):
        return 0.0
    shorter, longer = sorted((word.stem, token.stem), key=len)
    return 0.6 if len(shorter) >= 3 and longer.startswith(shorter) else 0.0


def link_values(
    words: Sequence[Word],
    free_positions: set[int],
    values: dict[Any, tuple[Any, ...]],
    columns: Iterable[Column],
) -> tuple[ValueMention, ...]:
    """Return the values that words at the free positions name; longer values first."""
    by_key = {column.key: column for column in columns}
    candidates: list[tuple[int, ValueMention]] = []
    for key, choices in values.items():
        for value in choices:
            tokens = words_of(str(value))
            for start in range(len(words) - len(tokens) + 1) if tokens and key in by_key else ():
                end = start + len(tokens)
                is_free = {*range(start, end)} <= free_positions
                if is_free and (rank := _match_rank(words[start:end], tokens)):
                    mention = ValueMention(by_key[key], value, start, end)
                    candidates.append((rank + 10 * len(tokens), mention))
    mentions: list[ValueMention] = []
    for _, candidate in sorted(candidates, key=lambda pair: -pair[0]):
        if not any(
            candidate.start < other.end and other.start < candidate.end for other in mentions
        ):
            mentions.append(candidate)
    return tuple(sorted(mentions, key=lambda mention: mention.start))


def _match_rank(prompt_words: Sequence[Word], tokens: Sequence[Word]) -> int:
    """Return the rank of a match of words and a value: 2 equal, 1 except for the plural, 0 none."""
    if [word.text for word in prompt_words] == [token.text for token in tokens]:
        return 2
    return int([word.stem for word in prompt_words] == [token.stem for token in tokens])


def link_variables(words: Sequence[Word], variables: Iterable[Variable]) -> dict[str, float]:
    """Return a score for each variable that the words name."""
    scores_by_name: dict[str, float] = {}
    windows = list(_windows(words))
    for variable in variables:
        column = Column(variable.name)
        # A name that is also an everyday word counts only in certain positions.
        name = variable.name
        is_common = (name in KNOWN_WORDS or len(name) == 1) and name not in DATA
        scores = [
            _match_score([words[index] for index in window], column)
            for window in windows
            if not is_common or _is_in_name_position(words, window)
        ]
        best = max(scores, default=0.0)
        if best >= MIN_SCORE:
            scores_by_name[name] = best
    return scores_by_name


def _is_in_name_position(words: Sequence[Word], window: list[int]) -> bool:
    """Return whether words are in the position of a name: after *of* or a verb, at the end."""
    before = words[window[0] - 1].text if window[0] else ""
    rest = {word.text for word in words[window[-1] + 1 :]}
    return before in NAME_LEADS and rest <= NAME_TRAILS


def unlinked_words(words: Sequence[Word], linked_spans: Iterable[tuple[int, int]]) -> set[int]:
    """Return the positions of meaningful words that are not linked yet."""
    linked_positions = {index for start, end in linked_spans for index in range(start, end)}
    return {
        index
        for index, word in enumerate(words)
        if index not in linked_positions and not _is_known(word) and len(word.text) > 1
    }

"""Find which columns, values and variables a prompt mentions.

Names match in other spellings, too: ``bill length`` and ``BillLength`` both mean ``bill_length_mm``.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from palimpsest.rehearsal.parsing.tables import Column, Variable
from palimpsest.rehearsal.parsing.vocabulary import (
    CHART_BY_WORD,
    DATA_WORDS,
    KNOWN_WORDS,
    NAME_ENDING_WORDS,
    PLOT_WORDS,
    word_set,
)
from palimpsest.rehearsal.parsing.word_matching import Word, words_of

FILLER_TOKENS = word_set(
    """
    mm cm m km g kg mg id no num nr usd eur gbp pct percent c f k s ms sec min hr avg in of the per
    is has and l ml deg lb ft sqft n col val raw code name df data table
    """
)
"""Words of column names that say little, such as units."""
FILLER_WEIGHT = 0.25
WORDS_BEFORE_NAME = word_set("of in is show describe print plot inspect variable s by display")
WORDS_AFTER_NAME = PLOT_WORDS | CHART_BY_WORD.keys() | {"please", "now", "for", "me", "as", "a"}
FULL_MATCH_SCORE, STEM_MATCH_SCORE = 2.0, 1.8
"""Scores of words that are a column's whole name, letter by letter or but for the plural."""
TOKEN_SCORE, WORD_SCORE = 0.1, 0.02
"""Added to the score for each word of a whole name, and of a part of a name, so that longer matches win."""
BEGINNING_SIMILARITY = 0.6
"""Similarity of two words of which one begins with the other."""
MIN_BEGINNING_CHARS = 3
MAX_RIVAL_DIFFERENCE = 0.1
"""Difference in score below which another column is a rival."""
MAX_RUN_WORDS = 5
"""Maximum words of the prompt that may name one column."""
RANK_OF_WORD = 10
"""Added to a value's rank for each of its words, so that longer values win."""
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
    runs = list(_word_runs(words))
    candidates = [
        ColumnMention(column, run[0], run[-1] + 1, score)
        for column in columns
        for run in runs
        if (score := _match_score([words[index] for index in run], column)) >= MIN_SCORE
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
            and abs(other.score - candidate.score) < MAX_RIVAL_DIFFERENCE
        )
        mentions.append(replace(candidate, rivals=rivals))
    return tuple(sorted(mentions, key=lambda mention: mention.start))


def _word_runs(words: Sequence[Word]) -> Iterable[list[int]]:
    """Yield the positions of each run of at most ``MAX_RUN_WORDS`` words without a comma or a word such as *by*."""
    for start in range(len(words)):
        for end in range(start + 1, min(start + MAX_RUN_WORDS, len(words)) + 1):
            run_words = words[start:end]
            if run_words[-1].text in {",", ";"} or (
                len(run_words) > 1 and run_words[-1].text in NAME_ENDING_WORDS
            ):
                break
            yield list(range(start, end))


def _match_score(prompt_words: list[Word], column: Column) -> float:
    """Return a score of how well words match a column's name: over 1 for a full match, 0 for none."""
    tokens = column.tokens
    if not tokens or len(prompt_words) > len(tokens) + 2:
        return 0.0
    if "".join(word.text for word in prompt_words) == "".join(token.text for token in tokens):
        return FULL_MATCH_SCORE + TOKEN_SCORE * len(tokens)
    if [word.stem for word in prompt_words] == [token.stem for token in tokens]:
        return STEM_MATCH_SCORE + TOKEN_SCORE * len(tokens)
    if len(prompt_words) > len(tokens) or all(map(_is_known_word, prompt_words)):
        return 0.0
    return _partial_score(prompt_words, tokens)


def _is_known_word(word: Word) -> bool:
    return word.text in KNOWN_WORDS or word.stem in KNOWN_WORDS


def _partial_score(prompt_words: list[Word], tokens: tuple[Word, ...]) -> float:
    unmatched_tokens = list(tokens)
    matched_weight = 0.0
    for word in prompt_words:
        best_token = max(
            unmatched_tokens, key=lambda token: _word_similarity(word, token), default=None
        )
        similarity = _word_similarity(word, best_token) if best_token else 0.0
        if best_token is None or similarity == 0.0:
            return 0.0
        unmatched_tokens.remove(best_token)
        matched_weight += similarity * _token_weight(best_token)
    return matched_weight / sum(_token_weight(token) for token in tokens) + WORD_SCORE * len(
        prompt_words
    )


def _token_weight(token: Word) -> float:
    return FILLER_WEIGHT if token.text in FILLER_TOKENS or len(token.text) == 1 else 1.0


def _word_similarity(word: Word, token: Word) -> float:
    if word.text == token.text or word.stem == token.stem:
        return 1.0
    if _is_known_word(word):
        return 0.0
    shorter, longer = sorted((word.stem, token.stem), key=len)
    return (
        BEGINNING_SIMILARITY
        if len(shorter) >= MIN_BEGINNING_CHARS and longer.startswith(shorter)
        else 0.0
    )


def link_values(
    words: Sequence[Word],
    free_positions: set[int],
    values_by_key: dict[Any, tuple[Any, ...]],
    columns: Iterable[Column],
) -> tuple[ValueMention, ...]:
    """Return the values that words at the free positions name; longer values first."""
    column_by_key = {column.key: column for column in columns}
    candidates: list[tuple[int, ValueMention]] = []
    for key, column_values in values_by_key.items():
        for value in column_values:
            tokens = words_of(str(value))
            for start in (
                range(len(words) - len(tokens) + 1) if tokens and key in column_by_key else ()
            ):
                end = start + len(tokens)
                is_free = {*range(start, end)} <= free_positions
                if is_free and (rank := _match_rank(words[start:end], tokens)):
                    mention = ValueMention(column_by_key[key], value, start, end)
                    candidates.append((rank + RANK_OF_WORD * len(tokens), mention))
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
    score_by_name: dict[str, float] = {}
    runs = list(_word_runs(words))
    for variable in variables:
        column = Column(variable.name)
        # A name that is also an everyday word counts only in certain positions.
        name = variable.name
        is_common = (name in KNOWN_WORDS or len(name) == 1) and name not in DATA_WORDS
        scores = [
            _match_score([words[index] for index in run], column)
            for run in runs
            if not is_common or _is_in_name_position(words, run)
        ]
        best_score = max(scores, default=0.0)
        if best_score >= MIN_SCORE:
            score_by_name[name] = best_score
    return score_by_name


def _is_in_name_position(words: Sequence[Word], run: list[int]) -> bool:
    """Return whether words are in the position of a name: after *of* or a verb, at the end."""
    word_before = words[run[0] - 1].text if run[0] else ""
    words_after = {word.text for word in words[run[-1] + 1 :]}
    return word_before in WORDS_BEFORE_NAME and words_after <= WORDS_AFTER_NAME


def unlinked_words(words: Sequence[Word], linked_spans: Iterable[tuple[int, int]]) -> set[int]:
    """Return the positions of meaningful words that are not linked yet."""
    linked_positions = {index for start, end in linked_spans for index in range(start, end)}
    return {
        index
        for index, word in enumerate(words)
        if index not in linked_positions and not _is_known_word(word) and len(word.text) > 1
    }

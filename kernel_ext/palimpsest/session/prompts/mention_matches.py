"""Rank what a person may mean by the letters typed behind an at sign.

Border: pure. The page ranks what it has with the same rule (``labextension/src/views/composer/mentions.ts``), and one
table of cases is read by the tests of both.
"""

from collections.abc import Sequence


def ranked_matches(words: Sequence[str], typed: str) -> list[str]:
    """Return the words that hold the typed letters in their order, each kind in the order given.

    First the very word, then those that begin with what was typed, then the others, whatever their case.
    """
    ranked: tuple[list[str], ...] = ([], [], [])
    lower = typed.lower()
    for word in words:
        if word == typed:
            ranked[0].append(word)
        elif word.startswith(typed):
            ranked[1].append(word)
        elif _holds(word.lower(), lower):
            ranked[2].append(word)
    return [word for one in ranked for word in one]


def _holds(word: str, letters: str) -> bool:
    """Tell whether a word has these letters in this order, perhaps with others between them."""
    rest = iter(word)
    return all(letter in rest for letter in letters)

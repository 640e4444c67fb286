"""Rank the names that the user may mean by the letters typed behind an at sign.

Border: pure. The page ranks its names by the same rule (``labextension/src/views/composer/mentions.ts``), and the
tests of both read one table of cases.
"""

from collections.abc import Sequence


def ranked_matches(names: Sequence[str], typed_letters: str) -> list[str]:
    """Return the names that contain the typed letters in this order, best matches first.

    First an equal name, then names that begin with the typed letters, then the others, which match in any case.
    """
    lower_letters = typed_letters.lower()
    matches = [
        name
        for name in names
        if name.startswith(typed_letters) or _contains_in_order(name.lower(), lower_letters)
    ]
    matches.sort(key=lambda name: (name != typed_letters, not name.startswith(typed_letters)))
    return matches


def _contains_in_order(word: str, letters: str) -> bool:
    """Return whether a word has these letters in this order, perhaps with others between them."""
    rest = iter(word)
    return all(letter in rest for letter in letters)

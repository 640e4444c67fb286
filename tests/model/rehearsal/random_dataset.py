"""Generate data sets with random names and values from a seed."""

import random
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

STYLES = ("snake_case", "Title Case", "camelCase")


@dataclass(frozen=True)
class RandomDataset:
    """A table with meaningless names, and the ways to say and misspell them."""

    name: str
    frame: pd.DataFrame
    mass: str
    """A column of numbers with decimals."""
    size: str
    """A column of whole numbers."""
    kind: str
    """A column of three words."""
    place: str
    """A column of two words, with gaps."""

    def variables(self) -> dict[str, Any]:
        """Return the namespace that holds the table."""
        return {self.name: self.frame.copy()}

    def say(self, column: str) -> str:
        """Return a column's name as a user would write it in a prompt."""
        spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", column).replace("_", " ")
        return " ".join(spaced.lower().split())

    def misspell(self, column: str) -> str:
        """Return the name with two letters of its first word swapped."""
        word, _, rest = self.say(column).partition(" ")
        return f"{word[:2]}{word[3]}{word[2]}{word[4:]} {rest}".strip()


def nonsense(rng: random.Random, syllables: int = 3) -> str:
    """Return a meaningless word."""
    return (
        "".join(rng.choice("bdfgklmnprtvz") + rng.choice("aeiou") for _ in range(syllables)) + "k"
    )


def unseen(seed: int) -> RandomDataset:
    """Return the data set of a seed."""
    rng, numbers = random.Random(seed), np.random.default_rng(seed)
    style = STYLES[seed % 3]
    words = iter(dict.fromkeys(nonsense(rng) for _ in range(60)))

    def named(count: int) -> str:
        parts = [next(words) for _ in range(count)]
        if style == "snake_case":
            return "_".join(parts)
        if style == "Title Case":
            return " ".join(part.title() for part in parts)
        return parts[0] + "".join(part.title() for part in parts[1:])

    rows = 60 + seed
    kinds = [next(words).title() for _ in range(3)]
    places = [next(words), next(words), None]
    mass, size, kind, place = named(2), named(1), named(1), named(2)
    frame = pd.DataFrame(
        {
            kind: numbers.choice(kinds, rows),
            mass: numbers.normal(40, 9, rows),
            place: numbers.choice(np.array(places, dtype=object), rows),
            size: numbers.integers(1, 30, rows),
        }
    )
    frame.loc[3, mass] = np.nan
    return RandomDataset(f"{next(words)}_table", frame, mass, size, kind, place)


def numbers_in(text: str) -> list[float]:
    """Return every number in an answer."""
    return [float(number) for number in re.findall(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w.]*\w)", text)]


def rows_of(text: str) -> dict[str, list[float]]:
    """Return the rows of an answer's Markdown table, by their first cell."""
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return {
        row[0].replace("\\", ""): [float(c) for c in row[1:] if is_number(c)] for row in rows[2:]
    }


def is_number(text: str) -> bool:
    """Return whether a cell holds a number."""
    return bool(re.fullmatch(r"-?\d+(?:\.\d+)?(?:e-?\d+)?", text))

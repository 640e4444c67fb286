"""The kinds of values that a learner predicts: a number, a choice, an order, a square of the inspector's grid.

Border: values only. Each kind validates a given value, makes a text of it, and computes how far it is from the truth.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Protocol

from palimpsest.render.content.phrases import count
from palimpsest.transcript.errors import UserError

Distance = float | None
"""How far a prediction is from the truth; None where it is only right or wrong, and wrong."""


class PredictionKind(Protocol):
    """One kind of prediction.

    Contract: pure. ``validated_value`` returns plain JSON values, and the other methods take only those.
    """

    @property
    def valid_words(self) -> str:
        """What is valid, such as ``a number from 0 to 100 %``."""

    def validated_value(self, value: Any) -> Any:
        """Return a given value as plain JSON; raises UserError with what would be valid."""

    def value_text(self, value: Any) -> str:
        """Return a value for people."""

    def distance(self, value: Any, truth: Any) -> Distance:
        """Return how far a value is from the truth, 0 for right, in the kind's own unit."""

    def distance_text(self, value: Any, truth: Any) -> str:
        """Return the same for people, such as ``22 % too low``."""


@dataclass(frozen=True, slots=True)
class NumberKind:
    """A number between two bounds."""

    unit: str = ""
    low: float = 0
    high: float = 100
    decimals: int = 0

    @property
    def valid_words(self) -> str:
        """A number and its bounds."""
        return f"a number from {self._digits(self.low)} to {self.value_text(self.high)}"

    def validated_value(self, value: Any) -> float:
        """Return the number; raises UserError for anything else, and beyond the bounds."""
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            number = float("nan")
        if isinstance(value, bool) or not self.low <= number <= self.high:
            raise UserError(f"Give {self.valid_words}; {value!r:.40} is none.")
        return number

    def value_text(self, value: Any) -> str:
        """Return the number with its unit."""
        return f"{self._digits(value)} {self.unit}".rstrip()

    def distance(self, value: Any, truth: Any) -> Distance:
        """Return the absolute difference."""
        return float(abs(value - truth))

    def distance_text(self, value: Any, truth: Any) -> str:
        """Return by how much it is too low or too high, in the kind's unit."""
        difference_text = self._digits(abs(value - truth))
        if difference_text == self._digits(0):
            return "right"
        return f"{difference_text} too {'low' if value < truth else 'high'}"

    def _digits(self, value: float) -> str:
        return f"{value:,.{self.decimals}f}" if self.decimals else count(round(value))


@dataclass(frozen=True, slots=True)
class ChoiceKind:
    """One of several options, given by its text or by its number from 1."""

    options: tuple[str, ...]

    @property
    def valid_words(self) -> str:
        """The options with their numbers."""
        return f"the number of an option: {_numbered_options(self.options)}"

    def validated_value(self, value: Any) -> str:
        """Return the option's text; raises UserError with the options."""
        return _option(self.options, value)

    def value_text(self, value: Any) -> str:
        """Return the option's text."""
        return str(value)

    def distance(self, value: Any, truth: Any) -> Distance:
        """Return 0 for right, and None for wrong."""
        return 0.0 if value == truth else None

    def distance_text(self, value: Any, truth: Any) -> str:
        """Return ``right`` or ``wrong``."""
        return "right" if value == truth else "wrong"


@dataclass(frozen=True, slots=True)
class OrderKind:
    """All options in an order, given by their texts or by their numbers from 1."""

    options: tuple[str, ...]
    first: str = "first"
    """What stands first in the order, such as ``cheapest``."""

    @property
    def valid_words(self) -> str:
        """The options with their numbers, and what stands first."""
        return f"all {len(self.options)} numbers in a list, the {self.first} one first: {_numbered_options(self.options)}"

    def validated_value(self, value: Any) -> list[str]:
        """Return the options in their order; raises UserError where one lacks or stands twice."""
        values = value if isinstance(value, list | tuple) else ()
        options = [_option(self.options, option) for option in values]
        if sorted(options) != sorted(self.options):
            raise UserError(
                f"Give all {len(self.options)} once in a list, the {self.first} one first: {_numbered_options(self.options)}."
            )
        return options

    def value_text(self, value: Any) -> str:
        """Return the options with arrows between them."""
        return " → ".join(value)

    def distance(self, value: Any, truth: Any) -> Distance:
        """Return the number of pairs that stand the wrong way round."""
        index_of = {option: index for index, option in enumerate(truth)}
        return float(sum(index_of[a] > index_of[b] for a, b in combinations(value, 2)))

    def distance_text(self, value: Any, truth: Any) -> str:
        """Return how many of all pairs stand the wrong way round."""
        wrong_count = round(self.distance(value, truth) or 0)
        pair_count = len(self.options) * (len(self.options) - 1) // 2
        return (
            f"{wrong_count} of {pair_count} pairs the wrong way round" if wrong_count else "right"
        )


@dataclass(frozen=True, slots=True)
class SquareKind:
    """A square of the inspector's grid: a request and an item, both from 1; given as a pair, or as an inspector's place."""

    requests_only: bool = False
    """Whether any item of the request counts."""

    @property
    def valid_words(self) -> str:
        """An inspector, or the numbers of a place."""
        if self.requests_only:
            return "the inspector with its cursor at a request, or the number of a request"
        return "the inspector with its cursor on a square, or the numbers of request and item, as (7, 3)"

    def validated_value(self, value: Any) -> list[int]:
        """Return request and item; raises UserError for anything else, and where no square is chosen."""
        place = getattr(value, "place", value)
        pair: Any = (
            (place.request, getattr(place, "item", None)) if hasattr(place, "request") else place
        )
        if self.requests_only and isinstance(pair, int):
            pair = (pair, None)
        numbers = list(pair) if isinstance(pair, list | tuple) else []
        square = numbers[: 1 if self.requests_only else 2]
        if len(square) != (1 if self.requests_only else 2) or not all(
            map(_is_whole_number, square)
        ):
            wanted_place = "a request" if self.requests_only else "a square of the grid"
            raise UserError(
                f"Choose {wanted_place} in the inspector and hand over the view, or give "
                f"{'its number' if self.requests_only else 'the numbers of request and item, as (7, 3)'}."
            )
        return square

    def value_text(self, value: Any) -> str:
        """Return the numbers of request and item."""
        return ", ".join(
            f"{name} {number:,}" for name, number in zip(("request", "item"), value, strict=False)
        )

    def distance(self, value: Any, truth: Any) -> Distance:
        """Return how many requests lie between, and None for another item of the right request."""
        if list(value) == list(truth):
            return 0.0
        return float(abs(value[0] - truth[0])) or None

    def distance_text(self, value: Any, truth: Any) -> str:
        """Return how many requests it is away."""
        if list(value) == list(truth):
            return "right"
        request_count = abs(value[0] - truth[0])
        if not request_count:
            return "the right request, another item"
        return f"{request_count:,} request{'s' if request_count > 1 else ''} {'too early' if value[0] < truth[0] else 'too late'}"


def _numbered_options(options: Sequence[str]) -> str:
    return ", ".join(f"{number} {text}" for number, text in enumerate(options, start=1))


def _is_whole_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _option(options: Sequence[str], value: Any) -> str:
    """Return an option by its text, whatever the case of its letters, or by its number from 1; raises UserError."""
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= len(options):
        return options[value - 1]
    for option in options:
        if isinstance(value, str) and value.strip().casefold() == option.casefold():
            return option
    options_text = ", ".join(
        f"{number} {option!r}" for number, option in enumerate(options, start=1)
    )
    raise UserError(f"{value!r:.60} is none of the options: {options_text}.")

"""One measured figure and what it may be."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """A number with its unit and its target; without a target it is only told."""

    name: str
    value: float
    unit: str
    target: float | None = None
    """The most that it may be."""
    note: str = ""
    """What a reader must know to read it, such as the machine's own number beside it."""

    @property
    def over(self) -> bool:
        """Whether it is more than it may be."""
        return self.target is not None and self.value > self.target

    def shown(self, number: float) -> str:
        """Return a number with the unit and as many digits as matter."""
        digits = 0 if abs(number) >= 100 else 1 if abs(number) >= 10 else 2
        return f"{number:,.{digits}f} {self.unit}"

    def shown_target(self) -> str:
        """Return the target, or a dash."""
        return "-" if self.target is None else f"<= {self.target:g} {self.unit}"

    def verdict(self) -> str:
        """Return ok or over, and the note."""
        word = "" if self.target is None else "over" if self.over else "ok"
        return f"{word}  {self.note}".strip()

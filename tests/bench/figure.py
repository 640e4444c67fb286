"""The value that benchmarks return: a measured figure with its target."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """A number with its unit and its target; without a target it is only reported."""

    name: str
    value: float
    unit: str
    target: float | None = None
    """The upper limit."""
    note: str = ""
    """What a reader needs to interpret it, such as a reference measurement of the machine."""

    @property
    def over(self) -> bool:
        """Whether the number exceeds its target."""
        return self.target is not None and self.value > self.target

    def shown(self, number: float) -> str:
        """Return a number with its unit and a sensible number of digits."""
        digits = 0 if abs(number) >= 100 else 1 if abs(number) >= 10 else 2
        return f"{number:,.{digits}f} {self.unit}"

    def shown_target(self) -> str:
        """Return the target, or a dash."""
        return "-" if self.target is None else f"<= {self.target:g} {self.unit}"

    def verdict(self) -> str:
        """Return ok or over, and the note."""
        word = "" if self.target is None else "over" if self.over else "ok"
        return f"{word}  {self.note}".strip()

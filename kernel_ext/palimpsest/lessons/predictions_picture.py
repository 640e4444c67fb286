"""Draw what a class predicted beside the truth, as one SVG with a strip for each question.

Border: pure; numbers in, markup out. Colours can be read on a white page and on a dark one; nothing is loaded.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from palimpsest.render.safety.escaping import in_html, one_line

WIDTH, STRIP_HEIGHT, LEFT, RIGHT = 760, 92, 16, 16
"""Pixels: the width of the picture, the height of a strip, and the margins."""
INK, DOT, TRUTH = "#7a7a82", "#3f88cc", "#cf8b3c"
"""Colours of text and axis, of a prediction, and of the truth."""
MAX_TITLE_CHARS = 110
STACKED = 7
"""Dots of one value that stand one above the other; more lie on the highest."""


@dataclass(slots=True)
class PredictionStrip:
    """One question with the numbers that a class predicted."""

    title: str
    low: float
    high: float
    truth: float
    value_text: Callable[[float], str]
    values: dict[str, float] = field(default_factory=dict)
    """The prediction of each learner."""

    def x(self, value: float) -> float:
        """Return the horizontal place of a value."""
        share = (value - self.low) / (self.high - self.low or 1)
        return LEFT + min(1.0, max(0.0, share)) * (WIDTH - LEFT - RIGHT)


def predictions_svg(strips: Sequence[PredictionStrip]) -> str:
    """Return the picture; an empty text where no number was predicted."""
    if not strips:
        return ""
    height = STRIP_HEIGHT * len(strips)
    body = "".join(_strip(strip, index * STRIP_HEIGHT) for index, strip in enumerate(strips))
    about = " ".join(
        f"{strip.title} The truth is {strip.value_text(strip.truth)}; {len(strip.values)} predicted."
        for strip in strips
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" style="width:100%;'
        f'max-width:{WIDTH}px" font-family="system-ui,sans-serif" font-size="12" fill="{INK}">'
        f"<title>Predictions of the class beside the truth</title><desc>{in_html(about)}</desc>{body}</svg>"
    )


def _strip(strip: PredictionStrip, top: int) -> str:
    axis = top + 66
    truth = strip.x(strip.truth)
    side = "end" if truth > WIDTH / 2 else "start"
    shift = -6 if side == "end" else 6
    return (
        f'<text x="{LEFT}" y="{top + 14}">{in_html(one_line(strip.title, MAX_TITLE_CHARS))}</text>'
        f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{axis}" y2="{axis}" stroke="{INK}"/>'
        f'<text x="{LEFT}" y="{axis + 16}">{in_html(strip.value_text(strip.low))}</text>'
        f'<text x="{WIDTH - RIGHT}" y="{axis + 16}" text-anchor="end">{in_html(strip.value_text(strip.high))}</text>'
        f'<line x1="{truth:.1f}" x2="{truth:.1f}" y1="{top + 24}" y2="{axis}" stroke="{TRUTH}" stroke-width="2"/>'
        f'<text x="{truth + shift:.1f}" y="{top + 32}" text-anchor="{side}" fill="{TRUTH}" font-weight="600">'
        f"{in_html(strip.value_text(strip.truth))}</text>{_dots(strip.values, strip, axis)}"
    )


def _dots(values: Mapping[str, float], strip: PredictionStrip, axis: int) -> str:
    stacked: dict[int, int] = {}
    dots: list[str] = []
    for learner, value in sorted(values.items(), key=lambda pair: pair[1]):
        x = strip.x(value)
        column = round(x / 8)
        level = min(stacked.get(column, 0), STACKED)
        stacked[column] = level + 1
        title = in_html(one_line(f"{learner}: {strip.value_text(value)}", 80))
        dots.append(
            f'<circle cx="{x:.1f}" cy="{axis - 5 - 7 * level}" r="4" fill="{DOT}" fill-opacity=".8"><title>{title}</title></circle>'
        )
    return "".join(dots)

"""Draw what a class predicted beside the truth, as one SVG: dots on an axis for numbers, bars for options.

Border: pure; numbers in, markup out. Colours can be read on a white page and on a dark one; nothing is loaded.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from textwrap import wrap

from palimpsest.render.safety.escaping import in_html, one_line

WIDTH, LEFT_MARGIN, RIGHT_MARGIN = 760, 16, 16
"""Pixels: the width of the picture, and the margins."""
MAX_WIDTH = 1000
"""Pixels up to which the picture is enlarged, so that a class can read it on a projector."""
LINE_HEIGHT, AXIS_HEIGHT, OPTION_HEIGHT = 16, 76, 28
"""Pixels of a line of a title, of the axis of a strip with its dots, and of one option with its bar."""
INK_COLOUR, DOT_COLOUR, TRUTH_COLOUR = "#7a7a82", "#3f88cc", "#cf8b3c"
"""Colours of text and axis, of a prediction, and of the truth."""
MAX_LINE_CHARS = 105
"""Characters of a question that stand on a line."""
MAX_OPTION_CHARS = MAX_LINE_CHARS - 20
"""Characters of an option, beside its number and that it is right."""
COLUMN_WIDTH = 8
"""Pixels within which dots are stacked."""
MAX_DOT_TITLE_CHARS = 80
MAX_STACKED_DOTS = 7
"""Dots of nearly one value that stand one above the other; more lie on the highest."""


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
        return LEFT_MARGIN + min(1.0, max(0.0, share)) * (WIDTH - LEFT_MARGIN - RIGHT_MARGIN)

    @property
    def height(self) -> int:
        """Its height in pixels, which ``markup`` fills."""
        return _title_height(self.title) + AXIS_HEIGHT

    @property
    def about(self) -> str:
        """The picture in a sentence."""
        return f"{self.title} The truth is {self.value_text(self.truth)}; {len(self.values)} predicted."

    def markup(self, top: int) -> str:
        """Return a dot for each prediction on an axis, and a line at the truth."""
        plot_top = top + _title_height(self.title)
        axis_y = plot_top + 50
        truth_x = self.x(self.truth)
        text_anchor = "end" if truth_x > WIDTH / 2 else "start"
        shift = -6 if text_anchor == "end" else 6
        return (
            f"{_title_elements(self.title, top)}"
            f'<line x1="{LEFT_MARGIN}" x2="{WIDTH - RIGHT_MARGIN}" y1="{axis_y}" y2="{axis_y}" stroke="{INK_COLOUR}"/>'
            f'<text x="{LEFT_MARGIN}" y="{axis_y + 16}">{in_html(self.value_text(self.low))}</text>'
            f'<text x="{WIDTH - RIGHT_MARGIN}" y="{axis_y + 16}" text-anchor="end">{in_html(self.value_text(self.high))}</text>'
            f'<line x1="{truth_x:.1f}" x2="{truth_x:.1f}" y1="{plot_top + 8}" y2="{axis_y}" stroke="{TRUTH_COLOUR}" stroke-width="2"/>'
            f'<text x="{truth_x + shift:.1f}" y="{plot_top + 16}" text-anchor="{text_anchor}" fill="{TRUTH_COLOUR}" font-weight="600">'
            f"{in_html(self.value_text(self.truth))}</text>{_dot_elements(self.values, self, axis_y)}"
        )


@dataclass(slots=True)
class OptionBars:
    """One question with the options that a class chose."""

    title: str
    options: Sequence[str]
    truth: str
    values: dict[str, str] = field(default_factory=dict)
    """The option that each learner chose."""

    @property
    def height(self) -> int:
        """Its height in pixels, which ``markup`` fills."""
        return _title_height(self.title) + len(self.options) * OPTION_HEIGHT + LINE_HEIGHT

    @property
    def about(self) -> str:
        """The picture in a sentence."""
        right_count = sum(value == self.truth for value in self.values.values())
        return f"{self.title} It is: {self.truth}; {right_count} of {len(self.values)} chose it."

    def markup(self, top: int) -> str:
        """Return a bar for each option, as long as the share of the class that chose it."""
        bars_top = top + _title_height(self.title)
        return _title_elements(self.title, top) + "".join(
            self._bar(option, bars_top + index * OPTION_HEIGHT)
            for index, option in enumerate(self.options)
        )

    def _bar(self, option: str, top: int) -> str:
        chosen_count = sum(value == option for value in self.values.values())
        width = (WIDTH - LEFT_MARGIN - RIGHT_MARGIN) * chosen_count / max(len(self.values), 1)
        is_true = option == self.truth
        style = f' fill="{TRUTH_COLOUR}" font-weight="600"' if is_true else ""
        label = f"{chosen_count} \N{MIDDLE DOT} {one_line(option, MAX_OPTION_CHARS)}"
        return (
            f'<text x="{LEFT_MARGIN}" y="{top + 14}"{style}>{in_html(label)}{", which it is" if is_true else ""}</text>'
            f'<rect x="{LEFT_MARGIN}" y="{top + 18}" width="{width:.1f}" height="5" fill="{TRUTH_COLOUR if is_true else DOT_COLOUR}"/>'
        )


def predictions_svg(questions: Sequence[PredictionStrip | OptionBars]) -> str:
    """Return the picture; an empty text where nothing was predicted."""
    if not questions:
        return ""
    tops = [*accumulate((question.height for question in questions), initial=0)]
    elements = "".join(question.markup(top) for question, top in zip(questions, tops, strict=False))
    about = " ".join(question.about for question in questions)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {tops[-1]}" role="img" style="width:100%;'
        f'max-width:{MAX_WIDTH}px" font-family="system-ui,sans-serif" font-size="12" fill="{INK_COLOUR}">'
        f"<title>Predictions of the class beside the truth</title><desc>{in_html(about)}</desc>{elements}</svg>"
    )


def _title_height(title: str) -> int:
    return LINE_HEIGHT * len(wrap(title, MAX_LINE_CHARS)) + 4


def _title_elements(title: str, top: int) -> str:
    return "".join(
        f'<text x="{LEFT_MARGIN}" y="{top + 14 + index * LINE_HEIGHT}" font-weight="600">{in_html(line)}</text>'
        for index, line in enumerate(wrap(title, MAX_LINE_CHARS))
    )


def _dot_elements(values: Mapping[str, float], strip: PredictionStrip, axis_y: int) -> str:
    dot_count_by_column: dict[int, int] = {}
    dots: list[str] = []
    for learner, value in sorted(values.items(), key=lambda pair: pair[1]):
        x = strip.x(value)
        column = round(x / COLUMN_WIDTH)
        level = min(dot_count_by_column.get(column, 0), MAX_STACKED_DOTS)
        dot_count_by_column[column] = level + 1
        title = in_html(one_line(f"{learner}: {strip.value_text(value)}", MAX_DOT_TITLE_CHARS))
        dots.append(
            f'<circle cx="{x:.1f}" cy="{axis_y - 5 - 7 * level}" r="4" fill="{DOT_COLOUR}" fill-opacity=".8"><title>{title}</title></circle>'
        )
    return "".join(dots)

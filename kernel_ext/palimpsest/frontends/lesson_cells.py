"""Draw a lesson in cells: a widget that asks for a prediction, and answers and values that are drawn again after one.

Border: ipywidgets and IPython's display; what is asked and answered comes from ``lessons``.
"""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import ipywidgets
from IPython.core.displaypub import DisplayPublisher
from IPython.core.getipython import get_ipython
from IPython.display import publish_display_data, update_display
from IPython.lib.pretty import pretty

from palimpsest.lessons.lesson_plan import Prediction
from palimpsest.lessons.lesson_texts import LessonText, question_text
from palimpsest.lessons.prediction_kinds import ChoiceKind, NumberKind, OrderKind, PredictionKind
from palimpsest.render.reports.table import ShownInCell
from palimpsest.render.safety.escaping import code_block, in_html
from palimpsest.transcript.errors import UserError

KEEP_LABEL = "Keep my prediction"
MAX_OUTPUTS = 8
"""The newest outputs of one answer that are drawn again; a cell that runs again adds one."""
CHOOSE_IN_INSPECTOR = (
    "Choose it in the inspector, then run lesson.predict({name!r}, view) with the inspector's variable, or give the "
    "numbers: lesson.predict({name!r}, (request, item))."
)
CONTROLS_TEXT = "A field and a button, where widgets are drawn."
NO_FIELD_HINT = "No field below? Run the cells from the top."
"""Also stands in the saved notebook: a field needs its kernel, and JupyterLab says of its widget only "model not found"."""
FIELD_LABEL = "Your prediction"
"""The label of a field, which a screen reader says; the question stands above it."""
WIDE_LAYOUT = {"width": "auto", "max_width": "52em"}
WHOLE_LABEL_STYLE = {"description_width": "initial"}
TEXT_WIDTH_LAYOUT = {"width": "max-content", "max_width": "100%"}


class LessonAnswers(ShownInCell):
    """An answer to a question of a lesson, computed when it is shown; ``update`` draws it again in the cells that show it."""

    def __init__(self, compute_answer: Callable[[], ShownInCell]) -> None:
        self._compute_answer = compute_answer
        self._display_ids: list[str] = []

    @property
    def _shown_as(self) -> ShownInCell:
        return self._compute_answer()

    def update(self) -> None:
        """Draw the answer again in the cells that show it."""
        data = self._bundle() if self._display_ids else {}
        for display_id in self._display_ids:
            update_display(data, raw=True, display_id=display_id)

    def _bundle(self) -> dict[str, str]:
        value = self._shown_as
        return {"text/html": value.html, "text/markdown": value.markdown, "text/plain": value.text}

    def _ipython_display_(self, **_: Any) -> None:
        shell = get_ipython()
        if shell is None:
            return
        if prints_only(shell):
            publish_display_data(self._bundle())
            return
        display_id = secrets.token_hex(8)
        self._display_ids = [*self._display_ids, display_id][-MAX_OUTPUTS:]
        publish_display_data(self._bundle(), transient={"display_id": display_id})


@dataclass(frozen=True)
class ShownValues(ShownInCell):
    """Any values one below the other, each as a cell would show it."""

    values: tuple[Any, ...]

    @property
    def text(self) -> str:
        """The values as plain text, with an empty line between two."""
        return "\n\n".join(map(_value_text, self.values))

    @property
    def markdown(self) -> str:
        """The values as Markdown: a value that has no Markdown is a block of code."""
        return "\n\n".join(
            _display_text(value, "_repr_markdown_") or code_block(_value_text(value))
            for value in self.values
        )

    @property
    def html(self) -> str:
        """The values as HTML: a value that has no HTML is escaped text."""
        return "".join(
            f'<div style="margin-bottom:.6em">{_display_text(value, "_repr_html_") or _text_html(value)}</div>'
            for value in self.values
        )


def _value_text(value: Any) -> str:
    return value if isinstance(value, str) else pretty(value)


def _text_html(value: Any) -> str:
    return f'<div style="white-space:pre-wrap;max-width:52em">{in_html(_value_text(value))}</div>'


def _display_text(value: Any, method_name: str) -> str:
    """Return what a value's display method returns; empty where it has none."""
    display_method = getattr(value, method_name, None)
    return (display_method() or "") if callable(display_method) else ""


class PredictionBox(ipywidgets.VBox):  # type: ignore[misc]  # ipywidgets has no types
    """The controls of a question. The question is an output of its own, which stays where no widget is drawn."""

    def __init__(self, question: LessonText, children: Sequence[Any]) -> None:
        super().__init__(children)
        self._question = question

    def _repr_mimebundle_(self, **arguments: Any) -> dict[str, Any]:
        bundle: dict[str, Any] = super()._repr_mimebundle_(**arguments) or {}
        return bundle | {"text/plain": CONTROLS_TEXT}

    def _ipython_display_(self, **_: Any) -> None:
        shell = get_ipython()
        if shell is None:
            return
        title = in_html(self._question.title)
        html = (
            f'<div style="max-width:52em;line-height:1.5"><strong>{title}</strong><br>'
            f'<span style="font-size:.9em;opacity:.75">{in_html(NO_FIELD_HINT)}</span></div>'
        )
        markdown, plain_text = self._question.markdown, self._question.text
        publish_display_data(
            {"text/html": html, "text/markdown": markdown, "text/plain": plain_text}
        )
        if not prints_only(shell):
            publish_display_data(self._repr_mimebundle_())


def prints_only(shell: Any) -> bool:
    """Return whether a shell prints what is displayed, as in a terminal: no widgets, and nothing is drawn again."""
    return type(shell.display_pub) is DisplayPublisher


def prediction_widget(
    prediction: Prediction, keep_prediction: Callable[[Any], LessonText]
) -> "PredictionBox | LessonText":
    """Return a widget that asks for a prediction; a text for a square of the grid, which is chosen in an inspector."""
    controls, get_value = _controls(prediction.kind)
    if get_value is None:
        sentence = CHOOSE_IN_INSPECTOR.format(name=prediction.name)
        return LessonText(prediction.question, (sentence,))
    button = ipywidgets.Button(
        description=KEEP_LABEL,
        button_style="primary",
        layout={"width": "max-content", "align_self": "flex-start"},
    )
    outcome = ipywidgets.HTML(layout=WIDE_LAYOUT)

    def on_keep(_button: ipywidgets.Button) -> None:
        try:
            kept_text = keep_prediction(get_value())
        except UserError as error:
            outcome.value = LessonText(sentences=(str(error),)).html
            return
        for control in (*controls, button):
            control.disabled = True
        outcome.value = LessonText(sentences=kept_text.sentences).html

    button.on_click(on_keep)
    return PredictionBox(question_text(prediction), [*controls, button, outcome])


def _controls(kind: PredictionKind) -> tuple[Sequence[Any], Callable[[], Any] | None]:
    """Return the controls for a kind of prediction, and a function that returns their value; None where there are none."""
    match kind:
        case NumberKind():
            number = ipywidgets.Text(
                placeholder=f"{kind.low:,g} to {kind.high:,g}",
                description=f"{FIELD_LABEL}, in {kind.unit}" if kind.unit else FIELD_LABEL,
                style=WHOLE_LABEL_STYLE,
                # Sent when the field is left: ipywidgets holds a second change back until the first one is handled, and
                # a click would overtake it.
                continuous_update=False,
            )
            return [number], lambda: number.value
        case ChoiceKind():
            choice = ipywidgets.RadioButtons(
                options=kind.options,
                value=None,
                description=FIELD_LABEL,
                style=WHOLE_LABEL_STYLE,
                layout=TEXT_WIDTH_LAYOUT,
            )
            return [choice], lambda: choice.value
        case OrderKind():
            choices_in_order = [
                ipywidgets.Dropdown(
                    options=kind.options,
                    value=None,
                    description=f"{number}. ({kind.first})" if number == 1 else f"{number}.",
                    style={"description_width": "8em"},
                    layout=TEXT_WIDTH_LAYOUT,
                )
                for number in range(1, len(kind.options) + 1)
            ]
            return choices_in_order, lambda: [choice.value for choice in choices_in_order]
        case _:
            return [], None

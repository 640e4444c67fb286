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

KEEP = "Keep my prediction"
MAX_OUTPUTS = 8
"""The newest outputs of one answer that are drawn again; a cell that runs again adds one."""
CHOOSE_IN_INSPECTOR = (
    "Choose it in the inspector, then run lesson.predict({name!r}, view) with the inspector's variable, or give the "
    "numbers: lesson.predict({name!r}, (request, item))."
)
CONTROLS = "A field and a button, where widgets are drawn."
NO_FIELD = "No field below? Run the cells from the top."
"""Also stands in the saved notebook: a field needs its kernel, and JupyterLab says of its widget only "model not found"."""
YOURS = "Your prediction"
"""The label of a field, which a screen reader says; the question stands above it."""
WIDE = {"width": "auto", "max_width": "52em"}
WHOLE_LABEL = {"description_width": "initial"}
AS_WIDE_AS_ITS_WORDS = {"width": "max-content", "max_width": "100%"}


class LessonAnswers(ShownInCell):
    """What tells an answer, computed when it is shown, and drawn again where it stands after a prediction."""

    def __init__(self, answers: Callable[[], ShownInCell]) -> None:
        self._answers = answers
        self._display_ids: list[str] = []

    @property
    def _shown_as(self) -> ShownInCell:
        return self._answers()

    def update(self) -> None:
        """Draw it again in the cells that show it."""
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
        """The same as Markdown: a value that has no Markdown is a block of code."""
        return "\n\n".join(
            _own_form(value, "_repr_markdown_") or code_block(_value_text(value))
            for value in self.values
        )

    @property
    def html(self) -> str:
        """The same as HTML, of which a value without HTML is escaped text."""
        return "".join(
            f'<div style="margin-bottom:.6em">{_own_form(value, "_repr_html_") or _text_html(value)}</div>'
            for value in self.values
        )


def _value_text(value: Any) -> str:
    return value if isinstance(value, str) else pretty(value)


def _text_html(value: Any) -> str:
    return f'<div style="white-space:pre-wrap;max-width:52em">{in_html(_value_text(value))}</div>'


def _own_form(value: Any, method: str) -> str:
    """Return what a value's display method returns; empty where it has none."""
    form = getattr(value, method, None)
    return (form() or "") if callable(form) else ""


class PredictionBox(ipywidgets.VBox):  # type: ignore[misc]  # ipywidgets has no types
    """The controls of a question. The question is an output of its own, which stays where no widget is drawn."""

    def __init__(self, question: LessonText, children: Sequence[Any]) -> None:
        super().__init__(children)
        self._question = question

    def _repr_mimebundle_(self, **arguments: Any) -> dict[str, Any]:
        bundle: dict[str, Any] = super()._repr_mimebundle_(**arguments) or {}
        return bundle | {"text/plain": CONTROLS}

    def _ipython_display_(self, **_: Any) -> None:
        shell = get_ipython()
        if shell is None:
            return
        question = in_html(self._question.title)
        page = (
            f'<div style="max-width:52em;line-height:1.5"><strong>{question}</strong><br>'
            f'<span style="font-size:.9em;opacity:.75">{in_html(NO_FIELD)}</span></div>'
        )
        markdown, plain_text = self._question.markdown, self._question.text
        publish_display_data(
            {"text/html": page, "text/markdown": markdown, "text/plain": plain_text}
        )
        if not prints_only(shell):
            publish_display_data(self._repr_mimebundle_())


def prints_only(shell: Any) -> bool:
    """Return whether a shell prints what is displayed, as in a terminal: no widgets, and nothing is drawn again."""
    return type(shell.display_pub) is DisplayPublisher


def prediction_widget(
    prediction: Prediction, keep: Callable[[Any], LessonText]
) -> "PredictionBox | LessonText":
    """Return a widget that asks for a prediction; a square of the grid is chosen in an inspector, so there it is a text."""
    controls, value = _controls(prediction.kind)
    if value is None:
        words = CHOOSE_IN_INSPECTOR.format(name=prediction.name)
        return LessonText(prediction.question, (words,))
    button = ipywidgets.Button(
        description=KEEP,
        button_style="primary",
        layout={"width": "max-content", "align_self": "flex-start"},
    )
    outcome = ipywidgets.HTML(layout=WIDE)
    get_value = value

    def on_keep(_button: ipywidgets.Button) -> None:
        try:
            kept_text = keep(get_value())
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
                description=f"{YOURS}, in {kind.unit}" if kind.unit else YOURS,
                style=WHOLE_LABEL,
            )
            return [number], lambda: number.value
        case ChoiceKind():
            choice = ipywidgets.RadioButtons(
                options=kind.options,
                value=None,
                description=YOURS,
                style=WHOLE_LABEL,
                layout=AS_WIDE_AS_ITS_WORDS,
            )
            return [choice], lambda: choice.value
        case OrderKind():
            places = [
                ipywidgets.Dropdown(
                    options=kind.options,
                    value=None,
                    description=f"{number}. ({kind.first})" if number == 1 else f"{number}.",
                    style={"description_width": "8em"},
                    layout=AS_WIDE_AS_ITS_WORDS,
                )
                for number in range(1, len(kind.options) + 1)
            ]
            return places, lambda: [place.value for place in places]
        case _:
            return [], None

"""What the agent's Python displays while no cell takes it is kept for the panel."""

import pytest

from palimpsest.frontends.kernel.output_capture import (
    MAX_SHOWN_CHARS,
    MAX_SHOWN_RESULTS,
    WIDGET_MIME,
    Capture,
    shown_result,
)
from palimpsest.tools.tool import ShownResult

PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


@pytest.mark.parametrize(
    ("data", "kept"),
    [
        ({"text/html": "<b>1</b>", "text/plain": "1"}, ShownResult("html", "<b>1</b>")),
        ({"text/markdown": "*1*", "text/html": "<i>1</i>"}, ShownResult("markdown", "*1*")),
        ({"text/latex": "$x$", "text/plain": "x"}, ShownResult("markdown", "$x$")),
        (
            {WIDGET_MIME: {"model_id": "1"}, "text/plain": "IntSlider(value=0)"},
            ShownResult("widget", "IntSlider"),
        ),
        ({WIDGET_MIME: {"model_id": "1"}}, ShownResult("widget", "")),
        ({"text/html": 3, "application/json": {}}, ShownResult("other", "text/html")),
    ],
)
def test_it_is_kept_in_the_form_that_a_page_without_a_kernel_can_show(
    data: dict[str, object], kept: ShownResult
) -> None:
    assert shown_result(data) == kept


def test_only_what_no_cell_takes_is_kept_and_no_figure() -> None:
    taken, left = Capture(lambda: True), Capture(lambda: False)
    for capture in (taken, left):
        capture.record_bundle({"text/html": "<b>1</b>"})
        capture.record_bundle({"image/png": PICTURE})

    assert taken.outcome(None).shown_results == ()
    assert left.outcome(None).shown_results == (ShownResult("html", "<b>1</b>"),)
    assert len(left.outcome(None).images) == 1


def test_a_run_keeps_only_so_many_and_so_much() -> None:
    capture = Capture(lambda: False)
    capture.record_bundle({"text/html": "x" * MAX_SHOWN_CHARS})
    capture.record_bundle({"text/html": "y"})
    assert [len(output.text) for output in capture.shown_results] == [MAX_SHOWN_CHARS]

    many = Capture(lambda: False)
    for number in range(MAX_SHOWN_RESULTS + 2):
        many.record_bundle({"text/html": str(number)})
    assert len(many.shown_results) == MAX_SHOWN_RESULTS

"""A context window is drawn as a bar and tables, in three formats, and nothing in it is active."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nbconvert.filters.markdown_mistune import markdown2html_mistune
from tests.render.active_html import ActiveHtml
from tests.render.formats.test_html import OUR_OWN
from tests.render.sample_parts import SOME_PAYLOADS
from tests.sample_size import thinned

from palimpsest.render.content.css import DARK, FILL_COLOURS, LIGHT, WINDOW
from palimpsest.render.reports.context_window import (
    FILL_KINDS,
    ContextReportView,
    KindShare,
    ReductionRow,
    share,
    to_html,
)
from palimpsest.render.reports.context_window_text import (
    BAR_CHARS,
    KIND_SIGNS,
    bar,
    to_markdown,
    to_text,
)
from palimpsest.transcript.context_values.request_items import RequestItem

OURS = {*OUR_OWN, "<bdi>", "<i>", "div.role", "div.aria-label"}
"""Elements and attributes of the drawing, in addition to those of a page."""


def sheet(words: str = "data/raw_2009.csv", **more: object) -> ContextReportView:
    fields: dict[str, object] = {
        "title": f"Context window of {words}",
        "head_phrases": ("46,210 of 200,000 tokens (23%)", words),
        "window": 200_000,
        "kind_shares": (
            KindShare("system", "System prompt", 1_204),
            KindShare("instructions", "Instructions", 10, words),
            KindShare("output", "Tool outputs", 44_996, words),
            KindShare("free", "Free", 133_790),
            KindShare("reserve", "Kept for the answer", 20_000),
        ),
        "warning": words,
        "remarks": (words, "Policy: palimpsest."),
        "entries_title": "Everything in it",
        "entries": (
            RequestItem(kind="output", name=words, words=words, tokens=44_996, remark=words),
            RequestItem(kind="user", name="prompt", tokens=4),
        ),
        "more_entries": words,
        "marks_title": "What the model no longer sees whole",
        "reduction_rows": (
            ReductionRow(words, words, ("cleared", words), words),
            ReductionRow("summary", "", (), ""),
        ),
        "more_marks": words,
    }
    return ContextReportView(**{**fields, **more})  # type: ignore[arg-type]


def alive(html: str) -> list[str]:
    """Return what a browser would act on, apart from the drawing's own sizes and colours."""
    return [
        found
        for found in ActiveHtml(html).alive
        if found not in OURS and not re.fullmatch(r"style [-a-z:#0-9.%; ]+", found)
    ]


@pytest.mark.parametrize("payload", thinned(SOME_PAYLOADS, 3))
def test_lets_no_payload_come_alive_in_html(payload: str) -> None:
    assert alive(to_html(sheet(payload))) == []


@pytest.mark.parametrize("payload", thinned(SOME_PAYLOADS, 3, 1))
def test_lets_no_payload_come_alive_in_markdown(payload: str) -> None:
    assert ActiveHtml(markdown2html_mistune(to_markdown(sheet(payload)))).alive == []


@pytest.mark.parametrize(
    "words", ["a|b\nc", "\x1b[31mred\x1b[0m \x07", "שלום \u202eevil\u202c", ""]
)
def test_lines_and_tables_hold_whatever_words_stand_in_them(words: str) -> None:
    drawn = sheet(words)

    text, markdown = to_text(drawn), to_markdown(drawn)

    assert "\x1b" not in text
    assert "\u202e" not in text + markdown + to_html(drawn)
    rows = [line for line in markdown.split("\n") if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows[:7]} == {5}
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows[7:]} == {4}
    assert ActiveHtml(markdown2html_mistune(markdown)).alive == []


def test_words_of_others_are_isolated_so_that_they_turn_nothing_around() -> None:
    page = to_html(sheet("שלום 43.92"))

    assert page.count("<bdi") == page.count("</bdi>") > 3
    assert '<bdi class="subject">שלום 43.92</bdi>' in page
    # In plain text, numbers come first.
    assert "44,996 ▤ שלום 43.92" in to_text(sheet("שלום 43.92"))


def test_all_forms_tell_the_same_numbers() -> None:
    drawn = sheet()

    for form in (to_html(drawn), to_markdown(drawn), to_text(drawn)):
        for number in ("1,204", "44,996", "133,790", "20,000", "0.6 %", "22 %"):
            assert number in form
        for words in ("System prompt", "Tool outputs", "Kept for the answer", "data/raw_2009.csv"):
            assert words in form


SIZES = st.lists(st.tuples(st.sampled_from(FILL_KINDS), st.integers(0, 300_000)), max_size=9)


@given(SIZES, st.integers(1, 250_000))
def test_the_bar_of_signs_is_always_as_long_and_hides_nothing(
    sizes: list[tuple[str, int]], window: int
) -> None:
    used = sum(tokens for _, tokens in sizes)
    fills = [KindShare(kind, kind, tokens) for kind, tokens in sizes]
    drawn = bar([*fills, KindShare("free", "Free", max(window - used, 0))], window)

    assert len(drawn) == (BAR_CHARS if used or window else 0)
    for kind, tokens in sizes:
        assert not tokens or KIND_SIGNS[kind] in drawn


def test_the_bar_is_to_scale() -> None:
    half = [KindShare("output", "", 50), KindShare("free", "", 30), KindShare("reserve", "", 20)]

    assert bar(half, 100, 10) == "▤▤▤▤▤···//"


def test_a_little_is_not_nothing() -> None:
    assert share(1, 200_000) == "<0.1 %"
    assert share(0, 200_000) == "0.0 %"
    assert share(2_000, 200_000) == "1.0 %"
    assert share(150_000, 200_000) == "75 %"


def test_every_kind_has_a_sign_a_colour_and_a_colour_for_the_dark() -> None:
    for kind in (*FILL_KINDS, "free", "reserve"):
        assert KIND_SIGNS[kind]
        assert f".k-{kind} " in WINDOW
        assert f"--{kind}:" in LIGHT
        assert f"--{kind}:" in DARK
        assert kind in FILL_COLOURS
    signs = [KIND_SIGNS[kind] for kind in KIND_SIGNS if kind != "used"]
    assert len(signs) == len(set(signs))


def test_styles_nothing_outside_its_own_words() -> None:
    assert WINDOW.count("{") == WINDOW.count("}")
    depth, rule = 0, ""
    for sign in WINDOW:
        if sign == "{":
            if depth == 0:
                for selector in rule.split(","):
                    assert selector.strip().endswith(".plm-Saved > .plm-Saved-words"), selector
            depth, rule = depth + 1, ""
        elif sign == "}":
            depth, rule = depth - 1, ""
        else:
            rule += sign


def test_says_so_when_nothing_is_gone() -> None:
    page = to_html(
        sheet(reduction_rows=(), marks_title="Nothing was taken out", more_marks="", warning="")
    )

    assert "Nothing was taken out" in page
    assert 'class="strip"' not in page
    assert 'class="notice' not in page

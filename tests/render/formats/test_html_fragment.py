"""The HTML that a notebook saves of a session is bounded, brings its own styles, and runs nothing."""

import re

import pytest
from tests.render.active_html import ActiveHtml
from tests.render.formats.test_html import OUR_OWN
from tests.render.sample_parts import EVERYTHING, PAYLOADS, assistant, everywhere, user
from tests.sample_size import thinned

from palimpsest.render.content.css import EXCERPT
from palimpsest.render.formats.html_fragment import render_excerpt
from palimpsest.transcript.parts import TextPart

MARK = "plm-view-1"


def said(words: str, number: int) -> TextPart:
    return TextPart(id=f"prt_{number}", session_id="ses_1", message_id=f"msg_{number}", text=words)


@pytest.mark.parametrize("payload", thinned(PAYLOADS, 3, 2))
def test_lets_no_payload_come_alive_anywhere(payload: str) -> None:
    page = render_excerpt(
        (user(payload), assistant(*everywhere(payload))), payload, css_class=MARK, remark=payload
    )

    assert [
        found for found in ActiveHtml(page).alive if found not in {*OUR_OWN, "<p>", "<div>"}
    ] == []


def test_begins_with_the_mark_and_the_title_and_tells_every_part() -> None:
    page = render_excerpt(
        (user("Hello"), assistant(*EVERYTHING)),
        "Penguins",
        css_class=MARK,
        remark="3 model requests",
    )

    assert page.startswith(f'<div class="plm-Saved {MARK}">')
    words = "".join(ActiveHtml(page).words)
    for expected in ("Penguins", "3 model requests", "Hello", "python"):
        assert expected in words


def test_keeps_the_newest_turns_within_the_room_and_counts_the_others() -> None:
    turns = [
        message
        for number in range(30)
        for message in (user(f"question {number}"), assistant(said("word " * 100, number)))
    ]

    page = render_excerpt(tuple(turns), "Long", css_class=MARK, max_chars=6_000)

    kept = [int(found) for found in re.findall(r"question (\d+)", page)]
    assert kept == list(range(30 - len(kept), 30))
    assert 1 < len(kept) < 20
    assert f"{30 - len(kept)} earlier turns are not kept in the notebook" in page


def test_keeps_the_newest_turn_however_long_it_is() -> None:
    page = render_excerpt(
        (user("old"), user("new"), assistant(said("word " * 1_000, 1))),
        "Long",
        css_class=MARK,
        max_chars=10,
    )

    assert page.count("word") > 1_000
    assert "<p>new</p>" in page
    assert "<p>old</p>" not in page
    assert "1 earlier turn is not kept" in page


def test_maths_makes_no_link() -> None:
    hostile = "$\\href{javascript:alert(1)}{x}$ \\href{javascript:alert(1)}{y}"

    page = render_excerpt((user(hostile), assistant(said(hostile, 1))), hostile, css_class=MARK)

    assert "javascript" in page
    assert "\\href" not in page


def test_says_so_when_nothing_was_said() -> None:
    assert "Nothing was said" in render_excerpt((), "New session", css_class=MARK)


def test_styles_nothing_outside_its_own_words() -> None:
    """Each top-level CSS rule is limited to the fragment's own class."""
    depth, rule, outermost = 0, "", []
    for sign in EXCERPT:
        if sign == "{":
            if depth == 0:
                outermost.append(rule.strip())
            depth += 1
            rule = ""
        elif sign == "}":
            depth -= 1
            rule = ""
        else:
            rule += sign
    assert depth == 0
    assert len(outermost) == 3
    for selectors in outermost:
        for selector in selectors.split(","):
            assert selector.strip().endswith(".plm-Saved > .plm-Saved-words"), selector


def test_takes_keys_out_of_titles_and_words() -> None:
    page = render_excerpt(
        (user("the key is abc12345"),),
        "abc12345",
        css_class=MARK,
        scrub=lambda words: words.replace("abc12345", "[redacted]"),
    )

    assert "abc12345" not in page
    assert page.count("[redacted]") == 2

"""What nobody sees, or what steers a terminal, is shown as an escape; what people write stays as it is."""

import json
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.hostile_text import HOSTILE, steers

from palimpsest.render.safety.escaping import clean
from palimpsest.transcript.visible_text import (
    visible_code,
    visible_json,
    visible_line,
    visible_text,
    without_colours,
)

ANY = st.text(alphabet=st.characters(codec="utf-8")) | st.text(alphabet=HOSTILE + "a\n\t👩é")


def test_every_control_and_format_character_is_shown_in_code() -> None:
    seen_formats = {"0600", "0601", "0602", "0603", "0604", "0605", "06DD", "070F", "0890", "0891"}
    left = [
        f"{code:04X}"
        for code in range(sys.maxunicode + 1)
        if unicodedata.category(chr(code)) in ("Cc", "Cf", "Cs", "Zl", "Zp", "Zs")
        if visible_code(f"a{chr(code)}b") == f"a{chr(code)}b"
    ]

    # Signs of Arabic and Syriac numbers and of Egyptian writing have a width.
    shown = {"0009", "000A", "0020", "08E2", *seen_formats}
    assert {word for word in left if not word.startswith("134")} == shown


@pytest.mark.parametrize(
    ("sign", "shown"),
    [
        ("\x1b", r"\x1b"),
        ("\r", r"\x0d"),
        ("\x7f", r"\x7f"),
        ("\x9b", r"\x9b"),
        ("\u202e", r"\u202e"),
        ("\u2066", r"\u2066"),
        ("\u200f", r"\u200f"),
        ("\u061c", r"\u061c"),
        ("\u200b", r"\u200b"),
        ("\u00ad", r"\xad"),
        ("\ufeff", r"\ufeff"),
        ("\u2028", r"\u2028"),
        ("\x85", r"\x85"),
        ("\u3164", r"\u3164"),
        ("\u115f", r"\u115f"),
        ("\ufe0f", r"\ufe0f"),
        ("\U000e0100", r"\U000e0100"),
        ("\U000e0041", r"\U000e0041"),
        ("\ufff9", r"\ufff9"),
        ("\ud83d", r"\ud83d"),
    ],
)
def test_what_is_unseen_is_shown_in_prose_and_in_code(sign: str, shown: str) -> None:
    assert visible_text(f"a{sign}b") == visible_code(f"a{sign}b") == f"a{shown}b"


@pytest.mark.parametrize(
    "text",
    [
        "one\n\ttwo",
        "👩\u200d🚀 and ❤\ufe0f and 1\ufe0f\u20e3",
        "می\u200cخواهم",  # noqa: RUF001  # letters of other scripts are the subject
        "क्\u200dष",
        "naïve Straße 漢字 שלום مرحبا",
        "non\u00a0breaking",
    ],
)
def test_what_people_write_stays_in_prose(text: str) -> None:
    assert visible_text(text) == text


def test_a_line_end_of_windows_is_one_in_prose_and_is_shown_in_code() -> None:
    assert visible_text("a\r\nb\rc") == "a\nb\\x0dc"
    assert visible_code("a\r\nb") == "a\\x0d\nb"


def test_an_odd_blank_is_shown_in_code() -> None:
    assert visible_code("rm\u00a0-r\u3000x") == "rm\\xa0-r\\u3000x"


@given(ANY)
def test_nothing_is_left_that_steers_a_terminal_and_a_second_time_changes_nothing(
    text: str,
) -> None:
    for show in (visible_text, visible_code, visible_line):
        shown = show(text)
        assert show(shown) == shown
        assert not {"\x1b", "\r", "\x9b", "\u202e", "\u200b"} & set(shown)
    assert steers(visible_code(text)) == []


@given(ANY)
def test_text_without_what_is_unseen_stays(text: str) -> None:
    plain = "".join(sign for sign in text if unicodedata.category(sign)[0] not in "CZM")

    assert visible_code(plain.replace("\u3164", "")) == plain.replace("\u3164", "")


@given(ANY)
def test_json_is_read_as_before(text: str) -> None:
    visible = visible_json(json.dumps({text: [text]}, ensure_ascii=False))

    assert json.loads(visible) == {text: [text]}
    assert steers(visible) == []


def test_only_codes_that_colour_are_left_out_of_an_output() -> None:
    assert without_colours("\x1b[1;31mred\x1b[0m\x1b[2J") == "red\x1b[2J"


@given(ANY)
def test_markdown_gets_none_of_the_controls_either(text: str) -> None:
    assert not any(
        unicodedata.category(sign) == "Cc" and sign not in "\n\t" for sign in clean(text)
    )

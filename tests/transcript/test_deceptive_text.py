"""Warnings name what could deceive a reader of a call's input, with its place, and leave what people write alone."""

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.sample_size import thinned

from palimpsest.transcript.strings.deceptive_text import (
    MAX_SENTENCES,
    MORE_SENTENCE,
    deception_sentences,
)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"code": "x\nab\u202ecd"}, r"code, line 2, column 3: \u202e (RIGHT-TO-LEFT OVERRIDE)"),
        ({"code": "a\u200bb\nc\u200b"}, r"code, line 1, column 2; line 2, column 2: \u200b"),
        ({"code": "a\rb"}, r"code, line 1, column 2: \x0d"),
        ({"code": "# \x1b[2J"}, r"code, line 1, column 3: \x1b"),
        ({"code": "p\u0430yload = 1"}, "CYRILLIC SMALL LETTER A"),
        ({"code": "p\u03b1yload = 1"}, "GREEK SMALL LETTER ALPHA"),
        ({"code": "\U0001d41e\U0001d42f\U0001d41a\U0001d425(1)"}, "MATHEMATICAL BOLD SMALL E"),
        ({"code": "\uff45\uff56\uff41\uff4c(1)"}, "FULLWIDTH LATIN SMALL LETTER E"),
        ({"code": "x = 1" + " " * 60 + "; evil()"}, "column 66: text follows behind 60 blanks"),
        ({"code": "x = 1\t\t\t\t\t\tevil()"}, "text follows behind 48 blanks"),
        ({"code": "x" + "\u2800" * 45 + "evil()"}, "text follows behind 45 blanks"),
        ({"code": "ok\n" + " \n" * 25 + "evil()"}, "code, line 27: text follows behind 25 empty"),
        ({"code": "#" * 2_000}, "2,000 characters in one line"),
        ({"command": "ls \u037e rm"}, "GREEK QUESTION MARK) looks like ;"),
        ({"command": "cat \u2215etc"}, "DIVISION SLASH) looks like /"),
        ({"command": "echo \u201cx\u201d"}, 'looks like "'),
        ({"command": "ls\u00a0-l"}, "NO-BREAK SPACE) looks like a blank"),
        ({"calls": [{"cmd": "a \uff5c b"}]}, "calls[0].cmd, line 1, column 3"),
        ({"a\u200b": 1}, r"the name a\u200b, line 1, column 2"),
    ],
)
def test_what_deceives_is_named_with_its_place(values: dict[str, Any], words: str) -> None:
    assert words in "\n".join(deception_sentences(values))


@pytest.mark.parametrize(
    "text",
    [
        "# Привет, мир\nprint('данные')",
        "df['продажи'] = df_продажи + IT_отдел",
        "print('中文字符 日本語　テキスト Ｔシャツ')",
        "s = 'مرحبا بالعالم'  # می\u200cخواهم",  # noqa: RUF001  # letters of other scripts are the subject
        "'👩\u200d🚀 ❤\ufe0f 1\ufe0f\u20e3'",
        "Δt = σ_x * λ_max  # µm, x²",  # noqa: RUF001  # letters of other scripts are the subject
        "a\r\nb\r\n",
        "x\n" * 100,
        "foo = bar(a,\n" + " " * 45 + "b)",
        "naïve café Straße ñ",
        "x = 1      # a comment",
        "text\n\n\n" + "\n" * 30,
    ],
)
def test_what_people_write_is_not_named(text: str) -> None:
    assert deception_sentences({"code": text}) == ()


def test_a_commit_message_is_no_warning() -> None:
    assert deception_sentences({"command": "git commit -m 'It’s done — really'"}) == ()  # noqa: RUF001  # letters of other scripts are the subject


def test_only_so_many_sentences_are_said() -> None:
    many = deception_sentences({"code": " ".join(f"p\u0430y{'x' * n}" for n in range(100))})

    assert len(many) == MAX_SENTENCES + 1
    assert many[-1] == MORE_SENTENCE


DEEP = st.recursive(
    st.none() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@pytest.mark.soak  # with each commit what deceives is named with its place, above; this adds generated inputs
@given(st.dictionaries(st.text(), DEEP))
def test_every_input_is_looked_at_without_an_error(values: dict[str, Any]) -> None:
    assert all(
        deception.endswith(".") and "\n" not in deception
        for deception in deception_sentences(values)
    )


@pytest.mark.parametrize(
    "text",
    thinned(
        [
            " " * 1_000_000 + "\n" * 1_000_000,
            "\u200b" * 200_000,
            "p\u0430 " * 200_000,
            (" \n" * 19 + "x\n") * 30_000,
            "x\n" + " \t" * 400_000 + "\n\nx",
            " ".join(f"p\u0430{n}" for n in range(100_000)),
        ],
        6,
    ),
)
def test_no_input_takes_long(text: str) -> None:
    began = time.process_time()
    deception_sentences({"code": text, "command": text})

    assert time.process_time() - began < 20

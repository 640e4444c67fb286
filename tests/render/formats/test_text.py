"""Plain text shows the turn in a terminal, without control characters."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.render.sample_parts import (
    ASKS,
    DECISIONS,
    EVERYTHING,
    REPLIES,
    assistant,
    everywhere,
    ran,
    text,
    user,
)

from palimpsest.model.errors.classification import auth_sentence
from palimpsest.render.content.outline import OutlineNotes
from palimpsest.render.content.phrases import (
    count,
    duration,
    error_texts,
    gauge_bar,
    money,
    share_text,
    size_text,
)
from palimpsest.render.formats.text import render_message, render_session
from palimpsest.transcript.errors import AuthError, ContextOverflowError, UnknownError


def test_tells_a_session() -> None:
    answer = assistant(text("The **mean** is 4."), ran("python", "4.0", code="a = 2\nprint(a * 2)"))

    assert render_session((user("What is\nthe mean?"), answer), "Means") == (
        "Means\n=====\n\n> What is\n> the mean?\n\nThe **mean** is 4.\n\n"
        "✓ python · a = 2 · 0.2 s\n  │ a = 2\n  │ print(a * 2)\n    4.0\n"
    )


def test_tells_one_of_everything() -> None:
    drawn = render_message(assistant(*EVERYTHING), notes=OutlineNotes(ASKS, REPLIES, DECISIONS))

    for words in (
        "Thought for 3.2 s",
        "· 0.2 s · allowed once",
        "waiting for you: write data/penguins_clean.csv",
        "■ python · 1 / 0 · 1.4 s · stopped",
        "$0.012 · 4.1 s · ███▋",
        "--- A summary",
    ):
        assert words in drawn


@given(st.text(alphabet=st.characters(codec="utf-8")))
def test_sends_the_terminal_no_control_sign(words: str) -> None:
    drawn = render_message(assistant(*everywhere(f"\x1b[31m{words}\x1b]0;title\x07\x9b1m\u202e")))

    assert not any(sign < " " and sign != "\n" and sign != "\t" for sign in drawn)
    assert not any("\x7f" <= sign <= "\x9f" or sign == "\u202e" for sign in drawn)


def test_says_what_to_do_about_an_error() -> None:
    message = assistant(error=ContextOverflowError(message="The request does not fit."))

    assert render_message(message).endswith("or choose a model with a larger window.")


@pytest.mark.parametrize(
    ("shown", "words"),
    [
        (money(None), "cost unknown"),
        (money(0.0), "$0"),
        (money(0.0123), "$0.012"),
        (money(0.0002), "under $0.001"),
        (money(12.345), "$12.35"),
        (duration(0.21), "0.2 s"),
        (duration(59.99), "1 min"),
        (duration(185), "3 min 5 s"),
        (duration(7_260), "2 h 1 min"),
        (size_text(640), "640 bytes"),
        (size_text(12_345), "12.3 kB"),
        (size_text(4_000_000), "4.0 MB"),
        (count(1234567), "1,234,567"),
        (share_text(46_000, 200_000), "23% of 200k"),
        (share_text(100, 200_000), "under 1% of 200k"),
        (share_text(1_500, 1_200_000), "under 1% of 1.2M"),
        (gauge_bar(0, 100, 4), "····"),
        (gauge_bar(50, 100, 4), "██··"),
        (gauge_bar(53, 100, 4), "██▏·"),
        (gauge_bar(500, 100, 4), "████"),
    ],
)
def test_says_numbers_as_people_do(shown: str, words: str) -> None:
    assert shown == words


def test_names_the_provider_whose_key_is_missing() -> None:
    from_provider = assistant().info.model_copy(
        update={"error": AuthError(provider="anthropic", message="No key.")}
    )

    drawn = render_message(assistant().model_copy(update={"info": from_provider}))

    assert drawn == (
        "✗ No key. Set the key of anthropic in the environment of the kernel and ask again."
    )


def test_says_once_where_a_key_belongs() -> None:
    what, do = error_texts(AuthError(provider="anthropic", message=auth_sentence("anthropic")))

    assert "Set the environment variable ANTHROPIC_API_KEY" in what
    assert do == "Then ask again, or use another model."


def test_a_draft_of_a_summary_is_told_apart_from_it() -> None:
    draft = text("Of the first part.").model_copy(update={"ignored": True})
    message = assistant(draft, text("Of all."))
    summary = message.model_copy(update={"info": message.info.model_copy(update={"summary": True})})

    drawn = render_message(summary)

    assert drawn.index("Summary so far") < drawn.index("Summary of what came before")


def test_a_summary_that_failed_is_not_told_as_one() -> None:
    message = assistant(text("Too short."))
    failed = {"summary": True, "error": UnknownError(message="The summary is too short.")}

    drawn = render_message(
        message.model_copy(update={"info": message.info.model_copy(update=failed)})
    )

    assert "Summary that was not used; nothing was cut" in drawn
    assert "Summary of what came before" not in drawn

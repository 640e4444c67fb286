"""A user notice is shown in every format, never as text of the answer."""

from tests.builders import Builder

from palimpsest.render.formats import html, markdown, text
from palimpsest.transcript.user_notices import user_notice, user_notice_text

build = Builder()
WORDS = "The hook <b>careful</b> failed. It was skipped."
PART = user_notice("prt_1", "ses_1", "msg_1", "hook", WORDS)


def test_stands_in_every_form_of_the_story() -> None:
    parts = [PART, build.text("Done.")]

    assert text.render_message(build.assistant(*parts)) == f"! {WORDS}\n\nDone."
    assert "<b>" not in markdown.render_message(build.assistant(*parts))
    assert "It was skipped" in markdown.render_message(build.assistant(*parts))
    assert "<b>careful" not in html.render_message(build.assistant(*parts))
    assert "It was skipped" in html.render_message(build.assistant(*parts))


def test_is_no_other_part() -> None:
    assert user_notice_text(PART) == WORDS
    assert user_notice_text(build.text("Done.")) is None
    assert user_notice_text(build.text("Note.", synthetic=True, ignored=True)) is None

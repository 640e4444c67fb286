"""Notices are for people: summary requests leave them out, except those of older logs, which were sent."""

from tests.builders import Builder

from palimpsest.context.conversion.transcript_text import serialize_messages
from palimpsest.transcript.user_notices import USER_NOTICE, user_notice, user_notice_text


def test_a_notice_is_left_out_of_what_is_summarised() -> None:
    build = Builder()
    notice = user_notice("prt_1", "ses_1", "msg_1", "hook", "The hook polite failed.")

    text = serialize_messages(
        (build.user("How many?"), build.assistant(notice, build.text("Three."))), 2_000
    )

    assert user_notice_text(notice) == "The hook polite failed."
    assert text == "[User]: How many?\n\n[Assistant]: Three."


def test_a_notice_of_an_older_log_is_told_as_it_was_sent() -> None:
    build = Builder()
    new = user_notice("prt_1", "ses_1", "msg_1", "hook", "The hook polite failed.")
    older = new.model_copy(update={"metadata": {USER_NOTICE: "hook"}})

    text = serialize_messages((build.assistant(older, build.text("Three.")),), 2_000)

    assert text == "[Assistant]: The hook polite failed.\n[Assistant]: Three."

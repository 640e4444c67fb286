"""The state of a conversation is reconstructed from the request alone."""

import pytest

from palimpsest.model.wire.provider_messages import MEDIA_NOTICE
from palimpsest.rehearsal.parsing.conversation import read_conversation


def test_takes_no_note_about_a_figure_for_a_prompt() -> None:
    call = {"id": "c", "function": {"name": "python", "arguments": "{}"}}
    note = [
        {"type": "text", "text": MEDIA_NOTICE},
        {"type": "text", "text": "[figure.png (image/png) was left out. Tell the user.]"},
    ]
    asked: tuple[dict[str, object], ...] = (
        {"role": "user", "content": "Plot it."},
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "done"},
        {"role": "user", "content": note},
    )

    assert [turn.prompt for turn in read_conversation(asked).turns] == ["Plot it."]


@pytest.mark.parametrize(
    "sent",
    [
        "plot it\n\n<variables>\n- df: DataFrame\n</variables>",
        "plot it\n\n<note>It is Sat Nov 21 2026 now.</note>\n\n<variables>\n- df\n</variables>",
        "<note>The user wrote this while you were at work.</note>\n\nplot it",
        "<system-reminder>\nThe user sent the following message:\nplot it\n\nPlease address this.\n</system-reminder>",
        [{"type": "text", "text": "plot it"}, {"type": "text", "text": "<note>It is late.</note>"}],
    ],
)
def test_what_the_engine_says_beside_a_prompt_is_no_part_of_it(sent: object) -> None:
    conversation = read_conversation(({"role": "user", "content": sent},))

    assert conversation.current.prompt == "plot it"


def test_a_prompt_about_tags_stays_whole() -> None:
    words = "what does <note>this</note> mean"

    assert read_conversation(({"role": "user", "content": words},)).current.prompt == words

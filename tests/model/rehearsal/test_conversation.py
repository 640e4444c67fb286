"""A conversation is read back from the request alone."""

from palimpsest.model.rehearsal.conversation import read_conversation
from palimpsest.model.wire import MEDIA_NOTICE


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

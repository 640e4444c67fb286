"""One walk through an event takes secrets out of it, and joins or replaces halves of surrogate pairs."""

from functools import partial
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from palimpsest.transcript.parts import Span, TextPart, ToolCompleted, ToolPart
from palimpsest.transcript.redaction.secret_patterns import REDACTED, scrub
from palimpsest.transcript.redaction.secret_removal import OPAQUE_FIELDS, redacted_event
from palimpsest.transcript.session_record.events import PartUpdated
from palimpsest.transcript.strings.surrogates import with_joined_surrogates

SECRET = "swordfish-swordfish"
clean = partial(scrub, values=(SECRET,))
words = st.sampled_from(
    ["", "plain", "Grüße", "\ud83d\ude00", "\ud83d", f"{SECRET} \udc00", SECRET]
)
names = st.sampled_from([*sorted(OPAQUE_FIELDS), "signature\ud83d", "id", "words", "token"])
values = st.recursive(
    words | st.none() | st.integers(0, 3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=8,
)


def event(identifier: str, told: dict[str, Any], said: str) -> PartUpdated:
    state = ToolCompleted(input=told, output=said, metadata=told, time=Span(start=1, end=2))
    part = ToolPart(
        id=identifier, session_id="s", message_id="m", call_id=said, tool="bash", state=state
    )
    return PartUpdated(part=part)


@given(words, st.dictionaries(names, values, max_size=3), words)
def test_it_says_what_joining_first_and_looking_for_secrets_then_says(
    identifier: str, told: dict[str, Any], said: str
) -> None:
    given_event = event(identifier, told, said)
    redacted = redacted_event(given_event, clean)

    assert redacted.model_dump_json()
    assert redacted == redacted_event(with_joined_surrogates(given_event), clean)
    assert redacted_event(redacted, clean) is redacted


def test_what_providers_need_unchanged_keeps_what_looks_like_a_secret() -> None:
    told = {"encrypted_content": {"token": SECRET}, "words": {"token": SECRET}}
    part = TextPart(id="p", session_id="s", message_id="m", text="\ud83d\ude00", metadata=told)
    [shown] = [redacted_event(PartUpdated(part=part), clean)]

    assert isinstance(shown, PartUpdated)
    assert isinstance(shown.part, TextPart)
    assert shown.part.text == "\N{GRINNING FACE}"
    assert shown.part.metadata == {
        "encrypted_content": {"token": SECRET},
        "words": {"token": REDACTED},
    }

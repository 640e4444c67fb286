"""Messages of parts become the provider messages that the recorded OpenCode made of them.

Each release is compared under its preset. Intended differences are rules over the case.
"""

from typing import Any

import pytest
from tests.golden.data import load
from tests.golden.modelmessages import anonymous, flat_of, model_of, provider
from tests.golden.upstream import message

from palimpsest.context.conversion.part_conversion import neutral_messages
from palimpsest.context.policy_overrides import preset_policy
from palimpsest.context.reduction.applied_decisions import apply_decisions
from palimpsest.context.visible_messages import View
from palimpsest.transcript.context_values.decisions import Decision
from palimpsest.transcript.context_values.neutral_messages import NeutralMessage, NeutralMessages
from palimpsest.transcript.messages import AssistantMessage, Message, Messages

Case = dict[str, Any]
Session = list[dict[str, Any]]


def state(part: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = part.get("state") or {}
    return found


def provider_ran_a_tool(session: Session, _case: Case) -> bool:
    """Return whether a provider executed one of the calls itself.

    The recorded agent sends such a result inside the answer, and the seed documents' version keeps its
    metadata; OpenAI's format, in which our requests are built, has neither, so the result is sent as any
    other.
    """
    return any(
        (part.get("metadata") or {}).get("providerExecuted")
        for one in session
        for part in one["parts"]
    )


def later_release_moves_media(session: Session, case: Case) -> bool:
    """Return whether release 1.1.65 moved media out of results, unlike the preset's 1.1.34."""
    attached = any(
        state(part).get("attachments") and not is_cleared(part)
        for one in session
        for part in one["parts"]
    )
    return attached and case["model"] != "anthropic"


def is_cleared(part: dict[str, Any]) -> bool:
    return bool((state(part).get("time") or {}).get("compacted"))


def seen(session: Session) -> Messages:
    """Return the visible messages of a recorded session: outputs marked as cleared are cleared."""
    messages = tuple(map(renamed, map(message, session)))
    cleared = tuple(
        Decision(id=part["id"], action="clear", rule="recorded", part_id=part["id"])
        for one in session
        for part in one["parts"]
        if is_cleared(part)
    )
    return apply_decisions(messages, View(messages, cleared))


def renamed(one: Message) -> Message:
    """Return the message with our name of its model's provider."""
    if not isinstance(one.info, AssistantMessage):
        return one
    ref = one.info.model.model_copy(update={"provider": provider(one.info.model.provider)})
    return one.model_copy(update={"info": one.info.model_copy(update={"model": ref})})


def converted(session: Session, case: Case, models: dict[str, Any], preset: str) -> NeutralMessages:
    options = case.get("options") or {}
    return anonymous(
        neutral_messages(
            seen(session),
            model_of(models[case["model"]]).ref,
            preset_policy(preset).convert,
            strip_media=options.get("stripMedia", False),
            result_chars=options.get("toolOutputMaxChars"),
        )
    )


def without_metadata(messages: NeutralMessages) -> NeutralMessages:
    """Return messages with each result right after its call's answer, and without metadata."""
    plain: list[NeutralMessage] = []
    for one in messages:
        blocks = [
            block.model_copy(update={"metadata": None}) if hasattr(block, "metadata") else block
            for block in one.blocks
        ]
        results = [block for block in blocks if block.type == "result"]
        said = [block for block in blocks if block.type != "result"]
        if said:
            plain.append(NeutralMessage(role=one.role, blocks=tuple(said)))
        if results:
            plain.append(NeutralMessage(role="tool", blocks=tuple(results)))
    return tuple(plain)


def without_media(messages: NeutralMessages) -> NeutralMessages:
    """Return messages without media in results, and without the messages that hold it instead."""
    return tuple(
        one.model_copy(
            update={
                "blocks": tuple(
                    block.model_copy(update={"media": ()}) if block.type == "result" else block
                    for block in one.blocks
                )
            }
        )
        for before, one in zip((None, *messages), messages, strict=False)
        if one.role != "user" or before is None or before.role != "tool" or not holds_media(one)
    )


def holds_media(one: NeutralMessage) -> bool:
    return any(block.type == "media" for block in one.blocks)


@pytest.mark.parametrize(
    ("recording", "preset"),
    [
        ("to_model_messages", "opencode-1.18"),
        ("seed-era-1.1.34/to_model_messages", "opencode-1.1"),
        ("seed-era-1.1.65/to_model_messages", "opencode-1.1"),
    ],
)
def test_every_recorded_session_becomes_the_recorded_messages(recording: str, preset: str) -> None:
    sessions = load("opencode", "sessions")
    models = load("opencode", "to_model_messages")["models"]
    apart = 0
    cases = load("opencode", recording)["cases"]

    for case in cases:
        session = sessions[case["session"]]
        ours = converted(session, case, models, preset)
        theirs = flat_of(case["output"])
        named = case["session"], case["model"], case.get("options")
        if provider_ran_a_tool(session, case):
            apart += 1
            assert without_metadata(ours) == without_metadata(theirs), named
        elif recording.startswith("seed-era-1.1.65") and later_release_moves_media(session, case):
            apart += 1
            assert without_media(ours) == without_media(theirs), named
        else:
            assert ours == theirs, named
    assert len(cases) > 5 * apart

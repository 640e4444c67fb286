"""Pinned parts are in every later request, excluded ones in none, and restored ones are as before."""

import json
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.builders import INFO, SESSION, Builder
from tests.context.laws import laws
from tests.sample_size import sample_size

from palimpsest.context.presets import PRESETS
from palimpsest.context.request_assembly.projection import project
from palimpsest.context.visible_messages import View
from palimpsest.session.controls.context_edits import ContextEditor
from palimpsest.transcript.context_values.decisions import Decision
from palimpsest.transcript.context_values.neutral_messages import NeutralMessages
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.messages import Message, Messages
from palimpsest.transcript.parts import CompactionPart, ReasoningPart, TextPart, ToolPart
from palimpsest.transcript.provider_profile.recorded_agents import ProviderFamily
from palimpsest.transcript.values import ModelRef

DEFAULT = PRESETS["palimpsest"]
MODELS: dict[ProviderFamily, ModelRef] = {
    "openai": ModelRef(provider="openai", name="gpt-test"),
    "anthropic": ModelRef(provider="anthropic", name="claude-test"),
    "google": ModelRef(provider="gemini", name="gemini-test"),
    "mistral": ModelRef(provider="mistral", name="mistral-test"),
    "compatible": ModelRef(provider="ollama_chat", name="test"),
}


def request(
    view: View, policy: Policy = DEFAULT, family: ProviderFamily = "openai"
) -> NeutralMessages:
    """Return the messages that would be sent to a model."""
    info = INFO.model_copy(update={"ref": MODELS[family]})
    projection = project(view, system=("Be kind.",), tools=(), model=info, policy=policy, count=len)
    return projection.messages


def words(messages: NeutralMessages) -> str:
    return json.dumps([message.model_dump() for message in messages], ensure_ascii=False)


def edited(view: View, action: Any, name: str, ids: Callable[[], str]) -> View:
    """Return the view after a person's context edit."""
    made = ContextEditor(view.messages, view.decisions, ids, lambda _: 1).edit_context(action, name)
    return View(view.messages, (*view.decisions, *made.decisions), view.texts)


def numbered() -> Callable[[], str]:
    numbers = count()
    return lambda: f"dec_{next(numbers)}"


Saying = TextPart | ReasoningPart | ToolPart


def said(part: Saying) -> str:
    """Return the text that only this part has."""
    return f"output of {part.id}" if isinstance(part, ToolPart) else part.text


TURN = st.lists(st.sampled_from(["text", "read", "python"]), min_size=1, max_size=4)


def history(turns: list[list[str]], compacted: int | None) -> Messages:
    """Build turns of answers and calls; a good summary covers the first ``compacted`` turns."""
    build = Builder()
    messages: list[Message] = []
    for number, turn in enumerate(turns):
        if number == compacted:
            marker = CompactionPart(
                id=build.id("prt"), session_id=SESSION, message_id="msg_pending", auto=True
            )
            asks = build.user(marker)
            messages += [asks, build.assistant("The summary.", to=asks, summary=True)]
        prompt = build.user(f"prompt {number}.")
        messages.append(prompt)
        for step, kind in enumerate(turn):
            if kind == "text":
                messages.append(build.assistant(f"answer {number}/{step}.", to=prompt))
                continue
            call = build.ran(kind, "")
            state = call.state.model_copy(update={"output": f"output of {call.id}"})
            thought = build.thought(f"thought before {call.id}.")
            called = call.model_copy(update={"state": state})
            messages.append(build.assistant(thought, called, to=prompt, finish="tool-calls"))
    messages.append(build.user("The newest prompt."))
    return tuple(messages)


def sayings(messages: Messages) -> list[Saying]:
    """Return the parts that a person can edit, without the newest prompt."""
    return [
        part
        for message in messages[:-1]
        for part in message.parts
        if isinstance(part, Saying) and not getattr(message.info, "summary", None)
    ]


POLICIES_TRIED = (
    DEFAULT,
    DEFAULT.model_copy(update={"history_limit": 2}),
    PRESETS["openclaw-2026.9"].model_copy(update={"history_limit": 1}),
    PRESETS["opencode-1.18"],
)


@settings(max_examples=sample_size(40, 2_400), deadline=None)
@given(
    turns=st.lists(TURN, min_size=1, max_size=5),
    compacted=st.none() | st.integers(1, 4),
    choices=st.lists(st.tuples(st.integers(0, 30), st.booleans()), max_size=6),
    policy=st.sampled_from(POLICIES_TRIED),
    family=st.sampled_from(list(MODELS)),
)
def test_pins_are_in_every_request_exclusions_in_none_and_restoring_gives_what_was(
    turns: list[list[str]],
    compacted: int | None,
    choices: list[tuple[int, bool]],
    policy: Policy,
    family: ProviderFamily,
) -> None:
    messages = history(turns, compacted)
    parts = sayings(messages)
    view, ids = View(messages), numbered()
    before = request(view, policy, family)
    wanted: dict[str, bool] = {}
    for at, keep in choices:
        part = parts[at % len(parts)]
        view = edited(view, "pin" if keep else "exclude", part.id, ids)
        wanted[part.id] = keep

    sent = words(request(view, policy, family))

    by_id = {part.id: part for part in parts}
    for part_id, keep in wanted.items():
        assert (said(by_id[part_id]) in sent) is keep
    if policy.name == "palimpsest":
        for law in laws(family):
            assert law.broken(request(view, policy, family)) == []
    for part_id, keep in wanted.items():
        view = edited(view, "unpin" if keep else "restore", part_id, ids)
    assert request(view, policy, family) == before


@settings(max_examples=sample_size(30, 1_200), deadline=None)
@given(
    turns=st.lists(TURN, min_size=1, max_size=4),
    gone=st.lists(st.integers(0, 12), min_size=1, max_size=20),
    family=st.sampled_from(list(MODELS)),
)
def test_whole_messages_left_out_leave_a_valid_request(
    turns: list[list[str]], gone: list[int], family: ProviderFamily
) -> None:
    messages = history(turns, None)
    view, ids = View(messages), numbered()
    for at in gone:
        view = edited(view, "exclude", messages[at % len(messages)].id, ids)

    sent = request(view, family=family)

    for law in laws(family):
        assert law.broken(sent) == []
    assert "The newest prompt." in words(sent)
    left_out = {messages[at % len(messages)].id for at in gone} - {messages[-1].id}
    assert not left_out & {message.message_id for message in sent}


def simple() -> tuple[Messages, ToolPart]:
    build = Builder()
    asks = build.user("Read it.")
    call = build.ran("read", "x,y\n1,2", path="a.csv")
    looks = build.assistant(build.thought("Hm."), call, to=asks, finish="tool-calls")
    answers = build.assistant("Two columns.", to=asks)
    messages = (asks, looks, answers, build.user("And now?"))
    return messages, messages[1].parts[1]  # type: ignore[return-value]


def test_a_call_goes_together_with_its_result_and_the_thought_before_it() -> None:
    messages, call = simple()

    sent = request(edited(View(messages), "exclude", call.id, numbered()))

    assert [message.role for message in sent] == ["system", "user", "assistant", "user"]
    assert "Hm." not in words(sent)


def test_a_pinned_output_behind_a_summary_is_quoted_after_it() -> None:
    messages, call = simple()
    build = Builder()
    build.count = 100
    marker = CompactionPart(id="prt_m", session_id=SESSION, message_id="m", auto=True)
    asks = build.user(marker)
    summary = build.assistant("They read a.csv.", to=asks, summary=True)
    view = View((*messages, asks, summary, build.user("Go on.")))

    sent = request(edited(view, "pin", call.id, numbered()))

    assert [message.role for message in sent] == ["system", "user", "assistant", "user", "user"]
    assert sent[3].blocks[0].model_dump()["text"] == (
        "Kept at the user's request, from earlier in this conversation. Your call "
        'read({"path":"a.csv"}) returned:\n\nx,y\n1,2'
    )
    assert sent[3].blocks[0].part_id == call.id


@pytest.mark.parametrize(
    ("first", "second", "shown"),
    [
        ("pin", "exclude", False),
        ("exclude", "pin", True),
    ],
)
def test_of_two_wishes_the_newer_holds(first: str, second: str, *, shown: bool) -> None:
    messages, call = simple()
    ids = numbered()

    view = edited(edited(View(messages), first, call.id, ids), second, call.id, ids)
    whole = edited(edited(View(messages), first, messages[1].id, ids), second, call.id, ids)

    assert ("x,y" in words(request(view))) is shown
    assert ("x,y" in words(request(whole))) is shown


def test_a_pin_that_is_taken_off_leaves_what_was_there_before() -> None:
    messages, call = simple()
    ids = numbered()
    clear = Decision(
        id="c", action="clear", rule="prune/batch", part_id=call.id, message_id=messages[1].id
    )
    cleared = View(messages, (clear,))

    pinned = edited(cleared, "pin", call.id, ids)

    assert "x,y" in words(request(pinned))
    assert request(edited(pinned, "unpin", call.id, ids)) == request(cleared)
    assert "x,y" in words(request(edited(cleared, "restore", call.id, ids)))


def test_an_undone_compaction_shows_what_was_there_without_it() -> None:
    build = Builder()
    asks = build.user("First.")
    answers = build.assistant("One.", to=asks)
    marker = CompactionPart(id="prt_m", session_id=SESSION, message_id="m", auto=True)
    compacts = build.user(marker)
    summary = build.assistant("A summary.", to=compacts, summary=True)
    goes_on = build.user(
        build.text("Go on.", synthetic=True, metadata={"compaction_continue": True})
    )
    later = build.user("Second.")
    view = View((asks, answers, compacts, summary, goes_on, later))

    undone = edited(view, "undo", "", numbered())

    assert "One." not in words(request(view))
    assert request(undone) == request(View((asks, answers, later)))

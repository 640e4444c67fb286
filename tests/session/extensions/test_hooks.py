"""Hooks take part in a session, and their effects are in the log."""

import asyncio
import json
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.harness.session import SessionHarness, ask, requested
from tests.waiting import LAST_RESORT_SECONDS, beating

from palimpsest.model.script import calls, says
from palimpsest.model.tokenizer import counter
from palimpsest.recordings.reconstruction.redecision import redecide
from palimpsest.recordings.reconstruction.requests import rebuild
from palimpsest.review.context_report.report_builder import build_recorded_report
from palimpsest.session.extensions.hooks import HookRegistry, HookSource, mark_hook
from palimpsest.session.interfaces.prompt_answer import PromptOptions
from palimpsest.session.open_sessions.live_session import LiveSession
from palimpsest.testing import ScriptedModel
from palimpsest.tools.permission_rules.permissions import from_config
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.parts import ToolCompleted, ToolFailed, ToolPart
from palimpsest.transcript.session_record.hook_values import Compacting, Refuse
from palimpsest.transcript.user_notices import user_notice_text

ALLOWED = from_config("allow", home="/home/ada")


def make_harness(
    tmp_path: Path, model: ScriptedModel, *hooks: tuple[str, Any], **more: Any
) -> SessionHarness:
    book = HookRegistry(with_packages=False, seconds=more.pop("seconds", 5.0))
    for name, function in hooks:
        book.add(name, function, "a test")  # type: ignore[arg-type]
    return SessionHarness(tmp_path, model, rules=ALLOWED, hooks=book, **more)


def notices(session: LiveSession) -> list[str]:
    parts = (part for message in session.snapshot().messages for part in message.parts)
    return [words for part in parts if (words := user_notice_text(part)) is not None]


def tools(session: LiveSession) -> list[ToolPart]:
    parts = (part for message in session.snapshot().messages for part in message.parts)
    return [part for part in parts if isinstance(part, ToolPart)]


async def all_rebuilt(harness: SessionHarness, session: LiveSession, model: ScriptedModel) -> bool:
    """Return whether every request is rebuilt from the log as it was sent."""
    events = requested(await harness.records(session))
    rebuilt = [rebuild(harness.store, session.id, event.request.id) for event in events]
    sent = [request.messages for request in model.requests]
    return (
        all(rebuilt_request.matches for rebuilt_request in rebuilt)
        and [rebuilt_request.request.messages for rebuilt_request in rebuilt] == sent
    )


async def test_a_prompt_hook_says_something_beside_the_prompt(tmp_path: Path) -> None:
    seen = []

    def remind(event: Any) -> str:
        seen.append((event.text, event.agent, event.model))
        return "Today is market day."

    model = ScriptedModel(says("Good."), says("Fine."))
    harness = make_harness(tmp_path, model, ("prompt", remind))
    session = await harness.session()

    await ask(session, "Hello")
    await ask(session, "And now?")

    assert seen == [
        ("Hello", "build", "scripted/model"),
        ("And now?", "build", "scripted/model"),
    ]
    assert str(model.requests[1].messages).count("Today is market day.") == 2
    parts = session.snapshot().messages[0].parts
    assert [part.metadata for part in parts if getattr(part, "synthetic", False)][-1] == {
        "hook": "hook/remind"
    }
    assert await all_rebuilt(harness, session, model)


async def test_a_system_hook_is_asked_once_and_its_words_stay(tmp_path: Path) -> None:
    asked = []

    async def polite(event: Any) -> list[str]:
        asked.append(event)
        return ["Say please.", f"Number {len(asked)}."]

    model = ScriptedModel(says("Yes."), says("Yes."))
    harness = make_harness(tmp_path, model, ("system", polite))
    session = await harness.session()

    await ask(session, "One")
    await ask(session, "Two")

    first, second = (request.messages[0] for request in model.requests)
    assert first == second
    assert "Further instructions:\nSay please.\n\nNumber 1." in str(first["content"]).replace(
        "\\n", "\n"
    )
    assert len(asked) == 1
    assert await all_rebuilt(harness, session, model)


async def test_a_hook_changes_what_a_call_is_given_and_the_call_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("the real one")
    (tmp_path / "b.txt").write_text("another")

    def steer(event: Any) -> dict[str, Any] | None:
        return {"path": "a.txt"} if event.arguments.get("path") == "b.txt" else None

    model = ScriptedModel(calls("read", path="b.txt"), says("Read."))
    harness = make_harness(tmp_path, model, ("tool_before", steer))
    session = await harness.session()

    await ask(session, "Read b")

    (part,) = tools(session)
    assert isinstance(part.state, ToolCompleted)
    assert "the real one" in part.state.output
    assert part.state.input == {"path": "b.txt"}
    assert part.state.metadata["changed_input"] == {"path": "a.txt"}
    assert part.state.metadata["changed_by"] == "hook/steer"
    assert await all_rebuilt(harness, session, model)


async def test_a_hook_can_refuse_a_call_with_a_reason(tmp_path: Path) -> None:
    def careful(event: Any) -> Refuse | None:
        return Refuse("not on a Friday") if event.tool == "bash" else None

    model = ScriptedModel(calls("bash", command="echo hi", description="x"), says("Then not."))
    session = await make_harness(tmp_path, model, ("tool_before", careful)).session()

    await ask(session, "Go")

    (part,) = tools(session)
    assert isinstance(part.state, ToolFailed)
    assert part.state.error == "The hook careful did not let this call run: not on a Friday"
    assert "not on a Friday" in str(model.requests[1].messages)


async def test_a_hook_changes_what_a_tool_returned_and_the_old_words_are_kept(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.txt").write_text("Ada owes 5")

    def mask(event: Any) -> str:
        return str(event.output).replace("Ada", "[name]")

    model = ScriptedModel(calls("read", path="a.txt"), says("Read."))
    harness = make_harness(tmp_path, model, ("tool_after", mask))
    session = await harness.session()

    await ask(session, "Read a")

    (part,) = tools(session)
    assert isinstance(part.state, ToolCompleted)
    assert "[name] owes 5" in part.state.output
    assert "Ada owes 5" in part.state.metadata["output_before"]
    assert "Ada" not in str(model.requests[1].messages)
    assert await all_rebuilt(harness, session, model)


async def test_decisions_of_a_hook_are_journaled_under_its_name_and_taken_as_given(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.txt").write_text("long " * 400)

    def tidy(event: Any) -> list[dict[str, Any]]:
        return [
            {"action": "clear", "part_id": part.id, "text": "[read before]"}
            for message in event.messages
            for part in message.parts
            if isinstance(part, ToolPart) and isinstance(part.state, ToolCompleted)
        ]

    model = ScriptedModel(calls("read", path="a.txt"), says("One."), says("Two."))
    harness = make_harness(tmp_path, model, ("decide", tidy))
    session = await harness.session()
    await ask(session, "Read a")
    await ask(session, "Again")

    (decision,) = session.decisions()
    assert (decision.action, decision.rule) == ("clear", "hook/tidy")
    assert decision.tokens_before > 300 > decision.tokens_after
    assert "[read before]" in str(model.requests[1].messages)
    await session.journal.flush()
    again = redecide(harness.store, session.id)
    assert again.is_same
    assert again.hook_decisions == 1
    assert "1 more were given by hooks" in again.text
    assert await all_rebuilt(harness, session, model)


async def test_what_a_person_brought_back_a_hook_does_not_take_again(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("long " * 400)

    def tidy(event: Any) -> list[dict[str, Any]]:
        parts = [part for message in event.messages for part in message.parts]
        return [{"action": "clear", "part_id": p.id} for p in parts if isinstance(p, ToolPart)]

    model = ScriptedModel(calls("read", path="a.txt"), says("One."), says("Two."))
    session = await make_harness(tmp_path, model, ("decide", tidy)).session()
    await ask(session, "Read a")

    session.edit_context("restore", tools(session)[0].id)
    await ask(session, "Again")

    assert "long long" in str(model.requests[2].messages)


async def test_whole_messages_make_a_request_opaque_and_it_is_stored_whole(tmp_path: Path) -> None:
    def rewrite(event: Any) -> list[dict[str, Any]]:
        return [event.messages[0], {"role": "user", "content": "Say boo."}]

    model = ScriptedModel(says("Boo."), says("Boo."))
    harness = make_harness(tmp_path, model, ("request", rewrite))
    session = await harness.session()

    await ask(session, "Hello")
    await ask(session, "Hello again")

    assert model.requests[0].messages[1:] == ({"role": "user", "content": "Say boo."},)
    (first, second) = requested(await harness.records(session))
    assert first.request.opaque is not None
    assert first.request.opaque_by == "hook/rewrite"
    assert (
        json.loads(harness.store.get_blob(first.request.opaque.sha256))[1]["content"] == "Say boo."
    )
    rebuilt = rebuild(harness.store, session.id, second.request.id)
    assert rebuilt.opaque_by == "hook/rewrite"
    assert await all_rebuilt(harness, session, model)
    assert redecide(harness.store, session.id).is_same


async def test_a_hook_tells_a_summary_what_to_keep(tmp_path: Path) -> None:
    def keep(_event: Any) -> Compacting:
        return Compacting(context=("Keep the name of the ship.",))

    model = ScriptedModel(says("The ship is called Ada."), says("## Goal\n- " + "word " * 60))
    harness = make_harness(tmp_path, model, ("compacting", keep))
    session = await harness.session()
    await ask(session, "What is its name?")

    await asyncio.wait_for(session.compact(), LAST_RESORT_SECONDS)

    asked = str(model.requests[1].messages)
    assert asked.rstrip("'}),").endswith("Keep the name of the ship.")
    assert "<template>" in asked
    assert await all_rebuilt(harness, session, model)
    assert redecide(harness.store, session.id).is_same


def nonsense(name: str) -> Callable[[Any], Any]:
    def answer(_event: Any) -> Any:
        return 7

    answer.__name__ = f"odd_{name}"
    return answer


async def test_nonsense_is_skipped_and_said_once_in_a_turn(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    names = ("prompt", "system", "tool_before", "tool_after", "decide", "request")
    hooks = [(name, nonsense(name)) for name in names]
    model = ScriptedModel(
        calls("read", path="a.txt"), calls("read", path="a.txt"), says("Read."), says("Yes.")
    )
    harness = make_harness(tmp_path, model, *hooks)
    session = await harness.session()

    answer = await ask(session, "Read it twice")

    assert answer.text == "Read."
    sentences = notices(session)
    assert sorted(words.split()[3] for words in sentences) == sorted(f"({name})" for name in names)
    assert "The hook odd_decide (decide) answered what cannot be used" in " ".join(sentences)
    assert all(words.endswith("It was skipped.") for words in sentences)
    assert "It was skipped" not in str([request.messages for request in model.requests])
    await ask(session, "Another turn")
    assert sum("odd_decide" in words for words in notices(session)) == 2
    assert await all_rebuilt(harness, session, model)


async def test_a_failing_hook_costs_a_sentence_and_never_a_turn(tmp_path: Path) -> None:
    def broken(_event: Any) -> None:
        raise ValueError("no such column")

    def leaves(_event: Any) -> None:
        sys.exit("bye")

    model = ScriptedModel(says("Fine."))
    session = await make_harness(tmp_path, model, ("prompt", broken), ("prompt", leaves)).session()

    answer = await ask(session, "Hello")

    assert answer.text == "Fine."
    assert answer.error is None
    assert notices(session) == [
        "The hook broken (prompt) failed: ValueError: no such column. It was skipped.",
        "The hook leaves (prompt) failed: RuntimeError: SystemExit. It was skipped.",
    ]


@pytest.mark.slow
async def test_a_slow_hook_neither_holds_the_engine_nor_the_turn(tmp_path: Path) -> None:
    go_on = threading.Event()

    def slow(_event: Any) -> str:
        go_on.wait(LAST_RESORT_SECONDS)
        return "too late"

    model = ScriptedModel(says("Fine."))
    session = await make_harness(tmp_path, model, ("prompt", slow), seconds=0.5).session()
    try:
        async with beating() as beats:
            answer = await ask(session, "Hello")
    finally:
        go_on.set()

    assert answer.text == "Fine."
    assert beats.count > 10
    assert notices(session) == [
        "The hook slow (prompt) took longer than 0.5 seconds. It was skipped."
    ]
    assert "too late" not in str(model.requests[0].messages)


async def test_a_hook_cannot_change_the_session_behind_its_back(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")

    def spoil(event: Any) -> None:
        event.arguments["path"] = "other.txt"

    model = ScriptedModel(calls("read", path="a.txt"), says("Read."))
    session = await make_harness(tmp_path, model, ("tool_before", spoil)).session()

    await ask(session, "Read")

    (part,) = tools(session)
    assert isinstance(part.state, ToolCompleted)
    assert part.state.input == {"path": "a.txt"}


async def test_hooks_are_loaded_from_where_the_settings_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_hooks_for_test.py").write_text(
        "import palimpsest\n"
        "def prompt(event):\n    return 'by its name'\n"
        "@palimpsest.hook('prompt')\ndef other(event):\n    return 'by its mark'\n"
        "def third(event):\n    return 'by the table'\n"
        "palimpsest.unhook(other)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    module = "my_hooks_for_test"
    sources = [
        HookSource(f"{module}:prompt"),
        HookSource(f"{module}:other"),
        HookSource(f"{module}:third", "prompt"),
        HookSource(f"{module}:third"),
        HookSource(f"{module}:nothing", "prompt"),
        HookSource("no_such_module_here:f", "prompt"),
        HookSource("nonsense", "prompt"),
    ]
    model = ScriptedModel(says("Fine."))
    harness = SessionHarness(tmp_path, model, hooks=HookRegistry(sources, with_packages=False))
    session = await harness.session()

    await ask(session, "Hello")

    sent = str(model.requests[0].messages)
    assert [f"by {words}" in sent for words in ("its name", "its mark", "the table")] == [True] * 3
    sentences = notices(session)
    assert len(sentences) == 4
    assert "nothing says which hook it is" in sentences[0]
    assert "there is no 'nothing' in 'my_hooks_for_test'" in sentences[1]
    assert "No module named 'no_such_module_here'" in sentences[2]
    assert "not of the form 'package.module:function'" in sentences[3]


async def test_the_window_of_an_opaque_request_says_whose_it_is(tmp_path: Path) -> None:
    def rewrite(event: Any) -> list[dict[str, Any]]:
        return [event.messages[0], {"role": "user", "content": "Say boo."}]

    model = ScriptedModel(says("Boo."))
    harness = make_harness(tmp_path, model, ("request", rewrite))
    session = await harness.session()
    await ask(session, "Hello")
    (event,) = requested(await harness.records(session))

    report = build_recorded_report(harness.store, session.id, event.request.id, counter)

    assert report.opaque_by == "hook/rewrite"
    assert [item.words for item in report.items if item.kind == "user"] == ["Say boo."]
    assert "hook/rewrite wrote this request: it is stored whole" in report.text
    assert abs(report.used_tokens - event.request.tokens) <= 2


async def test_a_request_that_would_not_be_accepted_is_not_sent(tmp_path: Path) -> None:
    bad: list[Any] = [
        [],
        "words",
        [{"role": "robot", "content": "x"}],
        [{"role": "user", "content": ""}],
        [{"role": "system", "content": "only this"}],
        [{"role": "user", "content": "x"}, {"role": "tool", "tool_call_id": "1", "content": "y"}],
        [{"role": "user", "content": {1, 2}}],
        [{"role": "user", "content": "word " * 200_000}],
        [
            {"role": "user", "content": "x"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "1", "function": {"name": "read", "arguments": "{}"}}],
            },
        ],
    ]
    answers = iter(bad)
    model = ScriptedModel(*(says("Fine.") for _ in bad))
    harness = make_harness(tmp_path, model, ("request", lambda _: next(answers)))
    session = await harness.session()

    for number in range(len(bad)):
        await ask(session, f"Prompt {number}")

    assert all(event.request.opaque is None for event in requested(await harness.records(session)))
    assert len(notices(session)) == len(bad)
    assert await all_rebuilt(harness, session, model)


async def test_half_a_character_in_a_system_prompt_is_sent_whole_and_kept(tmp_path: Path) -> None:
    model = ScriptedModel(says("Done."))
    harness = make_harness(tmp_path, model, ("system", lambda _event: "From a hook: \ud800."))
    session = await harness.session()

    answer = await session.prompt("Go.", PromptOptions(system="From a person: \ud83d."))

    assert answer.text == "Done."
    assert await rebuilt_as_recorded(harness, session)


async def rebuilt_as_recorded(harness: SessionHarness, session: LiveSession) -> bool:
    events = requested(await harness.records(session))
    return all(rebuild(harness.store, session.id, event.request.id).matches for event in events)


def test_what_cannot_be_called_is_no_hook() -> None:
    with pytest.raises(UserError, match="5 is no function"):
        mark_hook(5, "prompt")  # type: ignore[arg-type]

"""A turn runs steps until the newest user message is answered."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.harness.session import SessionHarness, ask, requested, until
from tests.waiting import LAST_RESORT_SECONDS

from palimpsest.context.presets import PRESETS
from palimpsest.model.script import calls, fails, overflows, says, thinks, writes
from palimpsest.recordings.reconstruction.requests import policy_of, rebuild_all
from palimpsest.session.config.context_policy import without_task
from palimpsest.session.permissions.effective_rules import EffectiveRules
from palimpsest.testing import ScriptedModel
from palimpsest.transcript.context_values.policies import Policy, ReminderPolicy
from palimpsest.transcript.errors import (
    AbortedError,
    ApiError,
    ConfigError,
    ContextOverflowError,
    OutputLengthError,
    UnknownError,
)
from palimpsest.transcript.messages import AssistantMessage, Message
from palimpsest.transcript.parts import RetryPart, TextPart, ToolCompleted, ToolFailed, ToolPart
from palimpsest.transcript.session_record.events import PermissionAsked, Record
from palimpsest.transcript.session_record.sessions import Idle
from palimpsest.transcript.user_notices import user_notice_text
from palimpsest.transcript.values import ModelInfo, ModelRef, Reply, Rule


def tools(messages: Sequence[Message]) -> list[ToolPart]:
    return [part for m in messages for part in m.parts if isinstance(part, ToolPart)]


async def test_a_prompt_is_answered_in_one_step(tmp_path: Path) -> None:
    model = ScriptedModel(thinks("hm").says("Hello."))
    session = await SessionHarness(tmp_path, model).session()

    answer = await ask(session, "Hi {you}?")

    assert (answer.text, answer.steps, answer.error) == ("Hello.", 1, None)
    sent = model.requests[0].messages
    assert [message["role"] for message in sent] == ["system", "user"]
    assert sent[-1]["content"] == "Hi {you}?"
    assert session.snapshot().status == Idle()


async def test_tools_run_until_the_model_has_its_answer(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    model = ScriptedModel(calls("read", path="a.txt"), says("Two lines."))
    session = await SessionHarness(tmp_path, model).session()

    answer = await ask(session, "How many lines?")

    assert (answer.text, answer.steps) == ("Two lines.", 2)
    (part,) = tools(answer.messages)
    assert isinstance(part.state, ToolCompleted)
    assert "two" in part.state.output
    roles = [message["role"] for message in model.requests[1].messages]
    assert roles == ["system", "user", "assistant", "tool"]


async def test_calls_of_one_step_run_side_by_side(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    model = ScriptedModel(
        calls("read", path="a.txt").calls("list").calls("glob", pattern="*"), says("Done.")
    )
    session = await SessionHarness(tmp_path, model).session()

    answer = await ask(session, "Look.")

    states = [part.state.status for part in tools(answer.messages)]
    assert states == ["completed", "completed", "completed"]


async def test_an_unknown_tool_and_bad_arguments_become_results(tmp_path: Path) -> None:
    model = ScriptedModel(
        calls("fly").calls("read", wrong=1), writes("read", '{"path": "a'), says("Sorry.")
    )
    session = await SessionHarness(tmp_path, model).session()

    answer = await ask(session, "Fly.")

    errors = [p.state.error for p in tools(answer.messages) if isinstance(p.state, ToolFailed)]
    assert "There is no tool 'fly'" in errors[0]
    assert "path is missing" in errors[1]
    assert "not valid JSON" in errors[2]
    assert answer.text == "Sorry."


async def test_every_request_can_be_rebuilt_from_the_log(tmp_path: Path) -> None:
    (tmp_path / "big.txt").write_text("\n".join(f"line {n} " + "x" * 200 for n in range(2_500)))
    model = ScriptedModel(
        thinks("hm").calls("read", path="big.txt"),
        calls("read", path="big.txt", offset=1_000),
        says("Long."),
        says("Again."),
    )
    harness = SessionHarness(tmp_path, model)
    session = await harness.session()
    await ask(session, "Read it.")
    await ask(session, "And now?")

    records = await harness.records(session)
    rebuilt = list(rebuild_all(harness.store, session.id, records))

    assert [r.request.messages for r in rebuilt] == [r.messages for r in model.requests]
    assert [r.request.tools for r in rebuilt] == [r.tools for r in model.requests]
    assert all(r.matches for r in rebuilt)


async def test_a_request_names_only_what_is_new(tmp_path: Path) -> None:
    model = ScriptedModel(calls("list"), says("Done."))
    harness = SessionHarness(tmp_path, model)
    session = await harness.session()
    await ask(session, "Look.")

    first, second = (event.request for event in requested(await harness.records(session)))

    assert (first.same, len(first.items)) == (0, 2)
    assert (second.same, len(second.items)) == (2, 2)
    assert [item.role for item in second.items] == ["assistant", "tool"]


async def test_the_policy_is_stored_once_and_read_whole_from_older_logs(tmp_path: Path) -> None:
    model = ScriptedModel(calls("list"), says("Done."))
    harness = SessionHarness(tmp_path, model)
    session = await harness.session()
    await ask(session, "Look.")

    first, second = (event.request for event in requested(await harness.records(session)))
    older = first.model_copy(update={"policy": Policy(history_limit=3), "policy_blob": None})

    assert first.policy is None
    assert first.policy_blob == second.policy_blob
    assert policy_of(harness.store, first) == without_task(PRESETS["palimpsest"])
    assert policy_of(harness.store, older).history_limit == 3


async def test_the_system_prompt_stays_the_same_bytes(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("Use metres.")
    model = ScriptedModel(says("1"), says("2"), says("3"))
    harness = SessionHarness(tmp_path, model)
    session = await harness.session()
    await ask(session, "a")
    harness.clock.now += 86_400_000
    (tmp_path / "AGENTS.md").write_text("Use feet.")
    await ask(session, "b")
    await session.close()
    again = await SessionHarness(tmp_path, model, store=harness.store).session()
    assert again.id == session.id
    await ask(again, "c")

    prompts = {r.messages[0]["content"] for r in model.requests}

    assert len(prompts) == 1
    assert "Use metres." in prompts.pop()


async def test_asks_before_it_writes_and_goes_on_when_allowed(tmp_path: Path) -> None:
    model = ScriptedModel(calls("write", path="out.txt", content="hi"), says("Written."))
    session = await SessionHarness(tmp_path, model).session()
    asked: list[PermissionAsked] = []

    def answer_it(records: Sequence[Record]) -> None:
        for record in records:
            if isinstance(record.event, PermissionAsked):
                asked.append(record.event)
                assert session.reply(record.event.ask.id, Reply(answer="once"))
                assert not session.reply(record.event.ask.id, Reply(answer="reject"))

    session.subscribe(answer_it)
    answer = await ask(session, "Write.")

    assert answer.text == "Written."
    assert (tmp_path / "out.txt").read_text() == "hi"
    assert asked[0].ask.input == {"path": "out.txt", "content": "hi"}
    assert asked[0].ask.diff is not None


async def test_a_rejection_ends_the_turn_and_feedback_does_not(tmp_path: Path) -> None:
    model = ScriptedModel(
        calls("write", path="a", content="x"),
        calls("write", path="b", content="x"),
        says("All right."),
    )
    session = await SessionHarness(tmp_path, model).session()
    replies = [Reply(answer="reject"), Reply(answer="reject", feedback="not there")]

    def answer_it(records: Sequence[Record]) -> None:
        for record in records:
            if isinstance(record.event, PermissionAsked):
                session.reply(record.event.ask.id, replies.pop(0))

    session.subscribe(answer_it)
    first = await ask(session, "Write a.")
    second = await ask(session, "Write b.")

    assert (first.steps, first.text) == (1, "")
    assert (second.steps, second.text) == (2, "All right.")
    assert "not there" in str(model.requests[-1].messages[-1]["content"])
    assert not (tmp_path / "a").exists()


async def test_always_holds_for_the_session_and_survives_reopening(tmp_path: Path) -> None:
    model = ScriptedModel(
        calls("write", path="a", content="1"),
        says("ok"),
        calls("write", path="a", content="2"),
        says("ok"),
    )
    harness = SessionHarness(tmp_path, model)
    session = await harness.session()
    session.subscribe(
        lambda records: (
            [
                session.reply(r.event.ask.id, Reply(answer="always"))
                for r in records
                if isinstance(r.event, PermissionAsked)
            ]
            and None
        )
    )
    await ask(session, "Write.")
    await session.close()
    # Approvals are stored outside the log, where the same user's next kernel finds them.
    effective_rules = EffectiveRules(approvals=harness.services.rules.effective_rules.approvals)
    again = await SessionHarness(
        tmp_path, model, store=harness.store, effective_rules=effective_rules
    ).session()
    answer = await ask(again, "Write again.")

    assert answer.text == "ok"
    assert (tmp_path / "a").read_text() == "2"


async def test_yes_answers_questions_but_never_a_deny(tmp_path: Path) -> None:
    model = ScriptedModel(
        calls("write", path="a", content="x").calls("bash", command="echo hi"), says("ok")
    )
    deny = (Rule(permission="bash", action="deny", pattern="echo *"),)
    harness = SessionHarness(tmp_path, model)
    harness = SessionHarness(tmp_path, model, rules=harness.services.rules.base_rules + deny)
    session = await harness.session()

    answer = await ask(session, "Go.", yes=True)

    write, bash = tools(answer.messages)
    assert write.state.status == "completed"
    assert isinstance(bash.state, ToolFailed)
    assert "denies" in bash.state.error


async def test_stops_at_the_step_limit_with_tools_off(tmp_path: Path) -> None:
    model = ScriptedModel(calls("list"), calls("glob", pattern="*"), says("So far: nothing."))
    session = await SessionHarness(tmp_path, model).session()

    answer = await ask(session, "Look for ever.", max_steps=3)

    assert (answer.text, answer.steps) == ("So far: nothing.", 3)
    last = model.requests[-1]
    assert last.parameters["tool_choice"] == "none"
    assert last.tools
    assert "last step" in str(last.messages[-1]["content"])


async def test_retries_what_may_pass_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("palimpsest.model.errors.retry.FIRST_DELAY_SECONDS", 0.01)
    model = ScriptedModel(fails(429, retry_after_ms=1), says("half ").disconnects(), says("Whole."))
    harness = SessionHarness(tmp_path, model)
    session = await harness.session()

    answer = await asyncio.wait_for(ask(session, "Hi"), LAST_RESORT_SECONDS)

    assert answer.text == "Whole."
    parts = answer.messages[0].parts
    assert [p.attempt for p in parts if isinstance(p, RetryPart)] == [1, 2]
    texts = [(p.text, p.metadata) for p in parts if isinstance(p, TextPart)]
    assert texts[-1] == ("Whole.", None)
    assert all(meta == {"failed_attempt": 2} for _, meta in texts[:-1])
    statuses = [
        r.event.status.type
        for r in await harness.records(session)
        if r.event.type == "session.status"
    ]
    assert statuses == ["busy", "retry", "busy", "retry", "busy", "idle"]


async def test_does_not_retry_what_cannot_pass(tmp_path: Path) -> None:
    model = ScriptedModel(fails(400, "Bad request."))
    session = await SessionHarness(tmp_path, model).session()

    answer = await ask(session, "Hi")

    assert isinstance(answer.error, ApiError)
    assert len(model.requests) == 1


async def test_a_request_that_does_not_fit_is_not_sent(tmp_path: Path) -> None:
    small = ModelInfo(ref=ModelRef(provider="x", name="y"), window=17_000, output_limit=1_000)
    model = ScriptedModel()
    session = await SessionHarness(tmp_path, model, info=small).session()

    answer = await ask(session, "word " * 18_000)

    assert isinstance(answer.error, ContextOverflowError)
    assert "Nothing was sent" in answer.error.message
    assert model.requests == []


async def test_a_window_too_small_to_work_in_is_refused_before_anything_is_sent(
    tmp_path: Path,
) -> None:
    small = ModelInfo(ref=ModelRef(provider="x", name="y"), window=8_000, output_limit=1_000)
    model = ScriptedModel()
    session = await SessionHarness(tmp_path, model, info=small).session()

    answer = await ask(session, "Hi")

    assert answer.error is not None
    assert "8,000 tokens, and an agent needs 16,000" in answer.error.message
    assert "Choose another model with --model" in answer.error.message
    assert model.requests == []


async def test_of_more_tools_than_the_provider_takes_the_last_ones_are_left_out_and_told(
    tmp_path: Path,
) -> None:
    def extra() -> str:
        """Do nothing."""
        return ""

    model = ScriptedModel(says("Hello."), says("Again."), says("Hello."))
    harness = SessionHarness(tmp_path, model)
    built_in = set(harness.services.agents.registry.names)
    for number in range(129):
        harness.services.agents.registry.add(extra, name=f"extra_{number}")
    session = await harness.session()

    answer = await ask(session, "Hi", model="openai/gpt-test")
    await ask(session, "Hi again", model="openai/gpt-test")
    await ask(session, "Hi", model="somebody/gpt-test")

    offered = [{tool.name for tool in request.tools} for request in model.requests]
    assert [len(names) for names in offered] == [128, 128, 129 + len(built_in)]
    assert offered[0] == offered[1] >= built_in
    assert {"extra_0", "extra_128"} & offered[0] == {"extra_0"}
    notices = [
        told
        for message in answer.messages
        for part in message.parts
        if (told := user_notice_text(part))
    ]
    assert any("openai/gpt-test takes 128 tools at most" in notice for notice in notices)
    assert any("Name those that are needed with --tools" in notice for notice in notices)


@pytest.mark.parametrize(
    ("policy", "role"), [("palimpsest", "user"), ("opencode-1.1", "assistant")]
)
async def test_the_step_limit_is_told_in_the_name_that_the_policy_says(
    tmp_path: Path, policy: str, role: str
) -> None:
    model = ScriptedModel(calls("list"), says("That is all."))
    session = await SessionHarness(tmp_path, model, policy=policy).session()

    answer = await ask(session, "Look.", max_steps=2)

    last = model.requests[-1].messages[-1]
    assert answer.text == "That is all."
    assert last["role"] == role
    assert "step limit of 2 is reached" in str(last["content"])


async def test_asks_for_no_longer_an_answer_than_the_window_holds(tmp_path: Path) -> None:
    info = ModelInfo(ref=ModelRef(provider="x", name="y"), window=60_000, output_limit=50_000)
    model = ScriptedModel(says("a").reports_nothing(), says("b"))
    harness = SessionHarness(tmp_path, model, info=info)
    session = await harness.session()

    await ask(session, "Hi")
    await ask(session, "word " * 30_000)

    short, long = (event.request for event in requested(await harness.records(session)))
    assert short.parameters["max_tokens"] == 32_000
    needed = round(long.tokens * long.facts.calibration)
    assert long.parameters["max_tokens"] == 60_000 - needed < 32_000


async def test_an_overflow_that_the_provider_reports_is_readable(tmp_path: Path) -> None:
    session = await SessionHarness(tmp_path, ScriptedModel(overflows())).session()

    answer = await ask(session, "Hi")

    assert isinstance(answer.error, ContextOverflowError)


async def test_a_cut_answer_keeps_its_text(tmp_path: Path) -> None:
    model = ScriptedModel(says("Half an").finishes("length"), calls("list").finishes("length"))
    session = await SessionHarness(tmp_path, model).session()

    kept = await ask(session, "Hi")
    nothing = await ask(session, "Hi")

    info = kept.messages[-1].info
    assert isinstance(info, AssistantMessage)
    assert (kept.text, kept.error, info.finish) == ("Half an", None, "length")
    assert isinstance(nothing.error, OutputLengthError)
    (part,) = tools(nothing.messages)
    assert part.state.status == "error"


async def test_an_answer_without_a_word_is_said_to_be_one(tmp_path: Path) -> None:
    model = ScriptedModel(thinks("hm"), calls("list"), says(""))
    session = await SessionHarness(tmp_path, model).session()

    silent = await ask(session, "Hi")
    done = await ask(session, "Look")

    assert isinstance(silent.error, UnknownError)
    assert "without a word" in silent.error.message
    assert (done.error, done.steps) == (None, 2)


async def test_cancel_stops_a_model_that_says_nothing(tmp_path: Path) -> None:
    model = ScriptedModel(says("Let me ").stalls(), says("Next."))
    session = await SessionHarness(tmp_path, model).session()
    running = asyncio.create_task(ask(session, "Hi"))
    await until(lambda: "Let me " in str(session.snapshot().messages))

    assert session.cancel("Stopped by test.")
    answer = await running

    assert answer.error == AbortedError(message="Stopped by test.")
    assert answer.text == "Let me "
    assert model.close_count == 1
    assert (await ask(session, "Go on")).text == "Next."
    assert session.cancel() is False


async def test_cancel_stops_a_command_and_keeps_what_it_printed(tmp_path: Path) -> None:
    model = ScriptedModel(calls("bash", command="echo before; sleep 600; echo after"))
    session = await SessionHarness(tmp_path, model).session()
    running = asyncio.create_task(ask(session, "Wait", yes=True))
    await until(
        lambda: any(
            "before" in str(getattr(part.state, "metadata", ""))
            for part in tools(session.snapshot().messages)
        )
    )

    session.cancel()
    answer = await running

    (part,) = tools(answer.messages)
    assert isinstance(part.state, ToolFailed)
    assert part.state.metadata["interrupted"] is True
    assert "before" in part.state.metadata["output"]
    assert "after" not in part.state.metadata["output"]


async def test_cancel_answers_an_open_question(tmp_path: Path) -> None:
    session = await SessionHarness(tmp_path, ScriptedModel(calls("bash", command="ls"))).session()
    running = asyncio.create_task(ask(session, "Go"))
    await until(lambda: bool(session.snapshot().asks))

    session.cancel()
    answer = await running

    assert isinstance(answer.error, AbortedError)
    assert session.snapshot().asks == ()


async def test_a_queued_prompt_waits_for_the_turn_and_gets_its_own_answer(tmp_path: Path) -> None:
    model = ScriptedModel(says("One.").drips(0.01), says("Two."))
    session = await SessionHarness(tmp_path, model).session()
    first = asyncio.create_task(ask(session, "first"))
    await until(lambda: bool(model.requests))
    second = asyncio.create_task(ask(session, "second", prompt_id="pmt_x"))
    again = asyncio.create_task(ask(session, "second", prompt_id="pmt_x"))

    assert (await first).text == "One."
    assert (await second).text == "Two."
    assert (await again).turn_id == (await second).turn_id
    assert len(model.requests) == 2


async def test_a_steered_prompt_reaches_the_next_request(tmp_path: Path) -> None:
    model = ScriptedModel(calls("bash", command="sleep 0.3"), says("Both."))
    session = await SessionHarness(tmp_path, model).session()
    first = asyncio.create_task(ask(session, "first", yes=True))
    await until(lambda: bool(tools(session.snapshot().messages)))
    steered = asyncio.create_task(ask(session, "and this", delivery="steer"))

    assert (await first).text == "Both."
    assert (await steered).text == "Both."
    said = [str(m["content"]) for m in model.requests[1].messages if m["role"] == "user"]
    assert said == ["first", f"{ReminderPolicy().before}and this"]


async def test_a_withdrawn_prompt_is_never_sent(tmp_path: Path) -> None:
    model = ScriptedModel(says("One.").drips(0.02))
    session = await SessionHarness(tmp_path, model).session()
    first = asyncio.create_task(ask(session, "first"))
    await until(lambda: bool(model.requests))
    second = asyncio.create_task(ask(session, "second", prompt_id="pmt_x"))
    await until(lambda: bool(session.snapshot().inbox))

    assert session.withdraw("pmt_x")
    assert isinstance((await second).error, AbortedError)
    assert (await first).text == "One."
    assert not session.withdraw("pmt_x")


async def test_nonsense_is_refused_before_anything_is_journaled(tmp_path: Path) -> None:
    harness = SessionHarness(tmp_path, ScriptedModel())
    session = await harness.session()
    before = len(await harness.records(session))

    for options in ({"agent": "nobody"}, {"model": "nothing"}, {"tools": ("fly",)}):
        with pytest.raises(ConfigError):
            await ask(session, "Hi", **options)

    kept = [r.event.type for r in (await harness.records(session))[before:]]
    assert set(kept) <= {"session.updated"}


async def test_a_repeated_call_asks_whether_to_go_on(tmp_path: Path) -> None:
    same = calls("list")
    model = ScriptedModel(same, same, same, same, says("Enough."))
    session = await SessionHarness(tmp_path, model).session()
    asked: list[PermissionAsked] = []

    def answer_it(records: Sequence[Record]) -> None:
        for record in records:
            if isinstance(record.event, PermissionAsked):
                asked.append(record.event)
                session.reply(record.event.ask.id, Reply(answer="once"))

    session.subscribe(answer_it)
    answer = await ask(session, "Look.", yes=True)

    assert answer.text == "Enough."
    assert [event.ask.permission for event in asked] == ["doom_loop"]


async def test_plan_cannot_change_anything(tmp_path: Path) -> None:
    model = ScriptedModel(says("A plan."))
    session = await SessionHarness(tmp_path, model).session()

    await ask(session, "Plan it.", agent="plan")

    offered = {spec.name for spec in model.requests[0].tools}
    assert offered == {
        "read", "list", "glob", "grep", "recall", "question", "todowrite", "webfetch",
    }  # fmt: skip


async def test_only_the_tools_that_were_named_are_offered(tmp_path: Path) -> None:
    model = ScriptedModel(says("a"), says("b"))
    session = await SessionHarness(tmp_path, model).session()

    await ask(session, "x", tools=("read",))
    await ask(session, "x", tools=())

    assert [spec.name for spec in model.requests[0].tools] == ["read"]
    assert model.requests[1].tools == ()

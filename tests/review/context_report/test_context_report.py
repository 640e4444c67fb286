"""The context report shows what fills the context window, to the token, and what was removed from it."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.harness.compacted_sessions import LONG, SUMMARY
from tests.harness.session import SessionHarness, ask, requested, until

from palimpsest.context.budget.request_tokens import check_budget
from palimpsest.context.presets import PRESETS
from palimpsest.model.script import ModelAnswer, calls, fails, says, stalls, thinks
from palimpsest.model.tokenizer import counter
from palimpsest.review.context_report.context_report import ContextReport, _since_text
from palimpsest.review.context_report.report_builder import (
    build_context_report,
    build_recorded_report,
)
from palimpsest.review.context_report.window_contents import Reduction, whole_tokens
from palimpsest.session.open_sessions.followed_session import FollowedSession
from palimpsest.session.open_sessions.live_session import LiveSession
from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.project_folder.layout import open_project_folder
from palimpsest.testing import ScriptedModel
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.context_values.request_items import RequestItem
from palimpsest.transcript.errors import ContentFilterError, NotFound, SessionHeld
from palimpsest.transcript.parts import TextPart
from palimpsest.transcript.session_record.events import PartUpdated
from palimpsest.transcript.user_notices import user_notice
from palimpsest.transcript.values import ModelInfo, ModelRef

WINDOW, ANSWER = 64_000, 4_000
INFO = ModelInfo(
    ref=ModelRef(provider="scripted", name="model"), window=WINDOW, output_limit=ANSWER
)
DEFAULT = PRESETS["palimpsest"]
CSV = "species,bill_length_mm,43.92\n" * 300
"""About 3,600 tokens in the output of the read tool."""


def changed(base: Policy = DEFAULT, **groups: dict[str, Any]) -> Policy:
    """Return a policy with changed numbers, by group."""
    made = {name: getattr(base, name).model_copy(update=new) for name, new in groups.items()}
    return base.model_copy(update=made)


SHORT = changed(truncate={"max_bytes": 6_000})
PRUNING = changed(
    prune={
        "protect_tokens": 1_000,
        "minimum_tokens": 1_000,
        "full_window": 1_000,
        "start_share": 0.05,
        "target_share": 0.02,
        "protect_turns": 1,
    }
)


def make_harness(
    root: Path, *answers: ModelAnswer, policy: Policy = DEFAULT, **more: Any
) -> SessionHarness:
    for number in range(3):
        (root / f"{number}.csv").write_text(CSV)
    harness = SessionHarness(root, ScriptedModel(*answers), info=INFO, **more)
    object.__setattr__(harness.services.rules, "policy", policy)
    return harness


async def look(session: LiveSession) -> ContextReport:
    await session.journal.flush()
    return build_context_report(session.basis(), lambda only: session.records_after(0, only))


def read(number: int) -> ModelAnswer:
    return calls("read", path=f"{number}.csv")


def named(report: ContextReport, kind: str) -> list[str]:
    return [item.name for item in report.items if item.kind == kind]


def of(report: ContextReport, way: str) -> list[Reduction]:
    return [gone for gone in report.reductions if gone.way == way]


def without_tokens(items: tuple[RequestItem, ...]) -> list[tuple[object, ...]]:
    return [(i.kind, i.name, i.words, i.message_id, i.part_id, i.state, i.pinned) for i in items]


# Laws


@given(st.lists(st.integers(0, 10_000), max_size=40), st.floats(0.5, 4.0))
def test_what_is_corrected_one_by_one_adds_up_to_the_corrected_sum(
    tokens: list[int], ratio: float
) -> None:
    items = [RequestItem(kind="user", tokens=count) for count in tokens]
    corrected = [item.tokens for item in whole_tokens(items, ratio)]

    assert sum(corrected) == round(sum(tokens) * ratio)
    assert all(number >= 0 for number in corrected)


@pytest.mark.slow
async def test_every_token_of_every_recorded_request_is_explained(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("Answer in metres.")
    harness = make_harness(
        tmp_path,
        says(LONG),
        thinks("Hm.").says("I look.").calls("read", path="0.csv"),
        read(1),
        says("Read."),
        says(SUMMARY),
        read(2),
        says("Done."),
        policy=SHORT,
    )
    session = await harness.session()
    for question in ("One?", "Two?"):
        await ask(session, question)
    await session.compact("the numbers")
    await ask(session, "Three?")
    records = requested(await harness.records(session))

    reports = [
        build_recorded_report(harness.store, session.id, record.request.id, counter)
        for record in records
    ]

    assert [record.request.purpose for record in records].count("compaction") == 1
    for record, report in zip(records, reports, strict=True):
        request = record.request
        assert report.used_tokens == check_budget(request.tokens, request.facts).tokens
        assert report.used_tokens == sum(item.tokens for item in report.items)
        assert report.used_tokens + report.free_tokens + report.reserve == WINDOW
        assert sum(report.tokens_by_kind.values()) == report.used_tokens
        if request.facts.calibration == 1.0:
            assert report.tokens_by_kind == request.kinds
            assert (report.tokens_by_kind.get("instructions", 0) > 0) == (request.purpose == "step")
    # The same from the log alone: inspection wrote nothing into it.
    assert len(records) == len(requested(await harness.records(session)))


async def test_what_would_be_sent_is_what_is_sent_then(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("Answer in metres.")
    harness = make_harness(tmp_path, read(0), says("Read."), says("Yes."))
    session = await harness.session()

    empty = await look(session)
    await ask(session, "How many?")
    later = await look(session)
    await ask(session, "Sure?")

    records = requested(await harness.records(session))
    first, last = (
        build_recorded_report(harness.store, session.id, records[at].request.id, counter)
        for at in (0, -1)
    )
    assert empty.items == first.items[:-1]
    assert first.items[-1].words == "How many?"
    assert without_tokens(later.items) == without_tokens(last.items[:-1])
    assert later.calibration == last.calibration != 1.0
    assert (empty.request_id, first.request_id) == ("", records[0].request.id)


async def test_looking_writes_nothing_and_settles_nothing(tmp_path: Path) -> None:
    harness = make_harness(tmp_path, says("Yes."))
    session = await harness.session()
    before = await harness.records(session)

    empty = await look(session)
    (tmp_path / "AGENTS.md").write_text("Written after somebody looked.")

    assert await harness.records(session) == before
    assert named(empty, "instructions") == []
    await ask(session, "Hello")
    assert named(await look(session), "instructions") == ["AGENTS.md"]


# The content of the window


async def test_tells_system_prompt_tools_and_each_instruction_file_apart(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("# House rules\nAnswer in metres.")
    harness = make_harness(tmp_path, extra_system="Speak Dutch.")
    session = await harness.session()

    report = await look(session)

    assert named(report, "system") == ["how to work", "environment"]
    assert named(report, "instructions") == ["AGENTS.md", "further words"]
    rules = next(item for item in report.items if item.name == "AGENTS.md")
    assert rules.words == "# House rules"
    assert named(report, "tools") == [
        harness.services.agents.registry.spec(tool).name
        for tool in harness.services.agents.registry.offered_tools(
            harness.services.rules.base_rules, None
        )
    ]
    assert list(report.tokens_by_kind) == ["system", "tools", "instructions"]


async def test_names_the_tools_that_went_out(tmp_path: Path) -> None:
    model = ScriptedModel(says("Hello."))
    harness = SessionHarness(tmp_path, model, info=INFO)
    session = await harness.session()
    await ask(session, "Hello?")

    report = build_context_report(session.basis(), lambda only: session.records_after(0, only))

    names = [tool.name for tool in model.requests[0].tools]
    words = " ".join(report.text.split())
    assert f"{len(names)} tools: {', '.join(names)}" in words


async def test_names_what_every_block_is_and_works_on(tmp_path: Path) -> None:
    harness = make_harness(
        tmp_path, thinks("Hm.").says("I look.").calls("read", path="0.csv"), says("Three.")
    )
    session = await harness.session()
    await ask(session, "How many\nspecies?")

    facts = [(i.kind, i.name, i.words) for i in (await look(session)).items if i.message_id]

    assert facts == [
        ("user", "prompt", "How many species?"),
        ("reasoning", "thoughts", "Hm."),
        ("assistant", "answer", "I look."),
        ("assistant", "read call", "0.csv"),
        ("output", "read", "0.csv"),
        ("assistant", "answer", "Three."),
    ]


async def test_a_window_that_is_assumed_is_said_to_be(tmp_path: Path) -> None:
    harness = make_harness(tmp_path)
    object.__setattr__(harness, "_info", INFO.model_copy(update={"window_assumed": True}))

    report = await look(await harness.session())

    assert report.window_assumed
    assert "this window is assumed" in report.text
    assert "this window is assumed" in report.html
    assert "this window is assumed" in report.markdown


async def test_a_turn_that_runs_is_weighed_with_its_prompt_and_its_options(tmp_path: Path) -> None:
    harness = make_harness(tmp_path, stalls())
    session = await harness.session()
    asking = asyncio.ensure_future(ask(session, "How many?", tools=(), system="Speak Dutch."))
    await until(lambda: session.snapshot().request is not None)

    report = await look(session)

    assert report.items[-1].words == "How many?"
    assert "tools" not in report.tokens_by_kind
    assert named(report, "instructions") == ["further words"]
    [sent] = requested(await harness.records(session))
    then = build_recorded_report(harness.store, session.id, sent.request.id, counter)
    assert (then.items, then.window, then.reserve) == (report.items, report.window, report.reserve)
    session.cancel()
    await asking


@pytest.mark.slow
async def test_a_session_of_another_kernel_is_weighed_as_its_newest_step(tmp_path: Path) -> None:
    store = JsonlStore(open_project_folder(tmp_path), heartbeat_seconds=0.1, watch_seconds=2.5)
    harness = make_harness(tmp_path, read(0), says("Read."), store=store, policy=SHORT)
    session = await harness.session()
    await session.journal.flush()
    theirs = JsonlStore(open_project_folder(tmp_path), heartbeat_seconds=0.1, watch_seconds=2.5)
    other = make_harness(tmp_path, store=theirs, kernel_id="kernel-b")
    followed = await other.workspace.open(session.id)
    assert isinstance(followed, FollowedSession)

    with pytest.raises(SessionHeld, match="has asked nothing yet"):
        followed.basis()
    await ask(session, "Read it.")
    ours = await look(session)
    await until(lambda: followed.snapshot().seq == session.snapshot().seq)

    seen = build_context_report(followed.basis(), lambda only: followed.records_after(0, only))
    assert without_tokens(seen.items) == without_tokens(ours.items)
    assert [gone.way for gone in seen.reductions] == ["truncate"]
    assert seen.reductions[0].decided_at == ours.reductions[0].decided_at
    await other.workspace.close()
    await harness.workspace.close()


@pytest.mark.slow
async def test_what_does_not_fit_is_said(tmp_path: Path) -> None:
    harness = make_harness(tmp_path, says("word " * 70_000).in_pieces(4_000))
    session = await harness.session()
    await ask(session, "Much, please.")

    report = await look(session)

    assert report.excess_tokens == report.used_tokens - report.budget > 0
    assert report.free_tokens == 0
    assert f"It does not fit: {report.excess_tokens:,} tokens" in report.text


# Removed content


async def test_a_truncated_output_tells_its_rule_and_the_step_that_ran_it(tmp_path: Path) -> None:
    harness = make_harness(tmp_path, says("Hi."), read(0), read(1), says("Done."), policy=SHORT)
    session = await harness.session()
    await ask(session, "Hello")
    await ask(session, "Read.")

    report = await look(session)

    first, second = of(report, "truncate")
    assert (first.name, first.text, first.rule) == ("read", "0.csv", "truncate")
    assert first.decided_at is not None
    assert (first.decided_at.turn, first.decided_at.step) == (2, 1)
    assert second.decided_at is not None
    assert (second.decided_at.turn, second.decided_at.step) == (2, 2)
    assert first.tokens_before is not None
    assert first.tokens_after is not None
    assert first.saved == first.tokens_before - first.tokens_after > 1_000
    assert "longer than 2,000 lines or 6,000 bytes" in first.reason
    assert [i.state for i in report.items if i.kind == "output"] == ["truncated", "truncated"]
    assert f"{first.tokens_before:,} → {first.tokens_after:,} tokens" in report.text


async def test_a_pruned_output_tells_the_step_from_which_it_is_gone(tmp_path: Path) -> None:
    harness = make_harness(
        tmp_path, read(0), says("One."), read(1), says("Two."), says("Three."), policy=PRUNING
    )
    session = await harness.session()
    for question in ("A?", "B?", "C?"):
        await ask(session, question)

    report = await look(session)

    cleared = of(report, "clear")
    assert cleared[0].text == "0.csv"
    assert cleared[0].rule == "prune/batch"
    assert "Older than the newest 1,000 tokens of tool output." in cleared[0].reason
    assert "tokens went at once" in cleared[0].reason
    assert cleared[0].decided_at is not None
    since = cleared[0].decided_at
    steps = [
        build_recorded_report(harness.store, session.id, record.request.id, counter)
        for record in requested(await harness.records(session))
    ]
    shown = [
        next((i.state for i in report.items if i.words == "0.csv" and i.kind == "output"), "")
        for report in steps
    ]
    # It was complete up to a request, and cleared from the named one on.
    places = [(1, 1), (1, 2), (2, 1), (2, 2), (3, 1)]
    assert shown[0] == ""
    assert shown[1 : places.index((since.turn, since.step or 0))] == ["whole"] * (
        places.index((since.turn, since.step or 0)) - 1
    )
    assert set(shown[places.index((since.turn, since.step or 0)) :]) == {"cleared"}


async def test_a_summary_tells_what_it_stands_for_also_when_reopened(tmp_path: Path) -> None:
    store = JsonlStore(open_project_folder(tmp_path))
    answers = (says(LONG), says(LONG), says("It is 43.92 in bill_depth_mm."), says(SUMMARY))
    harness = make_harness(
        tmp_path, *answers, store=store, policy=changed(compact={"tail_turns": 1})
    )
    session = await harness.session()
    for question in ("First question", "Second question", "Third question"):
        await ask(session, question)
    await session.compact("the numbers")

    report = await look(session)
    await harness.workspace.close()
    again = make_harness(tmp_path, store=store, policy=changed(compact={"tail_turns": 1}))
    reopened = await look(await again.session())
    await again.workspace.close()

    assert "1 prompt, 1 note by the engine" in report.text
    [summary] = of(report, "summarise")
    assert summary.text == "4 messages told in a summary, as asked"
    assert summary.saved > 3_000
    assert summary.decided_at is not None
    assert (summary.decided_at.turn, summary.decided_at.step) == (3, None)
    assert "after turn 3" in report.text
    sizes = f"{summary.tokens_before:,} → {summary.tokens_after:,} tokens"
    assert f"the whole conversation {sizes}, with the messages that stay as they are" in report.text
    assert named(report, "summary") == ["summary"]
    assert "First question" not in report.text
    assert "Third question" in report.text
    [later] = of(reopened, "summarise")
    assert later.text == summary.text
    assert later.decided_at == summary.decided_at
    assert reopened.items == report.items


async def test_what_a_summary_lost_is_named(tmp_path: Path) -> None:
    harness = make_harness(
        tmp_path,
        says(LONG),
        says("See results/final.csv: ValueError: no rows, 12345. " * 40),
        says(SUMMARY),
        policy=changed(compact={"tail_turns": 0}),
    )
    session = await harness.session()
    await ask(session, "First question")
    await ask(session, "Second question")
    await session.compact()

    [summary] = of(await look(session), "summarise")

    assert "0 of 1 paths" in summary.reason
    assert "not kept: results/final.csv" in summary.reason
    assert "12345" in summary.reason


async def test_an_undone_summary_is_gone_itself(tmp_path: Path) -> None:
    harness = make_harness(
        tmp_path, says(LONG), says(LONG), says(SUMMARY), policy=changed(compact={"tail_turns": 0})
    )
    session = await harness.session()
    await ask(session, "First question")
    await ask(session, "Second question")
    await session.compact()
    assert of(await look(session), "summarise")

    session.edit_context("undo")

    report = await look(session)
    assert report.reductions == ()
    assert "First question" in report.text


async def test_words_that_only_keep_the_turns_in_order_are_no_prompt(tmp_path: Path) -> None:
    harness = make_harness(tmp_path, says("Yes."))
    session = await harness.session()
    await ask(session, "Hm?", model="anthropic/claude-sonnet-4-5")

    report = await look(session)

    assert [item.words for item in report.items if item.name == "prompt"] == ["Hm?"]
    assert [item.words for item in report.items if item.name == "note"] == ["(Please go on.)"]


async def test_what_a_person_pinned_and_left_out_is_told(tmp_path: Path) -> None:
    harness = make_harness(tmp_path, read(0), says("Read."), says("Yes."))
    session = await harness.session()
    await ask(session, "Read it.")
    await ask(session, "A secret of mine.")
    [*_, prompt, _] = [message.id for message in session.snapshot().messages]

    session.edit_context("pin", "last")
    session.edit_context("exclude", prompt)

    report = await look(session)
    assert [i.words for i in report.items if i.pinned and i.kind == "output"] == ["0.csv"]
    [excluded] = of(report, "drop")
    assert excluded.text == "A secret of mine."
    assert excluded.rule == "user/exclude"
    assert "A person left this out" in excluded.reason


async def test_what_never_was_for_the_model_is_not_told_as_gone(tmp_path: Path) -> None:
    harness = make_harness(tmp_path, says("Yes."))
    session = await harness.session()
    await ask(session, "Go on.")
    prompt = session.snapshot().messages[0].info
    ids = {"session_id": session.id, "message_id": prompt.id, "ignored": True}
    notice = user_notice("prt_note", session.id, prompt.id, "hook", "The hook failed.")
    typed = TextPart(id="prt_typed", text="/review", metadata={"command": "review"}, **ids)
    other = TextPart(id="prt_other", text="Not this.", **ids)

    session.journal.append(*(PartUpdated(part=part) for part in (notice, typed, other)))

    assert [gone.text for gone in (await look(session)).reductions] == ["Not this."]


async def test_turns_behind_the_history_limit_are_counted(tmp_path: Path) -> None:
    limited = changed(limit={"rule": "sliding"}).model_copy(update={"history_limit": 2})
    harness = make_harness(tmp_path, *[says(f"Answer {n}.") for n in range(4)], policy=limited)
    session = await harness.session()
    for number in range(4):
        await ask(session, f"Question {number}")

    report = await look(session)

    [gone] = of(report, "limit")
    assert gone.text == "2 turns not sent"
    assert gone.decided_at is None
    assert gone.saved > 0
    assert "The history limit of this session is 2 turns." in report.text
    assert [i.words for i in report.items if i.name == "prompt"] == ["Question 2", "Question 3"]


async def test_answers_that_failed_are_said_not_to_be_sent(tmp_path: Path) -> None:
    harness = make_harness(tmp_path, fails(ContentFilterError()), says("Now."))
    session = await harness.session()
    await ask(session, "Hm?")

    [failed] = of(await look(session), "fail")

    assert failed.text == "1 not sent again"
    assert failed.tokens_before is None


async def test_what_a_request_left_that_was_sent_again_is_said_not_to_be_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("palimpsest.model.errors.retry.FIRST_DELAY_SECONDS", 0.01)
    half = says("Half an answer").disconnects()
    harness = make_harness(tmp_path, half, says("Whole."), half, says("Whole again."))
    session = await harness.session()
    await ask(session, "Hm?")
    await ask(session, "Hm again?")

    report = await look(session)

    [failed] = of(report, "fail")
    assert failed.text == "what came of 2 answers before the connection broke"
    assert "Half an answer" not in str([item.words for item in report.items])


async def test_what_a_failed_summary_hides_under_a_preset_is_told(tmp_path: Path) -> None:
    broken = fails(ContentFilterError())
    policy = changed(PRESETS["opencode-1.18"], compact={"tail_tokens": 100})
    harness = make_harness(tmp_path, says(LONG), says(LONG), says("Third."), broken, policy=policy)
    session = await harness.session()
    for question in ("First question", "Second question", "Third question"):
        await ask(session, question)
    await session.compact()

    report = await look(session)

    assert "First question" not in str([item.words for item in report.items])
    [hidden] = of(report, "summarise")
    assert hidden.text.endswith("hidden by a summary that failed")


async def test_an_undone_summary_is_not_counted_in_the_next_one(tmp_path: Path) -> None:
    answers = (says(LONG), says(LONG), says(SUMMARY), says(SUMMARY))
    harness = make_harness(tmp_path, *answers, policy=changed(compact={"tail_turns": 0}))
    session = await harness.session()
    await ask(session, "First question")
    await ask(session, "Second question")
    await session.compact()
    session.edit_context("undo")
    await session.compact()

    [summary] = of(await look(session), "summarise")

    assert summary.text == "4 messages told in a summary, as asked"


async def test_a_restored_output_is_no_longer_gone(tmp_path: Path) -> None:
    harness = make_harness(tmp_path, read(0), says("Done."), policy=SHORT)
    session = await harness.session()
    await ask(session, "Read.")
    assert of(await look(session), "truncate")

    session.edit_context("restore", "last")

    assert (await look(session)).reductions == ()


# As text


@pytest.mark.slow
async def test_long_lists_are_capped_and_counted(tmp_path: Path) -> None:
    reads = [calls("read", path="0.csv", offset=line) for line in range(1, 31)]
    harness = make_harness(tmp_path, *reads, says("Done."), policy=SHORT)
    session = await harness.session()
    await ask(session, "Read it thirty times.")

    report = await look(session)

    assert len(report.reductions) == 30
    assert len(report.items) > 60
    assert "and 18 more," in report.text
    assert f"and {len(report.items) - 40} smaller items," in report.text
    assert report.html.count('class="strip"') == 12
    parts = [part.id for message in session.snapshot().messages for part in message.parts]
    assert [parts.index(gone.part_id or "") for gone in report.reductions] == sorted(
        parts.index(gone.part_id or "") for gone in report.reductions
    )
    # The largest savings are shown, in order.
    most = sorted(report.reductions, key=lambda row: -row.saved)[:12]
    shown = [mark.facts[2] for mark in report.sheet.reduction_rows]
    assert shown == [_since_text(gone.decided_at) for gone in report.reductions if gone in most]


async def test_keys_reach_no_view(tmp_path: Path) -> None:
    harness = make_harness(tmp_path, says("Never mind."))
    session = await harness.session()
    await ask(session, "My key is abc12345.")

    report = build_context_report(
        session.basis(), lambda _only: (), lambda words: words.replace("abc12345", "hidden words")
    )

    for view in (report.text, report.html, report.markdown, str(report.items)):
        assert "abc12345" not in view
        assert "hidden words" in view


async def test_an_unknown_request_is_named(tmp_path: Path) -> None:
    harness = make_harness(tmp_path)
    session = await harness.session()
    await session.journal.flush()

    with pytest.raises(NotFound, match="no request 'req_x'"):
        build_recorded_report(harness.store, session.id, "req_x", counter)

"""A session is replayed under another policy; under its own the recorded requests result."""

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import pytest
from tests.harness.session import ask
from tests.loop.context_management.test_fit_driver import make_fit_harness, reads
from tests.recordings.decision_sessions import (
    NO_PRUNE,
    SCENES,
    SOME_SCENES,
    compacted,
    pruned,
    truncated,
)
from tests.sample_size import thinned

from palimpsest.context.policy_overrides import policy_with_changes
from palimpsest.context.presets import OPENCODE_1_18, PRESETS
from palimpsest.context_policies.whatif.exact_whatif import exact_whatif
from palimpsest.context_policies.whatif.steps import Replay, Step
from palimpsest.context_policies.whatif.whatif_result import WhatIf
from palimpsest.model.script import says
from palimpsest.recordings.reconstruction.requests import rebuild_all
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.session_record.events import StepRequested

STAND_IN = "[A stand-in for a summary of"


def comparable(step: Step) -> Step:
    """Return a step without unrecorded fields: the precheck's estimate and the request's messages.

    Ids of decisions are cleared, too, since a replay makes new ones.
    """
    decisions = tuple(decision.model_copy(update={"id": ""}) for decision in step.decisions)
    return replace(step, decisions=decisions, request=None, estimate=0, budget=0)


@pytest.mark.parametrize("name", thinned(SOME_SCENES, 9))
async def test_the_own_policy_gives_every_recorded_step(tmp_path: Path, name: str) -> None:
    harness, session = await SCENES[name](tmp_path)
    records = list(await harness.records(session))

    whatif = exact_whatif(harness.store, session.id)

    assert whatif.is_unchanged
    assert whatif.first_difference is None
    was, other = whatif.recorded, whatif.other
    assert list(map(comparable, other.steps)) == list(map(comparable, was.steps))
    sent = [rebuilt.request for rebuilt in rebuild_all(harness.store, session.id, records)]
    steps = [request for request in sent if request.purpose == "step"]
    assert [step.request for step in other.steps if step.request] == steps


async def replayed(tmp_path: Path, name: str, policy: Policy) -> WhatIf:
    harness, session = await SCENES[name](tmp_path)
    await session.journal.flush()
    return exact_whatif(harness.store, session.id, policy)


def words(step: Step) -> str:
    assert step.request is not None
    return str(step.request.messages)


async def test_without_pruning_the_outputs_stay(tmp_path: Path) -> None:
    whatif = await replayed(tmp_path, "cold", policy_with_changes(Policy(), {"prune.rule": "none"}))

    assert whatif.first_difference == 10
    assert whatif.other.decisions == ()
    assert [step.tokens for step in whatif.other.steps[:9]] == [
        step.tokens for step in whatif.recorded.steps[:9]
    ]
    last, was = whatif.other.steps[9], whatif.recorded.steps[9]
    assert last.tokens > was.tokens
    # Nothing was pruned, so everything but the newest messages is in the cache already.
    assert last.cached > was.cached
    assert "0 249 all is well" in words(last)


async def test_other_numbers_prune_at_another_step_and_say_so(tmp_path: Path) -> None:
    eager = policy_with_changes(
        Policy(), {"prune.start_share": 0.3, "prune.target_share": 0.2, "prune.protect_tokens": 500}
    )

    whatif = await replayed(tmp_path, "pruned", eager)

    assert whatif.first_difference is not None
    assert whatif.first_difference < 5
    step = whatif.other.steps[whatif.first_difference - 1]
    assert {decision.rule for decision in step.decisions} == {"prune/batch"}
    assert "[Old tool result content cleared" in words(step)
    assert sum(step.tokens_by_kind.values()) == step.tokens


async def test_an_output_is_cut_by_the_other_policys_caps(tmp_path: Path) -> None:
    small = policy_with_changes(Policy(), {"truncate.max_lines": 10, "truncate.direction": "tail"})

    whatif = await replayed(tmp_path, "truncated", small)

    first = whatif.other.steps[1]
    assert [decision.numbers["max_lines"] for decision in first.decisions] == [10]
    assert "\\n3999\\n4000" in words(first)
    assert "\\n1999\\n2000" not in words(first)


async def test_a_moved_compaction_has_a_stand_in_of_the_stated_size(tmp_path: Path) -> None:
    harness, session = await compacted(tmp_path)
    await session.journal.flush()
    early = policy_with_changes(Policy(), {"prune.rule": "none", "reserved": 10_000})
    early = policy_with_changes(early, {"compact.tail_turns": 0})

    sizes = [
        exact_whatif(harness.store, session.id, early, summary_tokens=size) for size in (800, 3_000)
    ]

    [before] = sizes[0].recorded.compactions
    assert not before.stand_in
    for found, size in zip(sizes, (800, 3_000), strict=True):
        moved = found.other.compactions[0]
        assert moved.stand_in
        step = next(step for step in found.other.steps if step.compactions)
        assert STAND_IN in words(step)
        assert abs(step.tokens_by_kind["summary"] - size) < 40
        assert "no model wrote it" in found.text or "no model wrote them" in found.text
        assert f"{size:,} tokens stands in" in found.text


async def test_a_compaction_that_would_have_been_the_same_keeps_its_recorded_summary(
    tmp_path: Path,
) -> None:
    later = policy_with_changes(Policy(), {"prune.rule": "none", "truncate.max_lines": 1_999})

    whatif = await replayed(tmp_path, "compacted", later)

    assert whatif.is_unchanged
    assert [compaction.stand_in for compaction in whatif.other.compactions] == [False]


async def test_a_compaction_undone_by_hand_stays_undone_where_it_has_a_stand_in(
    tmp_path: Path,
) -> None:
    whatif = await replayed(tmp_path, "edited", OPENCODE_1_18)

    assert [compaction.stand_in for compaction in whatif.other.compactions] == [True]
    assert STAND_IN in words(whatif.other.steps[-2])
    assert STAND_IN not in words(whatif.other.steps[-1])


async def test_what_would_be_refused_by_the_provider_is_compacted_or_said_not_to_fit(
    tmp_path: Path,
) -> None:
    blind = policy_with_changes(
        OPENCODE_1_18,
        {"overflow.output_cap": 10, "overflow.auto": False, "prune.rule": "none"},
    )

    whatif = await replayed(tmp_path, "pruned", blind)

    over = [step for step in whatif.other.steps if not step.fits]
    assert over
    assert all(step.tokens > 24_000 for step in over)
    assert whatif.other.overflows == len(over)
    assert "would not fit" in whatif.text


async def test_a_window_below_the_guard_is_said_to_be_refused(tmp_path: Path) -> None:
    strict = policy_with_changes(Policy(), {"guard.hard_minimum": 50_000})

    whatif = await replayed(tmp_path, "pruned", strict)

    assert all("50,000" in step.refused or "50000" in step.refused for step in whatif.other.steps)


async def test_the_comparison_is_said_to_be_counterfactual_in_every_form(tmp_path: Path) -> None:
    whatif = await replayed(tmp_path, "pruned", PRESETS["openclaw-2026.9"])

    for form in (whatif.text, whatif.markdown, whatif.html, whatif._repr_html_()):
        assert "Counterfactual: no model was asked." in form
        assert "12 steps as recorded, and under openclaw-2026.9" in form
        assert f"{whatif.recorded.tokens:,}" in form
        assert f"{whatif.other.tokens:,}" in form
    assert "without 2 old outputs cleared" in whatif.text
    assert "with a stand-in summary" in whatif.text
    assert whatif.other.counterfactual
    assert not whatif.recorded.counterfactual
    assert "<script" not in whatif.html


async def test_the_same_policy_is_said_to_change_nothing(tmp_path: Path) -> None:
    harness, session = await truncated(tmp_path)
    await session.journal.flush()

    whatif = exact_whatif(harness.store, session.id)

    assert "Every request would have been the recorded one, to the byte." in whatif.text
    assert whatif.other == exact_whatif(harness.store, session.id).other


async def test_a_session_without_requests_has_no_steps(tmp_path: Path) -> None:
    harness, session = await pruned(tmp_path)
    empty = await harness.workspace.new("b.ipynb")
    await session.journal.flush()

    whatif = exact_whatif(harness.store, empty.id)

    assert whatif.other.steps == ()
    assert whatif.is_unchanged
    assert "0 steps" in whatif.text


async def test_a_prompt_that_would_be_refused_is_said_again_behind_the_stand_in(
    tmp_path: Path,
) -> None:
    answers = [*reads(0, 1, 2, 3, 4), says("Well."), *reads(5, 6, 7, 0), says("Well.")]
    harness, _ = make_fit_harness(tmp_path, *answers, window=34_000)
    session = await harness.session()
    await ask(session, "Read the logs.")
    await ask(session, "Read the others, too.")
    await session.journal.flush()

    whatif = exact_whatif(
        harness.store, session.id, policy_with_changes(OPENCODE_1_18, {"overflow.output_cap": 10})
    )

    [moved] = whatif.other.compactions
    assert moved.stand_in
    step = next(step for step in whatif.other.steps if step.compactions)
    assert words(step).index(STAND_IN) < words(step).index("Read the others, too.")
    assert words(step).endswith("'content': 'Read the others, too.'})")
    assert whatif.other.overflows == 0


def steps(count: int, differ: Collection[int] = ()) -> tuple[Step, ...]:
    """Return so many steps; those in ``differ`` have another request."""
    return tuple(
        Step(
            number=number,
            seq=number,
            request_id=f"req_{number}",
            model="scripted/model",
            tokens=1_000,
            estimate=1_000,
            budget=9_000,
            fits=True,
            cached=0,
            sha256=f"{number}{'b' if number in differ else 'a'}",
        )
        for number in range(1, count + 1)
    )


def test_steps_that_differ_are_shown_wherever_they_are() -> None:
    was = Replay("ses_a", None, counterfactual=False, steps=steps(300))
    other = Replay("ses_a", None, counterfactual=True, steps=steps(300, {150, 290}))

    comparison = WhatIf(was, other, 1_500, exact=True).comparison

    numbers = [line.number for line in comparison.lines]
    assert {149, 150, 289, 290} <= set(numbers)
    assert len(numbers) == 40
    assert comparison.more == "Steps that are not shown: 260 that are the same on both sides."
    many = Replay("ses_a", None, counterfactual=True, steps=steps(300, set(range(100, 200))))
    assert WhatIf(was, many, 1_500, exact=True).comparison.lines[0].number == 100
    assert "60 more that differ" in WhatIf(was, many, 1_500, exact=True).comparison.more


async def test_requests_for_summaries_count(tmp_path: Path) -> None:
    harness, session = await compacted(tmp_path)
    records = await harness.records(session)
    asked = [
        record.event.request.tokens
        for record in records
        if isinstance(record.event, StepRequested) and record.event.request.purpose == "compaction"
    ]
    assert asked

    same = exact_whatif(harness.store, session.id)
    never = exact_whatif(
        harness.store, session.id, policy_with_changes(NO_PRUNE, {"overflow.auto": False})
    )
    reworded = policy_with_changes(NO_PRUNE, {"compact.prompt": "Say what happened."})
    moved = exact_whatif(harness.store, session.id, reworded)

    assert same.recorded.requested == same.other.requested == sum(asked)
    assert never.other.requested == 0
    assert any(compaction.stand_in for compaction in moved.other.compactions)
    assert moved.other.requested > 0
    assert "input tokens of requests for summaries" in same.text

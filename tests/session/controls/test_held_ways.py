"""Each way in which a request reaches a provider, or a decision the log, waits for a release in step mode, or is named.

A row says what is held, in order, and what the log has after each release until the next request is held.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.harness.compacted_sessions import talked
from tests.harness.session import SessionHarness, ask, until
from tests.harness.subagent_session import make_subagent_harness
from tests.live_policies.test_live_policies import NO_PRUNE, newest_two
from tests.loop.context_management.test_fit_driver import SUMMARY, make_fit_harness, reads
from tests.sample_size import thinned
from tests.waiting import request_ended

from palimpsest.context.presets import PRESETS
from palimpsest.live_policies.live_stage import live_policy
from palimpsest.model.script import calls, fails, overflows, says
from palimpsest.session.open_sessions.live_session import LiveSession
from palimpsest.testing import ScriptedModel
from palimpsest.tools.permission_rules.permissions import Rules
from palimpsest.transcript.context_values.proposed_request import ProposedRequest
from palimpsest.transcript.session_record.events import DecisionMade, StepRequested
from palimpsest.transcript.values import Rule

FREE: Rules = (Rule(permission="*", action="allow"),)
Doing = Callable[[LiveSession], Awaitable[Any]]
Round = tuple[str, list[str]]


@dataclass
class Way:
    """A session in which a request is about to be sent, and what is to be done with it."""

    harness: SessionHarness
    model: ScriptedModel
    doing: Doing
    session: LiveSession | None = None
    waits: Doing | None = None
    """Waits for what runs beside the turns."""
    before: Doing | None = None
    """What is done before step mode is switched on."""


@dataclass
class Observed:
    """What was held, and what was journaled after each release."""

    harness: SessionHarness
    session: LiveSession
    rounds: list[Round] = field(default_factory=list)
    proposals: list[ProposedRequest] = field(default_factory=list)
    _known: int = 0

    async def journaled(self) -> list[str]:
        """Return what was decided and sent in the project since the last call."""
        await self.session.journal.flush()
        events: list[str] = []
        for summary in self.harness.store.list():
            for record in self.harness.store.read(summary.id):
                event = record.event
                if isinstance(event, DecisionMade):
                    events.append(f"decided {event.decision.rule}")
                elif isinstance(event, StepRequested):
                    events.append(f"sent {event.request.purpose}")
        new, self._known = events[self._known :], len(events)
        return new

    async def observe(self, work: "asyncio.Task[Any]") -> None:
        """Let each request go when it is held, and note what followed."""
        await self.journaled()
        purpose = ""
        seen: set[str] = set()
        while True:
            await until(lambda: {held.id for held in self.session.held} - seen or work.done())
            new = await self.journaled()
            if purpose:
                self.rounds.append((purpose, new))
            else:
                assert new == [], "something was decided or sent before the first request was held"
            waiting = [held for held in self.session.held if held.id not in seen]
            if not waiting:
                return
            one = waiting[0]
            seen.add(one.id)
            assert await self.journaled() == []
            purpose = f"subagent {one.purpose}" if one.subagent else one.purpose
            self.proposals.append(one)
            assert self.session.step_mode.release(one.id)


def plain_prompt(session: LiveSession) -> Awaitable[Any]:
    return ask(session, "Read the logs.")


def with_answers(tmp_path: Path, *answers: Any, doing: Doing = plain_prompt, **more: Any) -> Way:
    harness, model = make_fit_harness(tmp_path, *answers, **more)
    return Way(harness, model, doing)


async def step(tmp_path: Path) -> Way:
    return with_answers(tmp_path, *reads(0), says("Well."))


async def prune_before(tmp_path: Path) -> Way:
    return with_answers(tmp_path, *reads(0, 1, 2, 3, 4, 5), says("Well."))


async def prune_after_turn(tmp_path: Path) -> Way:
    for number in range(8):
        (tmp_path / f"big{number}.txt").write_text((f"{number}" * 98 + "\n") * 500)
    big = [calls("read", path=f"big{number}.txt") for number in range(8)]
    said = [says("Read."), says("Two."), says("Three."), says("Four.")]

    async def first(session: LiveSession) -> None:
        await ask(session, "Read the eight files.")
        await ask(session, "Again?")

    async def doing(session: LiveSession) -> None:
        await ask(session, "And again?")
        await ask(session, "And now?")

    way = with_answers(tmp_path, *big, *said, doing=doing, window=400_000, policy="opencode-1.1")
    way.before = first
    return way


async def compaction(tmp_path: Path) -> Way:
    harness, model, session = await talked(tmp_path, says(SUMMARY))
    return Way(harness, model, lambda held: held.compact(), session)


async def automatic_compaction(tmp_path: Path) -> Way:
    return with_answers(
        tmp_path, *reads(0, 1, 2, 3, 4, 5), says(SUMMARY), says("Well."), policy=NO_PRUNE
    )


async def resend_after_a_summary(tmp_path: Path) -> Way:
    return with_answers(
        tmp_path, *reads(0), overflows(), says(SUMMARY), says("Well."), window=100_000
    )


async def resend_after_a_cut(tmp_path: Path) -> Way:
    base = PRESETS["palimpsest"]
    no_summary = base.model_copy(
        update={
            "recovery": base.recovery.model_copy(update={"compactions": 0, "result_share": 0.05})
        }
    )
    return with_answers(tmp_path, *reads(0, 1), overflows(), says("Well."), policy=no_summary)


async def cut_after_a_failed_summary(tmp_path: Path) -> Way:
    return with_answers(
        tmp_path,
        *reads(0, 1, 2, 3, 4, 5),
        says("Too short."),
        says("All is well."),
        policy=NO_PRUNE,
    )


async def retry_after_an_error(tmp_path: Path) -> Way:
    return with_answers(tmp_path, fails(503), says("Well."))


async def retry_by_the_person(tmp_path: Path) -> Way:
    way = with_answers(tmp_path, fails(400), says("Well."), doing=lambda held: held.retry())
    way.before = plain_prompt
    return way


async def structured_again(tmp_path: Path) -> Way:
    form = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    given = calls("StructuredOutput", n=3)

    def doing(session: LiveSession) -> Awaitable[Any]:
        return ask(session, "How many?", format=form)

    return with_answers(tmp_path, says("Three."), given, doing=doing)


async def own_policy(tmp_path: Path) -> Way:
    way = with_answers(tmp_path, *reads(0, 1, 2), says("Well."), window=90_000, policy=NO_PRUNE)
    object.__setattr__(way.harness.services.rules, "policy_stage", live_policy)
    way.before = lambda session: session.use_policy(newest_two)
    return way


async def subagent(tmp_path: Path) -> Way:
    task = calls("task", description="Look", prompt="Look around.", agent="explore")
    model = ScriptedModel(task, says("I looked."), says("It looked."))
    harness = make_subagent_harness(tmp_path, model, rules=FREE)
    return Way(harness, model, lambda session: ask(session, "Hand it on."))


async def title(tmp_path: Path) -> Way:
    model = ScriptedModel(says("Well."), says("Well."))
    harness = SessionHarness(tmp_path, model, titles=True)
    waits: Doing = lambda session: request_ended(session.title_writer)  # noqa: E731  one line of the table
    return Way(harness, model, lambda session: ask(session, "Hello."), waits=waits)


async def turn_summary(tmp_path: Path) -> Way:
    model = ScriptedModel(*[says("Well.")] * 3)
    harness = SessionHarness(tmp_path, model, turn_summaries=True)

    async def doing(session: LiveSession) -> None:
        await ask(session, "Hello.")
        await ask(session, "And now?")

    return Way(harness, model, doing)


STEP: Round = ("step", ["sent step"])
PRUNED: Round = ("step", [*["decided prune/batch"] * 2, "sent step"])
SUMMARY_FIRST: Round = ("step", [])
WRITTEN: Round = ("compaction", ["decided compact", "sent compaction", "decided compact"])
"""The second decision says how good the summary is that came."""
FAILED: Round = (
    "compaction",
    ["decided compact", "sent compaction", *["decided compact/aside"] * 3],
)
CASES: list[tuple[Callable[[Path], Awaitable[Way]], list[Round]]] = [
    (step, [STEP, STEP]),
    (prune_before, [*[STEP] * 4, PRUNED, STEP, PRUNED]),
    (prune_after_turn, [STEP, ("step", [*["decided prune/opencode"] * 5, "sent step"])]),
    (compaction, [WRITTEN]),
    (automatic_compaction, [*[STEP] * 6, SUMMARY_FIRST, WRITTEN, STEP]),
    (resend_after_a_summary, [STEP, STEP, WRITTEN, STEP]),
    (
        resend_after_a_cut,
        [*[STEP] * 3, ("step", [*["decided recover/oversized"] * 2, "sent step"])],
    ),
    (
        cut_after_a_failed_summary,
        [*[STEP] * 6, SUMMARY_FIRST, FAILED, ("step", ["decided recover/oversized", "sent step"])],
    ),
    # The same request goes out again without another release: it was let go, and nothing was decided since.
    (retry_after_an_error, [STEP]),
    (retry_by_the_person, [STEP]),
    (structured_again, [STEP, STEP]),
    (own_policy, [*[STEP] * 3, ("step", ["decided policy/newest_two", "sent step"])]),
    (subagent, [STEP, ("subagent step", ["sent step"]), STEP]),
    (title, [("step", ["sent title", "sent step"])]),
    (turn_summary, [STEP, ("step", ["sent turn-summary", "sent step"])]),
]
SENT_TWICE = {retry_after_an_error: 1}


@pytest.mark.parametrize(
    ("make", "rounds"), thinned(CASES, 4), ids=lambda one: getattr(one, "__name__", "")
)
async def test_nothing_is_decided_or_sent_before_its_release(
    tmp_path: Path, make: Callable[[Path], Awaitable[Way]], rounds: list[Round]
) -> None:
    way = await make(tmp_path)
    session = way.session or await way.harness.session()
    if way.before is not None:
        await way.before(session)
    already = len(way.model.requests)
    session.step_mode.switch(is_on=True)
    observed = Observed(way.harness, session)

    await observed.observe(asyncio.ensure_future(way.doing(session)))
    if way.waits is not None:
        await way.waits(session)

    assert observed.rounds == rounds
    sent = [event for _, found in observed.rounds for event in found if event.startswith("sent")]
    assert len(way.model.requests) - already == len(sent) + SENT_TWICE.get(make, 0)
    for proposal, (_, found) in zip(observed.proposals, observed.rounds, strict=True):
        proposed = [f"decided {decision.rule}" for decision in proposal.decisions]
        until_sent = [event for event in found[: _first_sent(found)] if event.startswith("decided")]
        assert proposed == until_sent


def _first_sent(found: list[str]) -> int:
    """Return where the first request was sent; what is decided after that came with its answer."""
    return next((at for at, event in enumerate(found) if event.startswith("sent")), len(found))

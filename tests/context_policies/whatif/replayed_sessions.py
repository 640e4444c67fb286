"""Sessions of reads recorded under a policy, and what that policy decides live, from sizes and exactly."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.harness.session import SessionHarness, ask
from tests.loop.context_management.test_fit_driver import SUMMARY, make_fit_harness

from palimpsest.context.policy_overrides import policy_with_changes
from palimpsest.context_policies.registry import get
from palimpsest.context_policies.whatif.exact_whatif import exact_whatif
from palimpsest.context_policies.whatif.light_whatif import light_whatif
from palimpsest.context_policies.whatif.steps import Replay
from palimpsest.model.script import ModelAnswer, calls, says
from palimpsest.model.tokenizer import counter
from palimpsest.recordings.timeline.journal_timeline import timeline_of
from palimpsest.review.session_review import SessionReview
from palimpsest.store.interface import Store
from palimpsest.transcript.context_values.policies import Policy

Turns = Sequence[tuple[Sequence[tuple[int, int]], int]]
"""Of each turn: the files that it reads with how many lines, and minutes of a pause before it."""
PolicyResult = list[Counter[tuple[str, str | None]]]
"""What each request cleared or shortened: rule and part."""
QUIET = policy_with_changes(Policy(), {"prune.rule": "none", "overflow.auto": False})
EVERY_RULE_ACTS: Turns = [
    ([(0, 250), (1, 250), (2, 200)], 0),
    ([(3, 250), (0, 250), (4, 250)], 0),
    ([(5, 120)], 0),
    ([(6, 60)], 10),
    ([(7, 60)], 0),
]
"""Enough is read, often enough, and once after a pause."""


def review_of(store: Store, session_id: str) -> SessionReview:
    return SessionReview(timeline_of(store, session_id, counter), get, lambda _model: None)


def ruled(rule: str, **numbers: object) -> Policy:
    """Return our policy with a rule of pruning, and numbers so small that it has something to do."""
    small: dict[str, object] = {
        "protect_tokens": 2_000,
        "minimum_tokens": 500,
        "soft_ratio": 0.1,
        "ttl_seconds": 60.0,
        "start_share": 0.5,
    }
    chosen = {f"prune.{name}": value for name, value in (small | numbers).items()}
    return policy_with_changes(QUIET, {"prune.rule": rule} | chosen)


def decided(replay: Replay) -> PolicyResult:
    return [
        Counter(
            (decision.rule, decision.part_id)
            for decision in step.decisions
            if decision.action in ("truncate", "clear")
        )
        for step in replay.steps
    ]


async def recorded(root: Path, turns: Turns, policy: Policy = QUIET) -> tuple[SessionHarness, str]:
    """Record a session: turns of reads, each after a pause."""
    answers: list[ModelAnswer] = []
    for reads, _ in turns:
        answers += [calls("read", path=f"log{name}.txt", limit=lines) for name, lines in reads]
        answers.append(says("Well."))
    harness, _ = make_fit_harness(
        root, *answers, says(SUMMARY), window=40_000, caching=True, policy=policy
    )
    session = await harness.session()
    for number, (_, minutes) in enumerate(turns):
        harness.clock.now += minutes * 60_000
        await ask(session, f"Read the logs, {number}.")
    await session.journal.flush()
    return harness, session.id


async def decided_everywhere(root: Path, policy: Policy, turns: Turns) -> dict[str, PolicyResult]:
    """Return what a policy decided in a live session, and decides about that session in both replays."""
    harness, session_id = await recorded(root, turns, policy)
    exact = exact_whatif(harness.store, session_id, policy)
    light = light_whatif(review_of(harness.store, session_id), policy)
    await harness.workspace.close()
    return {
        "live": decided(exact.recorded),
        "exact": decided(exact.other),
        "light": decided(light.other),
    }


async def decided_instead(root: Path, policy: Policy, turns: Turns) -> dict[str, PolicyResult]:
    """Return what a policy decides in both replays about a session that reduced nothing."""
    harness, session_id = await recorded(root, turns)
    exact = exact_whatif(harness.store, session_id, policy)
    light = light_whatif(review_of(harness.store, session_id), policy)
    await harness.workspace.close()
    return {"exact": decided(exact.other), "light": decided(light.other)}

"""From a session's record everything that restricts applies, and of the rest only what the user granted."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.harness.session import SessionHarness, ask

from palimpsest.model.script import fails, says
from palimpsest.session.controls.spending_limit import spent_by
from palimpsest.session.permissions.effective_rules import EffectiveRules
from palimpsest.session.permissions.recorded_claims import (
    FREEDOM_BY_MODE,
    applicable_budget,
    applicable_mode,
    applicable_rules,
    with_all_claims,
)
from palimpsest.session.permissions.withheld_claims import grant_claims, with_granted_rights
from palimpsest.testing import ScriptedModel
from palimpsest.tools.permission_rules.modes import MODES
from palimpsest.transcript.messages import AssistantMessage, MessagePath, MessageTime
from palimpsest.transcript.session_record.sessions import (
    Budget,
    Claims,
    ForkedFrom,
    SessionInfo,
    SessionTime,
    Spent,
    sane_spending,
)
from palimpsest.transcript.values import ModelRef, Rule, Usage

RECORD = SessionInfo(
    id="ses_1",
    project_id="p",
    directory="/x",
    title="t",
    version="1",
    time=SessionTime(created=1, updated=1),
)
ALL = Rule(permission="*", pattern="*", action="allow")
ASKS = Rule(permission="bash", pattern="*", action="ask")

amounts = st.none() | st.floats() | st.sampled_from([-1.0, 0.0, 0.5, 1.0, 2.0, 1e300])
counts = st.none() | st.integers(-(10**20), 10**20)
budgets = st.builds(
    Budget,
    usd=amounts,
    tokens=counts,
    usd_until=amounts,
    tokens_until=counts,
    unpriced=st.sampled_from([(), ("x/y",)]),
    own=st.booleans(),
)
configured = st.builds(
    Budget, usd=st.none() | st.floats(0.01, 1e6), tokens=st.none() | st.integers(1, 10**9)
)
modes = st.none() | st.sampled_from([*MODES, "yolo", ""])
records = st.builds(
    lambda **fields: RECORD.model_copy(update=fields),
    mode=modes,
    mode_own=st.none() | st.booleans(),
    permission=st.lists(st.sampled_from([ALL, ASKS])).map(tuple),
    budget=st.none() | budgets,
    model=st.none() | st.just(ModelRef(provider="x", name="y")),
    agent=st.none() | st.just("build"),
    claimed=st.none()
    | st.builds(Claims, permission=st.just((ALL,)), mode=modes, budget=st.none() | budgets),
    cost=amounts,
    below=st.none() | st.builds(Spent, cost=amounts, unpriced=st.integers(-9, 9)),
)


def _until(first: float | None, other: float | None) -> float:
    return first if first is not None else other if other is not None else float("inf")


@given(records, configured, st.sampled_from(MODES))
def test_what_nobody_granted_never_frees_more_than_is_configured(
    record: SessionInfo, budget: Budget, mode: Any
) -> None:
    effective_rules = EffectiveRules(mode=mode, budget=budget)
    held = with_granted_rights(record, effective_rules, ())

    assert FREEDOM_BY_MODE[effective_rules.mode_of(held)] <= FREEDOM_BY_MODE[mode]
    assert [rule for rule in effective_rules.applicable_rules(held) if rule.action == "allow"] == []
    assert [rule for rule in held.permission if rule.action == "allow"] == []
    limit = effective_rules.own_budget(held)
    assert _until(limit.usd_until, limit.usd) <= _until(None, budget.usd)
    assert _until(limit.tokens_until, limit.tokens) <= _until(None, budget.tokens)
    assert limit.unpriced == ()
    assert (held.model, held.agent) == (None, None)
    spent = spent_by(held)
    assert spent.cost is None or spent.cost >= 0
    assert with_granted_rights(held, effective_rules, ()) == held
    assert (held.mode or "ask") == effective_rules.mode_of(held) or held.mode is None


@pytest.mark.parametrize("mode", ["plan", "ask"])
def test_a_tighter_mode_of_the_log_holds(mode: str) -> None:
    record = RECORD.model_copy(update={"mode": mode, "mode_own": True})

    assert applicable_mode(record, "bypass", None) == mode
    assert with_granted_rights(record, EffectiveRules(mode="bypass"), ()).claimed is None


def test_a_mode_holds_as_far_as_it_was_granted() -> None:
    record = RECORD.model_copy(update={"mode": "bypass", "mode_own": True})

    assert applicable_mode(record, "ask", "bypass") == "bypass"
    assert applicable_mode(record, "ask", "accept-edits") == "accept-edits"
    assert applicable_mode(record, "ask", "yolo") is None
    assert applicable_mode(RECORD, "ask", "bypass") is None


def test_rules_that_allow_nothing_hold_and_others_as_they_were_granted() -> None:
    record = RECORD.model_copy(update={"permission": (ALL, ASKS)})

    assert applicable_rules(record, ()) == (ASKS,)
    assert applicable_rules(record, (ALL,)) == (ALL, ASKS)
    assert applicable_rules(RECORD, (ALL,)) == ()


@pytest.mark.parametrize(
    ("claimed", "granted", "holds"),
    [
        (Budget(usd=2, usd_until=9), None, Budget(usd=2)),
        (Budget(usd=2, usd_until=9), {"usd": 2, "usd_until": 4}, Budget(usd=2, usd_until=4)),
        (Budget(usd=2, usd_until=3), {"usd": 2, "usd_until": 4}, Budget(usd=2, usd_until=3)),
        (Budget(usd=2, usd_until=9), {"usd": 1, "usd_until": 4}, Budget(usd=2)),
        (Budget(usd=1, own=True), None, Budget(usd=1, own=True)),
        (Budget(tokens=5, own=True), None, Budget(usd=2, tokens=5, own=True)),
        (Budget(usd=9, own=True), None, Budget(usd=2)),
        (Budget(usd=9, own=True), {"usd": 9, "own": True}, Budget(usd=9, own=True)),
        (Budget(own=True), {"own": True}, Budget(own=True)),
        (Budget(own=True), [1], Budget(usd=2)),
        (Budget(usd=2, unpriced=("a", "b")), {"usd": 2, "unpriced": ["a"]}, None),
    ],
)
def test_a_limit_holds_as_far_as_it_was_granted(
    claimed: Budget, granted: Any, holds: Budget | None
) -> None:
    record = RECORD.model_copy(update={"budget": claimed})
    expected = holds or Budget(usd=2, unpriced=("a",))

    assert applicable_budget(record, Budget(usd=2), granted) == expected


def answer(cost: float | None, tokens: int) -> AssistantMessage:
    return AssistantMessage(
        id="msg_1",
        session_id="ses_1",
        parent_id="msg_0",
        time=MessageTime(created=1),
        agent="build",
        model=ModelRef(provider="x", name="y"),
        path=MessagePath(cwd="/", root="/"),
        cost=cost,
        tokens=Usage(input=tokens),
    )


def test_what_was_spent_is_never_less_than_the_answers_of_the_log_took() -> None:
    answers = [answer(1.5, 100), answer(2.0, 200), answer(-9.0, -900)]
    record = RECORD.model_copy(update={"cost": -100.0, "tokens": Usage(input=-5)})

    held = with_granted_rights(record, EffectiveRules(), answers)
    assert (held.cost, held.tokens.input) == (3.5, 300)
    more = with_granted_rights(RECORD.model_copy(update={"cost": 9.0}), EffectiveRules(), answers)
    assert more.cost == 9.0
    place = ForkedFrom(session_id="ses_0", seq=1, segment="log-1.jsonl", offset=1)
    assert (
        with_granted_rights(
            record.model_copy(update={"forked_from": place}), EffectiveRules(), answers
        ).cost
        is None
    )


def test_an_account_below_nothing_is_none() -> None:
    wrong = Spent(cost=float("nan"), tokens=Usage(input=-1, output=3), unpriced=-2)

    assert sane_spending(wrong) == Spent(cost=None, tokens=Usage(output=3))
    assert spent_by(RECORD.model_copy(update={"cost": -1.0, "below": wrong})).cost is None


def test_what_was_held_back_can_be_granted_and_then_holds() -> None:
    effective_rules = EffectiveRules(budget=Budget(usd=2))
    claims = {
        "mode": "bypass",
        "mode_own": True,
        "permission": (ALL,),
        "budget": Budget(usd=5, own=True),
        "model": ModelRef(provider="x", name="y"),
        "agent": "plan",
    }
    record = RECORD.model_copy(update=claims)
    held = with_granted_rights(record, effective_rules, ())
    assert held.claimed is not None

    assert grant_claims(held, effective_rules) == record
    assert with_granted_rights(record, effective_rules, ()) == record
    assert (
        with_granted_rights(held, effective_rules, ()) == record
    )  # as after a run in another home folder


def test_a_limit_that_holds_in_part_can_still_be_granted_whole() -> None:
    effective_rules = EffectiveRules(budget=Budget(tokens=500))
    claimed = Budget(usd=5, tokens=10**6, own=True)
    held = with_granted_rights(RECORD.model_copy(update={"budget": claimed}), effective_rules, ())
    assert held.budget == Budget(usd=5, tokens=500, own=True)

    again = with_granted_rights(held, effective_rules, ())
    assert again == held
    assert grant_claims(again, effective_rules).budget == claimed


def test_what_an_administrator_fixed_cannot_be_granted() -> None:
    effective_rules = EffectiveRules(mode_fixed="x", budget=Budget(usd=2), budget_fixed="x")
    record = RECORD.model_copy(
        update={"mode": "bypass", "mode_own": True, "budget": Budget(own=True)}
    )

    held = grant_claims(with_granted_rights(record, effective_rules, ()), effective_rules)

    assert held.claimed == Claims(mode="bypass", budget=Budget(own=True))


def test_what_tightens_is_not_given_up_for_a_claim() -> None:
    record = RECORD.model_copy(
        update={"mode": "plan", "mode_own": True, "claimed": Claims(mode="bypass")}
    )

    assert with_all_claims(record).mode == "plan"
    assert with_granted_rights(record, EffectiveRules(), ()).mode == "plan"


async def test_a_mode_chosen_since_stands_for_what_was_held_back(tmp_path: Path) -> None:
    harness = SessionHarness(tmp_path, ScriptedModel(says("Hi.")))
    session = await harness.session()
    session.log.change_session(mode="bypass", mode_own=True, permission=(ALL,))
    await harness.workspace.close()

    session = await harness.session()
    assert isinstance(session.opening_notice, str)
    assert session.control.withheld == ("mode bypass", "*: *")
    session.control.use_mode("accept-edits")
    assert session.control.withheld == ("*: *",)
    await harness.workspace.close()
    assert (await harness.session()).control.mode == "accept-edits"


async def test_a_retry_asks_no_model_and_no_agent_that_only_the_log_names(tmp_path: Path) -> None:
    harness = SessionHarness(tmp_path, ScriptedModel(fails(400, "Bad request.")))
    session = await harness.session()
    await ask(session, "Hi", model="far/away", agent="plan")
    await harness.workspace.close()

    model = ScriptedModel(says("Hello."))
    elsewhere = SessionHarness(tmp_path, model, store=harness.store)
    session = await elsewhere.session()
    assert "model far/away, agent plan" in session.opening_notice
    answered = await session.retry()
    assert answered.error is not None
    assert "names the model far/away, and nobody named it" in answered.error.message
    assert len(model.requests) == 0

    assert (await ask(session, "Hi")).text == "Hello."
    picture = session.snapshot().session
    assert picture is not None
    assert picture.model is not None
    assert (picture.model.id, picture.agent) == ("scripted/model", "build")

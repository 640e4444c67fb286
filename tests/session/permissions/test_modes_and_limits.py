"""A user limits the agent by mode, approvals and spending limits, with the real loop."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.harness.session import SessionHarness, ask

from palimpsest.model.script import calls, says
from palimpsest.session.controls.spending_limit import NO_PRICE_QUESTION, spent_text
from palimpsest.session.open_sessions.live_session import LiveSession
from palimpsest.session.permissions.effective_rules import Approvals, EffectiveRules
from palimpsest.session.permissions.grants import Grants
from palimpsest.store.log.journal import Journal
from palimpsest.store.project_folder.layout import ProjectNumber
from palimpsest.testing import ScriptedModel
from palimpsest.transcript.errors import ConfigError, NotFound, UnknownError
from palimpsest.transcript.messages import Message
from palimpsest.transcript.parts import ToolFailed, ToolPart
from palimpsest.transcript.session_record.events import PermissionAsked, SessionError
from palimpsest.transcript.session_record.sessions import Budget, Spent
from palimpsest.transcript.values import Ask, ModelInfo, ModelRef, Price, Reply, Rule

PRICED = ModelInfo(
    ref=ModelRef(provider="x", name="y"),
    window=100_000,
    output_limit=4_000,
    price=Price(input=1_000.0, output=0.0),
)
"""A model whose prompts cost a dollar per thousand tokens."""

UNPRICED = PRICED.model_copy(update={"price": Price()})


def approvals_of(project: Path, state: Path) -> Approvals:
    """Return the approvals of a project, stored in a folder outside it."""
    kept = project / ".palimpsest"
    kept.mkdir(parents=True, exist_ok=True)
    return Approvals(Grants(project, ProjectNumber(kept), folder=state / "grants"), kept)


def tools(messages: tuple[Message, ...]) -> list[ToolPart]:
    return [part for m in messages for part in m.parts if isinstance(part, ToolPart)]


def answered(session: LiveSession, reply: Callable[[Ask], Reply]) -> list[Ask]:
    """Reply to every question as it comes, and collect the questions."""
    asked: list[Ask] = []

    def answer(records: Any) -> None:
        for record in records:
            if isinstance(record.event, PermissionAsked):
                asked.append(record.event.ask)
                session.reply(record.event.ask.id, reply(record.event.ask))

    session.subscribe(answer)
    return asked


def once(_ask: Ask) -> Reply:
    return Reply(answer="once")


def write(name: str) -> Any:
    return calls("write", path=name, content="x")


async def test_accepted_edits_are_made_without_a_question(tmp_path: Path) -> None:
    model = ScriptedModel(write("a.txt"), calls("bash", command="ls"), says("Done."))
    session = await SessionHarness(tmp_path, model).session()
    asked = answered(session, once)

    assert session.control.use_mode("accept-edits") == "accept-edits"
    await ask(session, "Write.")

    assert (tmp_path / "a.txt").read_text() == "x"
    assert [ask.permission for ask in asked] == ["bash"]


async def test_what_yes_answers_is_never_found_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A front end that found it open between two records asked in the cell, and took a line that was typed ahead."""
    found: list[tuple[str, ...]] = []
    append = Journal.append

    def watched(journal: Journal, *events: Any, **options: Any) -> int:
        last = append(journal, *events, **options)
        found.append(tuple(journal.state.asks_by_id))
        return last

    monkeypatch.setattr(Journal, "append", watched)
    model = ScriptedModel(calls("bash", command="true"), says("Done."))
    session = await SessionHarness(tmp_path, model).session()

    await ask(session, "Do it.", yes=True)

    assert [reply.by for reply in session.snapshot().replies.values()] == ["--yes"]
    assert found
    assert set(found) == {()}


@pytest.mark.parametrize("path", ["palimpsest.toml", ".git/hooks/pre-commit", "sub/.git/config"])
async def test_what_says_what_may_run_asks_though_edits_are_accepted(
    tmp_path: Path, path: str
) -> None:
    model = ScriptedModel(write(path), says("Done."))
    session = await SessionHarness(tmp_path, model).session()
    asked = answered(session, once)

    session.control.use_mode("accept-edits")
    await ask(session, "Write.")

    assert [ask.patterns for ask in asked] == [(path,)]


@pytest.mark.parametrize("scope", ["session", "project"])
async def test_always_for_one_file_answers_for_no_other(tmp_path: Path, scope: str) -> None:
    others = ("b.txt", ".git/hooks/post-checkout", "palimpsest.toml", ".env", ".claude/agents/x.md")
    (tmp_path / "a.txt").write_text("")
    model = ScriptedModel(
        write("a.txt"),
        calls("edit", path="a.txt", old="x", new="y"),
        write("a.txt"),
        *(write(name) for name in (*others, *others)),
        says("Done."),
    )
    session = await SessionHarness(tmp_path, model).session()

    def always(_ask: Ask) -> Reply:
        return Reply.model_validate({"answer": "always", "scope": scope})

    asked = answered(session, always)
    await ask(session, "Write.")

    # A rule for writing does not allow edits; protected files ask again, whatever was answered.
    assert [(ask.permission, ask.patterns, ask.always) for ask in asked] == [
        ("write", ("a.txt",), ("a.txt",)),
        ("edit", ("a.txt",), ("a.txt",)),
        ("write", ("b.txt",), ("b.txt",)),
        *(("write", (name,), ()) for name in (*others[1:], *others[1:])),
    ]


async def test_a_mode_holds_from_the_next_call_on(tmp_path: Path) -> None:
    model = ScriptedModel(write("a.txt"), write("b.txt"), says("Done."), says("Again."))
    session = await SessionHarness(tmp_path, model).session()

    def plan(_ask: Ask) -> Reply:
        session.control.use_mode("plan")
        return Reply(answer="once")

    asked = answered(session, plan)
    answer = await ask(session, "Write twice.")

    first, second = tools(answer.messages)
    assert first.state.status == "completed"
    assert isinstance(second.state, ToolFailed)
    assert len(asked) == 1
    await ask(session, "And now?")
    offered = {spec.name for spec in model.requests[-1].tools}
    assert not offered & {"write", "edit", "bash"}
    assert "plan mode" in str(model.requests[-1].messages)


async def test_the_model_is_told_when_plan_mode_ends(tmp_path: Path) -> None:
    model = ScriptedModel(says("a"), says("b"), says("c"))
    session = await SessionHarness(tmp_path, model).session()
    session.control.use_mode("plan")
    await ask(session, "one")
    session.control.use_mode("default")
    await ask(session, "two")
    await ask(session, "three")

    told = [str(request.messages) for request in model.requests]
    assert "session in plan mode" in told[0]
    assert [text.count("Plan mode has ended") for text in told] == [0, 1, 1]


async def test_a_mode_is_kept_with_the_session(tmp_path: Path) -> None:
    harness = SessionHarness(tmp_path, ScriptedModel(says("Hi.")))
    session = await harness.session()
    await ask(session, "Hi")
    session.control.use_mode("bypass")
    await harness.workspace.close()

    again = await harness.session()

    assert again.control.mode == "bypass"
    again.control.use_mode("default")
    assert again.control.mode == "ask"


async def test_a_fixed_mode_cannot_be_left(tmp_path: Path) -> None:
    effective_rules = EffectiveRules(mode="plan", mode_fixed="organisation's file /etc/x")
    session = await SessionHarness(
        tmp_path, ScriptedModel(), effective_rules=effective_rules
    ).session()

    with pytest.raises(ConfigError, match="fixed by the organisation's file"):
        session.control.use_mode("bypass")
    assert session.control.mode == "plan"


async def test_always_holds_for_the_session_and_can_be_taken_back(tmp_path: Path) -> None:
    run = calls("bash", command="echo 1")
    model = ScriptedModel(run, says("a"), run, says("b"), run, says("c"))
    harness = SessionHarness(tmp_path, model)
    session = await harness.session()
    asked = answered(session, lambda _: Reply(answer="always"))

    await ask(session, "one")
    await ask(session, "two")
    assert len(asked) == 1
    (grant,) = session.control.allowances
    assert (grant.number, grant.scope, grant.rule_text) == (1, "session", "bash: echo *")

    assert session.control.revoke(1) == (grant,)
    assert session.control.allowances == ()
    await ask(session, "three")
    assert len(asked) == 2
    with pytest.raises(NotFound, match="number 7"):
        session.control.revoke(7)


async def test_always_in_this_project_holds_in_every_session_of_it(tmp_path: Path) -> None:
    approvals = approvals_of(tmp_path / "project", tmp_path / "state")
    run = calls("bash", command="echo 1")
    model = ScriptedModel(run, says("a"), run, says("b"))
    harness = SessionHarness(tmp_path, model, effective_rules=EffectiveRules(approvals=approvals))
    session = await harness.session("a.ipynb")
    asked = answered(session, lambda _: Reply(answer="always", scope="project"))
    await ask(session, "one")

    other = await harness.session("b.ipynb")
    answer = await ask(other, "two")

    assert tools(answer.messages)[0].state.status == "completed"
    assert len(asked) == 1
    (grant,) = other.control.allowances
    assert (grant.scope, grant.session_id) == ("project", session.id)
    assert session.control.revoke() == (grant,)
    assert other.control.allowances == ()


async def test_what_cannot_be_kept_holds_until_the_kernel_ends_and_says_so_once(
    tmp_path: Path,
) -> None:
    (tmp_path / "state").write_text("a file where the folder should be")
    approvals = approvals_of(tmp_path / "project", tmp_path / "state")
    one, two = calls("bash", command="echo 1"), calls("bash", command="ls")
    model = ScriptedModel(one, two, says("a"), one, says("b"))
    harness = SessionHarness(tmp_path, model, effective_rules=EffectiveRules(approvals=approvals))
    session = await harness.session("a.ipynb")
    asked = answered(session, lambda _: Reply(answer="always", scope="project"))

    await ask(session, "one")
    other = await harness.session("b.ipynb")
    answer = await ask(other, "two")

    assert tools(answer.messages)[0].state.status == "completed"
    assert len(asked) == 2
    told = [r.event for r in await harness.records(session) if isinstance(r.event, SessionError)]
    assert len(told) == 1
    assert told[0].error.message.startswith("What you allow holds until this kernel ends, because")


async def test_a_deny_stands_above_every_approval(tmp_path: Path) -> None:
    deny = (Rule(permission="bash", pattern="echo *", action="deny"),)
    harness = SessionHarness(tmp_path, ScriptedModel(calls("bash", command="echo 1"), says("No.")))
    session = await harness.session()
    session.control.use_mode("bypass")
    harness.services.rules.effective_rules.rules = (*harness.services.rules.base_rules, *deny)

    answer = await ask(session, "Echo.", yes=True)

    (part,) = tools(answer.messages)
    assert isinstance(part.state, ToolFailed)
    assert "denies" in part.state.error


async def test_a_circle_of_two_calls_asks_once_in_a_turn(tmp_path: Path) -> None:
    a, b = calls("list"), calls("glob", pattern="*")
    model = ScriptedModel(*[a, b] * 5, says("Enough."), *[a, b] * 3, says("Again."))
    session = await SessionHarness(tmp_path, model).session()
    session.control.use_mode("bypass")
    asked = answered(session, once)

    answer = await ask(session, "Look.", yes=True)
    assert answer.text == "Enough."
    assert [ask.permission for ask in asked] == ["doom_loop"]
    assert asked[0].title == "The model repeats the same 2 calls. Go on?"

    await ask(session, "Look again.", yes=True)
    assert len(asked) == 2


async def test_always_lets_a_tool_repeat_itself_in_this_session_alone(tmp_path: Path) -> None:
    model = ScriptedModel(*[calls("list")] * 4, says("1."), *[calls("list")] * 4, says("2."))
    harness = SessionHarness(tmp_path, model)
    session = await harness.session()
    asked = answered(session, lambda _: Reply(answer="always", scope="project"))

    assert (await ask(session, "Look.", yes=True)).text == "1."
    assert (await ask(session, "Look again.", yes=True)).text == "2."
    assert [(ask.permission, ask.always) for ask in asked] == [("doom_loop", ("list",))]

    assert harness.services.rules.effective_rules.approvals.list() == ()
    model.script(*[calls("list")] * 4, says("3."))
    other = await harness.workspace.new(None)
    assert isinstance(other, LiveSession)
    asked_there = answered(other, once)
    assert (await ask(other, "Look.", yes=True)).text == "3."
    assert [ask.permission for ask in asked_there] == ["doom_loop"]


async def test_a_rule_that_allows_loops_is_no_persons_always(tmp_path: Path) -> None:
    allow = (Rule(permission="doom_loop", pattern="*", action="allow"),)
    harness = SessionHarness(tmp_path, ScriptedModel(*[calls("list")] * 4, says("Enough.")))
    session = await harness.session()
    harness.services.rules.effective_rules.rules = (*harness.services.rules.base_rules, *allow)
    asked = answered(session, once)

    await ask(session, "Look.", yes=True)

    assert [ask.permission for ask in asked] == ["doom_loop"]


async def test_a_circle_of_three_calls_can_be_stopped(tmp_path: Path) -> None:
    three = [calls("list"), calls("glob", pattern="*"), calls("glob", pattern="a")]
    session = await SessionHarness(tmp_path, ScriptedModel(*three * 4, says("x"))).session()
    asked = answered(session, lambda _: Reply(answer="reject"))

    answer = await ask(session, "Look.")

    assert len(asked) == 1
    assert len(tools(answer.messages)) == 9
    assert answer.text == ""


async def test_equal_calls_side_by_side_ask_once(tmp_path: Path) -> None:
    five = calls("list").calls("list").calls("list").calls("list").calls("list")
    session = await SessionHarness(tmp_path, ScriptedModel(five, says("Done."))).session()
    asked = answered(session, once)

    answer = await ask(session, "Look.")

    assert answer.text == "Done."
    assert len(asked) == 1


# Spending limits


def limited(
    tmp_path: Path, *script: Any, info: ModelInfo = PRICED, **budget: Any
) -> SessionHarness:
    model = ScriptedModel(*script)
    effective_rules = EffectiveRules(budget=Budget(**budget))
    return SessionHarness(tmp_path, model, info=info, effective_rules=effective_rules)


def looks(tokens: int = 1_000) -> Any:
    return calls("list").reports(input=tokens)


async def test_a_limit_in_dollars_stops_with_a_question(tmp_path: Path) -> None:
    script = [looks(), calls("glob", pattern="*").reports(input=1_000), looks(), says("Done.")]
    session = await limited(tmp_path, *script, usd=2.0).session()
    asked = answered(session, once)

    answer = await ask(session, "Look.", yes=True)

    assert answer.text == "Done."
    assert [ask.title for ask in asked] == [
        "The spending limit of $2.00 is reached: $2.00 so far. Go on by $2.00 more?"
    ]
    picture = session.snapshot().session
    assert picture is not None
    assert picture.budget == Budget(usd=2.0, usd_until=4.0)
    assert picture.mode is None


async def test_a_stop_at_the_limit_is_explained_and_can_be_taken_up(tmp_path: Path) -> None:
    harness = limited(tmp_path, looks(), says("Done."), tokens=500)
    session = await harness.session()
    answers = iter(["reject", "once"])
    asked = answered(session, lambda _: Reply(answer=next(answers)))  # type: ignore[arg-type]

    answer = await ask(session, "Look.")
    assert isinstance(answer.error, UnknownError)
    assert answer.error.message.startswith(
        "The session was stopped at its spending limit of 500 tokens"
    )
    assert "%agent budget" in answer.error.message

    again = await session.retry()
    assert again.text == "Done."
    assert [ask.permission for ask in asked] == ["budget", "budget"]
    assert session.control.budget.tokens_until == 1_500


@pytest.mark.parametrize(
    "report",
    [{"input": -5_000}, {"input": -5_000, "output": 100}, {"cache_read": -(10**12)}, {"output": 10**15}],
)  # fmt: skip
async def test_an_impossible_usage_takes_nothing_back_from_what_was_spent(
    tmp_path: Path, report: dict[str, int]
) -> None:
    script = [looks(), calls("list", path=".").reports(**report), says("Done.")]
    session = await limited(tmp_path, *script, tokens=500).session()
    answered(session, lambda _: Reply(answer="once"))

    await ask(session, "Look.")
    assert 1_000 <= session.control.spent.all_tokens < 10_000


async def test_headless_a_limit_stops_with_a_sentence(tmp_path: Path) -> None:
    session = await limited(tmp_path, looks(), says("x"), tokens=500).session()
    answered(session, lambda _: Reply(answer="reject", by="headless"))

    answer = await ask(session, "Look.", yes=True)

    assert answer.error is not None
    assert "Nobody is here to say whether to go on." in answer.error.message


async def test_an_unknown_price_never_counts_as_nothing(tmp_path: Path) -> None:
    harness = limited(tmp_path, looks(), says("Done."), info=UNPRICED, usd=2.0)
    session = await harness.session()
    asked = answered(session, once)

    await ask(session, "Look.")

    assert [ask.title for ask in asked] == [
        NO_PRICE_QUESTION.format(model="scripted/model", limit="$2.00"),
    ]
    assert session.control.spent.unpriced == 2
    assert session.control.budget.unpriced == ("scripted/model",)


async def test_without_a_limit_nothing_is_asked(tmp_path: Path) -> None:
    session = await limited(tmp_path, looks(10**9), says("Done.")).session()
    asked = answered(session, once)

    assert (await ask(session, "Look.")).text == "Done."
    assert asked == []


async def test_a_limit_can_be_set_and_taken_off_while_it_runs(tmp_path: Path) -> None:
    harness = limited(tmp_path, looks(), says("Done."), tokens=500)
    session = await harness.session()
    asked = answered(session, once)

    session.control.set_budget(usd=5.0)
    await ask(session, "Look.")
    assert asked == []
    assert session.control.budget == Budget(usd=5.0, own=True)
    assert session.control.set_budget() == Budget(own=True)
    for wrong in ({"usd": 0.0}, {"usd": float("nan")}, {"tokens": 0}):
        with pytest.raises(ConfigError, match="more than nothing"):
            session.control.set_budget(**wrong)  # type: ignore[arg-type]


async def test_what_a_child_spends_counts_and_asks_in_the_session_that_began_it(
    tmp_path: Path,
) -> None:
    script = [looks(), says("Child done."), says("x")]
    harness = limited(tmp_path, *script, tokens=500)
    parent = await harness.session("a.ipynb")
    child = await harness.session("b.ipynb")
    harness.services.rules.effective_rules.parent_of_child[child.id] = parent.id
    asked = answered(parent, lambda _: Reply(answer="reject"))
    answered(child, once)

    answer = await ask(child, "Look.")

    assert parent.control.spent.all_tokens >= 1_000
    assert len(asked) == 1
    assert answer.error is not None
    assert "spending limit of 500 tokens" in answer.error.message
    assert child.control.mode == parent.control.mode


async def test_a_parent_that_only_the_log_names_shares_neither_mode_nor_purse(
    tmp_path: Path,
) -> None:
    harness = limited(tmp_path, looks(), says("x"), tokens=500)
    other = await harness.session("a.ipynb")
    other.control.use_mode("bypass")
    claims = await harness.session("b.ipynb")
    claims.log.change_session(parent_id=other.id)
    elsewhere, here = answered(other, once), answered(claims, once)

    await ask(claims, "Look.")

    assert claims.control.mode == "ask"
    assert (len(elsewhere), len(here)) == (0, 1)
    assert other.control.spent.all_tokens == 0


async def test_stopping_a_turn_closes_the_question_about_its_limit(tmp_path: Path) -> None:
    session = await limited(tmp_path, looks(), says("x"), tokens=500).session()

    def stop(_ask: Ask) -> Reply:
        session.cancel()
        return Reply(answer="once")

    asked = answered(session, stop)
    await ask(session, "Look.")

    assert len(asked) == 1
    assert session.snapshot().asks == ()


async def test_the_configured_mode_is_shown_in_the_session_and_follows_the_settings(
    tmp_path: Path,
) -> None:
    effective_rules = EffectiveRules(mode="accept-edits")
    model = ScriptedModel(says("a"), says("b"))
    session = await SessionHarness(tmp_path, model, effective_rules=effective_rules).session()
    await ask(session, "one")
    picture = session.snapshot().session
    assert picture is not None
    assert (picture.mode, picture.mode_own) == ("accept-edits", None)

    effective_rules.mode = "ask"
    await ask(session, "two")

    picture = session.snapshot().session
    assert picture is not None
    assert picture.mode == session.control.mode == "ask"


def test_what_was_spent_is_never_said_to_be_less_than_it_may_be() -> None:
    assert spent_text(Spent(), "usd") == "$0"
    assert spent_text(Spent(cost=1.5), "usd") == "$1.50"
    assert (
        spent_text(Spent(cost=1.5, unpriced=1), "usd") == "$1.50, with 1 request of unknown price"
    )
    assert (
        spent_text(Spent(unpriced=2), "usd") == "an unknown sum, with 2 requests of unknown price"
    )

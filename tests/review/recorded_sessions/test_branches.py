"""A session is forked at a request, goes on with another policy or model, and both stand side by side."""

from typing import Any

import pytest

from palimpsest.public.session_object import Session
from palimpsest.testing import ScriptedModel, calls, isolated_session, says
from palimpsest.transcript.errors import ConfigError, NotFound, UserError

SETTINGS = {"models": {"scripted/model": {"window": 100_000, "output": 4_000}}}


def talked(session: Session) -> None:
    session.prompt("What is in the folder?", yes=True)
    session.prompt("And now?")


ANSWERS = (calls("list", path="."), says("Two files."), says("Still two."))


def test_a_fork_at_a_request_sends_the_same_request_again() -> None:
    model = ScriptedModel(*ANSWERS, says("Three, now."))
    with isolated_session(model, settings=SETTINGS) as session:
        talked(session)
        branch = session.fork(request=2)
        answer = branch.loop().result()

        assert answer.text == "Three, now."
        assert model.requests[-1].messages == model.requests[1].messages


def test_a_branch_goes_on_with_another_model_and_policy() -> None:
    model = ScriptedModel(*ANSWERS, says("From another model."))
    with isolated_session(model, settings=SETTINGS) as session:
        talked(session)
        branch = session.fork(request=3, model="scripted/other")
        branch.use_policy("opencode-1.18", "prune.protect_tokens=1000")
        branch.loop().result()

        assert model.requests[-1].model.ref.id == "scripted/other"
        branches = branch.branches()
        assert branches.parted_at == 2
        first, second = branches.branches
        assert (first.models, second.models) == (("scripted/model",), ("scripted/other",))
        assert (first.answer, second.answer) == ("Still two.", "From another model.")
        assert (first.requests, second.requests) == (1, 1)
        assert (first.policy, second.policy) == ("", "opencode-1.18, prune.protect_tokens=1000")
        assert branches.json() == session.branches().json()


def test_branches_are_shown_as_text_markdown_and_html() -> None:
    model = ScriptedModel(*ANSWERS, says("<b>Bold</b> & | words"))
    with isolated_session(model, settings=SETTINGS) as session:
        talked(session)
        session.fork(request=1).loop().result()
        branches = session.branches()

        assert "Branches that part after request 0" in branches.text
        assert "newest answer" in branches.markdown
        assert "<b>Bold" not in branches.html
        assert "&lt;b&gt;Bold" in branches.html
        assert "<b>Bold" not in branches.markdown


def test_a_cost_without_a_price_is_told_in_units_and_reported_tokens_are_no_estimates() -> None:
    used = {"input": 1_000, "cache_read": 2_000, "output": 100}
    words = ("One.", "Two.", "Three.", "Four.")
    model = ScriptedModel(*(says(word).reports(**used) for word in words))
    with isolated_session(model, settings=SETTINGS) as session:
        session.prompt("First?")
        session.prompt("Second?")
        branch = session.fork(request=2)
        branch.loop().result()
        branch.prompt("More?")
        branch.revert()
        branch.cleanup()
        branches = branch.branches()

        # 1,000 uncached, a tenth of 2,000 read, and five times 100 written.
        assert [(shown_branch.cost, shown_branch.units) for shown_branch in branches.branches] == [
            (None, 1_700),
            (None, 3_400),
        ]
        assert [
            (shown_branch.estimates, shown_branch.largest) for shown_branch in branches.branches
        ] == [(0, 3_000)] * 2
        assert "~1,700 units" in branches.text
        assert "One unit is the price" in branches.text or "one unit is the price" in branches.text
        assert "estimated tokens" not in branches.text
        assert "are estimates" not in branches.text


def test_which_tokens_are_estimates_is_counted() -> None:
    model = ScriptedModel(
        says("One.").reports(input=900, output=1),
        says("Two.").reports(input=900, output=1),
        says("Three.").reports_nothing(),
        says("Four.").reports(input=900, output=1),
    )
    with isolated_session(model, settings=SETTINGS) as session:
        session.prompt("First?")
        session.prompt("Second?")
        branch = session.fork(request=2)
        branch.loop().result()
        branch.prompt("More?")

        branches = branch.branches()
        assert [shown_branch.estimates for shown_branch in branches.branches] == [0, 1]
        assert "One request of 2 of" in branches.text
        assert "has estimated tokens; all others were reported." in branches.text


def test_a_request_that_is_not_there_and_a_session_without_branches_are_named() -> None:
    with isolated_session(ScriptedModel(*ANSWERS), settings=SETTINGS) as session:
        talked(session)

        with pytest.raises(NotFound, match=r"There is no request 9 .* it has 3"):
            session.fork(request=9)
        with pytest.raises(NotFound, match="There is no request 0"):
            session.fork(request=0)
        with pytest.raises(NotFound, match="Name one from 1 to 3, or its id"):
            session.fork(request=True)
        with pytest.raises(UserError, match="name one of them, not both"):
            session.fork(session.messages[0].id, request=1)
        with pytest.raises(UserError, match="has no branch"):
            session.branches()


def test_a_branch_that_was_deleted_leaves_those_that_were_forked_from_it_in_their_tree() -> None:
    model = ScriptedModel(*ANSWERS, says("Middle."), says("Deep."))
    with isolated_session(model, settings=SETTINGS) as session:
        talked(session)
        middle = session.fork(request=3)
        middle.loop().result()
        deep = middle.fork(request=2)
        deep.loop().result()
        middle.delete()

        for session_at in (session, deep):
            found = session_at.branches()
            assert [(branch.answer, branch.parent) for branch in found.branches] == [
                ("Still two.", ""),
                ("Deep.", session.id),
            ]
            assert (found.parted_at, found.branches[1].forked_after) == (1, 1)
        other = session.fork(request=3)
        session.delete()
        found = other.branches()
        assert [branch.session for branch in found.branches] == [deep.id, other.id]
        assert (found.parted_at, found.branches[1].parent) == (1, "")
        other.delete()
        with pytest.raises(UserError, match="has no branch"):
            deep.branches()


def test_an_unknown_model_makes_no_fork() -> None:
    with isolated_session(ScriptedModel(*ANSWERS), settings=SETTINGS) as session:
        talked(session)

        given: tuple[Any, ...] = ("nope", "", "  ", "/x", "scripted/", 3)
        for model in given:
            with pytest.raises(ConfigError, match=f"There is no model '{model}'"):
                session.fork(request=1, model=model)
        for request in (-1, 0, 4, 10**30, 1.5, "", "1"):
            with pytest.raises(NotFound, match="Name one from 1 to 3, or its id"):
                session.fork(request=request)  # type: ignore[arg-type]
        with pytest.raises(UserError, match="has no branch"):
            session.branches()


def test_a_fork_behind_a_compaction_sends_the_same_request_again_and_parts_after_a_fork_of_it() -> (
    None
):
    long = "It is a long answer about what was found in the files. " * 60
    summary = "## Goal\n- know\n" + "- none\n" * 40
    model = ScriptedModel(
        *[says(long)] * 3, says(summary), says("After."), *[says(f"Branch {n}.") for n in range(6)]
    )
    with isolated_session(model, settings=SETTINGS) as session:
        for words in ("One.", "Two.", "Three."):
            session.prompt(words)
        session.compact().result()
        session.prompt("And after?")
        sent = [[*request.messages] for request in model.requests]

        behind = session.fork(request=5)
        behind.loop().result()
        before = session.fork(request=2)
        before.loop().result()
        again = before.fork(request=1)
        again.loop().result()

        assert [[*request.messages] for request in model.requests[5:]] == [
            sent[4],
            sent[1],
            sent[0],
        ]
        for session_at in (session, behind, again):
            branches = session_at.branches()
            assert branches.parted_at == 0
            assert [(branch.answer, branch.parent) for branch in branches.branches] == [
                ("After.", ""),
                ("Branch 0.", session.id),
                ("Branch 1.", session.id),
                ("Branch 2.", before.id),
            ]
            assert [branch.forked_after for branch in branches.branches] == [0, 4, 1, 0]
            names = ["One.", *(f"One. (fork #{number})" for number in (1, 2, 3))]
            assert [branch.title for branch in branches.branches] == names
            assert "One. (fork #2), after request 0" in branches.text

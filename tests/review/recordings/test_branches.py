"""A session is forked at a request, goes on with another policy or model, and both stand side by side."""

import pytest

from palimpsest.public.session_object import Session
from palimpsest.testing import ScriptedModel, calls, isolated_session, says
from palimpsest.transcript.errors import NotFound, UserError

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
        found = branch.branches()
        assert found.parted_at == 2
        first, second = found.branches
        assert (first.models, second.models) == (("scripted/model",), ("scripted/other",))
        assert (first.answer, second.answer) == ("Still two.", "From another model.")
        assert (first.requests, second.requests) == (1, 1)
        assert (first.policy, second.policy) == ("", "opencode-1.18, prune.protect_tokens=1000")
        assert found.json() == session.branches().json()


def test_branches_are_shown_as_text_markdown_and_html() -> None:
    model = ScriptedModel(*ANSWERS, says("<b>Bold</b> & | words"))
    with isolated_session(model, settings=SETTINGS) as session:
        talked(session)
        session.fork(request=1).loop().result()
        found = session.branches()

        assert "Branches that part after request 0" in found.text
        assert "newest answer" in found.markdown
        assert "<b>Bold" not in found.html
        assert "&lt;b&gt;Bold" in found.html
        assert "<b>Bold" not in found.markdown


def test_a_request_that_is_not_there_and_a_session_without_branches_are_named() -> None:
    with isolated_session(ScriptedModel(*ANSWERS), settings=SETTINGS) as session:
        talked(session)

        with pytest.raises(NotFound, match=r"There is no request 9 .* it has 3"):
            session.fork(request=9)
        with pytest.raises(NotFound, match="There is no request 0"):
            session.fork(request=0)
        with pytest.raises(UserError, match="has no branch"):
            session.branches()

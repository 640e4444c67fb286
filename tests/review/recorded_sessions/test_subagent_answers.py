"""A question about a subagent is answered by the answers of the session whose call started it, and by no others."""

from pathlib import Path

from tests.recordings.formats.imported import import_file
from tests.recordings.formats.sample_files import sample

from palimpsest.review.recorded_sessions.session_answers import SessionAnswers
from palimpsest.review.timeline_view.view_queries import AskItem, AskView, ViewAnswer
from palimpsest.review.timeline_view.view_values import TimelineView
from palimpsest.store.interface import Store


def parent_and_child(folder: Path) -> tuple[Store, str, str]:
    store, _ = import_file(sample("gemini_cli_subagent", folder))
    child = next(session for session in store.list() if session.parent_id is not None)
    assert child.parent_id is not None
    return store, child.parent_id, child.id


def answers_of(store: Store, session: str) -> SessionAnswers:
    return SessionAnswers(store, session, lambda _model: None)


def view_in(answer: ViewAnswer) -> TimelineView:
    assert answer.view is not None, answer.error
    return answer.view


def test_the_view_of_a_subagent_is_its_own_and_says_within_which_session(tmp_path: Path) -> None:
    store, parent, child = parent_and_child(tmp_path)
    answers = answers_of(store, parent)

    asked = view_in(answers.answer(AskView(subagent=child)))

    own = view_in(answers_of(store, child).answer(AskView()))
    assert asked.within == parent
    assert own.within == ""
    assert asked.session == child
    assert asked.items == own.items
    assert asked.recorded.total == own.recorded.total
    assert view_in(answers.answer(AskView())).session == parent


def test_texts_of_a_subagent_can_be_asked_for(tmp_path: Path) -> None:
    store, parent, child = parent_and_child(tmp_path)
    answers = answers_of(store, parent)

    asked = answers.answer(AskItem(item=0, request=0, subagent=child)).item

    assert asked is not None
    assert asked == answers_of(store, child).answer(AskItem(item=0, request=0)).item
    assert asked != answers.answer(AskItem(item=0, request=0)).item


def test_a_session_that_no_call_of_it_started_is_not_answered_about(tmp_path: Path) -> None:
    store, parent, child = parent_and_child(tmp_path)

    for session, other in ((child, parent), (parent, "ses_none"), (parent, parent)):
        answer = answers_of(store, session).answer(AskView(subagent=other))
        assert answer.view is None
        assert answer.error == f"The subagent {other} is not there."


def test_the_call_that_started_a_subagent_is_known_with_what_that_cost(tmp_path: Path) -> None:
    store, parent, child = parent_and_child(tmp_path)

    view = view_in(answers_of(store, parent).answer(AskView()))

    [subagent] = view.subagents
    assert subagent.session == child
    assert view.kinds[view.items.kind[subagent.call]] == "call"
    assert subagent.requests == len(view_in(answers_of(store, child).answer(AskView())).requests.id)
    assert view.missing_subagents == ()


def test_a_call_whose_subagent_is_not_there_is_named(tmp_path: Path) -> None:
    store, parent, child = parent_and_child(tmp_path)
    call = view_in(answers_of(store, parent).answer(AskView())).subagents[0].call
    store.delete(child)

    view = view_in(answers_of(store, parent).answer(AskView()))

    assert view.subagents == ()
    assert view.missing_subagents == (call,)

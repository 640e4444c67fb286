"""Checks for the log of any session: requests are rebuilt, decisions decided again, and steps replayed."""

from collections.abc import Sequence

from tests.harness.session import SessionHarness

from palimpsest.context_policies.whatif.exact_whatif import exact_whatif
from palimpsest.context_policies.whatif.whatif_result import WhatIf
from palimpsest.recordings.reconstruction.redecision import redecide
from palimpsest.recordings.reconstruction.requests import rebuild_all
from palimpsest.store.interface import Store


def check_log_laws(store: Store, session_id: str) -> WhatIf:
    """Check that the log is rebuilt, decided again and replayed to equal results."""
    again = redecide(store, session_id)
    assert again.is_same, again.text
    return replayed_as_it_was(store, session_id)


def replayed_as_it_was(store: Store, session_id: str) -> WhatIf:
    """Check that a what-if with the session's own policy gives the recorded requests and decisions."""
    whatif = exact_whatif(store, session_id)
    was, other = whatif.recorded, whatif.other
    rebuilt = list(rebuild_all(store, session_id, store.read(session_id)))
    assert all(one.matches for one in rebuilt)
    assert whatif.is_unchanged, f"step {whatif.first_difference} is another one"
    assert [step.tokens for step in other.steps] == [step.tokens for step in was.steps]
    assert [step.cached for step in other.steps] == [step.cached for step in was.steps]
    rules = [[decision.rule for decision in step.decisions] for step in was.steps]
    assert [[decision.rule for decision in step.decisions] for step in other.steps] == rules
    assert not any(compaction.stand_in for compaction in other.compactions)
    steps = [one.request for one in rebuilt if one.request.purpose == "step"]
    # A session that is still open may have sent more requests since.
    assert [step.request for step in other.steps] == steps[: len(other.steps)]
    return whatif


def check_all_replays(opened: Sequence[SessionHarness]) -> None:
    """Check after a test that every session of every harness is replayed to equal results."""
    for store in {id(one.store): one.store for one in opened}.values():
        for session in store.list():
            try:
                replayed_as_it_was(store, session.id)
            except AssertionError as broken:
                raise AssertionError(f"Session {session.id}: {broken}") from broken

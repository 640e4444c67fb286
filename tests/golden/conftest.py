"""A case that cannot be read fails alone; after each test with a recording, all of its sessions are replayed."""

from collections.abc import Iterator

import pytest
from tests.golden.data import refuse_unreadable
from tests.harness.replay_checks import check_all_replays
from tests.harness.session import SessionHarness
from tests.harness.time_limits import limits as limits


@pytest.fixture(autouse=True)
def _readable(request: pytest.FixtureRequest) -> None:
    chosen = getattr(request.node, "callspec", None)
    refuse_unreadable(chosen.params.get("case") if chosen is not None else None)


@pytest.fixture(autouse=True)
def _replayed_as_it_was() -> Iterator[None]:
    SessionHarness.opened.clear()
    yield
    check_all_replays(SessionHarness.opened)
    SessionHarness.opened.clear()

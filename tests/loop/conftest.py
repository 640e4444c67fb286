"""After each test of the loop, all of its sessions are replayed under their own policy; time limits that a test lets run out."""

from collections.abc import Iterator

import pytest
from tests.harness.replay_checks import check_all_replays
from tests.harness.session import SessionHarness
from tests.harness.time_limits import limits as limits


@pytest.fixture(autouse=True)
def _replayed_as_it_was() -> Iterator[None]:
    SessionHarness.opened.clear()
    yield
    check_all_replays(SessionHarness.opened)
    SessionHarness.opened.clear()

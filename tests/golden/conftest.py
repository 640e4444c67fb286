"""A case with an unknown field fails; after each test with a recording, all of its sessions are replayed."""

from collections.abc import Iterator

import pytest
from tests.golden.data import refuse_unknown
from tests.harness.replay_checks import check_all_replays
from tests.harness.session import SessionHarness


@pytest.fixture(autouse=True)
def _only_known_fields(request: pytest.FixtureRequest) -> None:
    chosen = getattr(request.node, "callspec", None)
    refuse_unknown(chosen.params.get("case") if chosen is not None else None)


@pytest.fixture(autouse=True)
def _replayed_as_it_was() -> Iterator[None]:
    SessionHarness.opened.clear()
    yield
    check_all_replays(SessionHarness.opened)
    SessionHarness.opened.clear()

"""A session with a real HTTP server, for the tests of what a provider refuses."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.harness.http_session import PROVIDERS, HttpSessionHarness

from palimpsest.testing import FaultServer


@pytest.fixture(params=PROVIDERS)
def harness(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[HttpSessionHarness]:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-openai")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test")
    with FaultServer() as server:
        yield HttpSessionHarness(request.param, tmp_path, server)

"""API keys for fake servers, and the ways by which requests are sent."""

import pytest
from tests.model import adapter_requests


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("OPENAI_BASE_URL", "OPENAI_API_BASE", "ANTHROPIC_BASE_URL", "OPENAI_MODEL"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-openai-0123456789")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test-0123456789")


@pytest.fixture(params=adapter_requests.WAYS)
def both_ways(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run a test twice: its requests are sent directly, and through litellm."""
    monkeypatch.setattr(adapter_requests, "chosen_way", request.param)
    way: str = request.param
    return way

"""Keys for servers that do not exist, and litellm imported before the clock of a test runs."""

import pytest

from palimpsest.model.adapter.litellm_model import wait


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("OPENAI_BASE_URL", "OPENAI_API_BASE", "ANTHROPIC_BASE_URL", "OPENAI_MODEL"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-openai-0123456789")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test-0123456789")


@pytest.fixture(scope="session")
def litellm() -> None:
    wait(60)

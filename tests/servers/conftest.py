"""litellm's proxy for the tests of this folder that ask for it: it takes ten seconds to start, so it is started once."""

from collections.abc import Iterator

import pytest
from tests.servers.litellm_proxy import litellm_proxy

from palimpsest.testing import FaultServer


@pytest.fixture(scope="session")
def behind() -> Iterator[FaultServer]:
    """The model server behind the proxy."""
    with FaultServer() as server:
        yield server


@pytest.fixture(scope="session")
def proxy(behind: FaultServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    key = {"api_key": "upstream-key-0123456789"}
    chat = {"model": "openai/scripted", "api_base": behind.openai_base, **key}
    models = {
        "chat": chat,
        "claude": {
            "model": "anthropic/claude-sonnet-4-5",
            "api_base": behind.anthropic_base,
            **key,
        },
        "gemini": {"model": "gemini/gemini-2.5-pro", "api_base": behind.gemini_base, **key},
        "down": {**chat, "api_base": "http://127.0.0.1:9/v1"},
        "limited": {**chat, "rpm": 1},
    }
    router = {"num_retries": 0, "disable_cooldowns": True, "enable_pre_call_checks": True}
    folder = tmp_path_factory.mktemp("proxy")
    with litellm_proxy(folder, models, router_settings=router) as url:
        yield url

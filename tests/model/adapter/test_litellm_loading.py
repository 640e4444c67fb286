"""litellm is loaded without network requests, and without changing the user's environment."""

import gc
import logging
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from types import ModuleType

import pytest
from tests.waiting import LAST_RESORT_SECONDS

from palimpsest.model.adapter.litellm_model import LitellmLoader

pytestmark = pytest.mark.slow

HOOK = """
    import os, socket, sys
    asked = []
    real = socket.getaddrinfo
    def hooked(host, *rest, **more):
        asked.append(host)
        return real(host, *rest, **more)
    socket.getaddrinfo = hooked
    os.environ["OPENAI_API_KEY"] = os.environ["ANTHROPIC_API_KEY"] = "sk-test-0123456789"
"""

ASK = """
    import asyncio
    from tests.model.adapter_requests import info, request, run
    from palimpsest.testing import FaultServer
    from palimpsest.model.adapter.litellm_model import LOADER, LitellmModel
    from palimpsest.model.interface import TextDelta
    from palimpsest.model.script import says, thinks

    model = LitellmModel()

    def ask(provider):
        with FaultServer(thinks("Hm.").says("Hi.")) as server:
            events, error = asyncio.run(run(request(info(provider, server)), model))
        assert error is None, error
        assert "Hi." in [event.text for event in events if isinstance(event, TextDelta)]

    for provider in ("openai", "anthropic"):
        ask(provider)
"""


CANCELLED = """
    import asyncio
    from palimpsest.model.adapter.litellm_model import LOADER

    async def hasty():
        getting = asyncio.create_task(LOADER.imported_litellm())
        await asyncio.sleep(0)
        getting.cancel()
        await asyncio.gather(getting, return_exceptions=True)
        assert (await LOADER.imported_litellm()).__name__ == "litellm"

    asyncio.run(hasty())
"""
"""A request that is cancelled while litellm is imported leaves the import to the others."""


def python(code: str, folder: Path) -> str:
    root = Path(__file__).parents[3]
    parts = [textwrap.dedent(part) for part in code.split("\n#--\n")]
    # litellm sets variables in the environment of the process that runs the tests.
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("LITELLM_", "TIKTOKEN_"))}
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys; sys.path.insert(0, sys.argv[1])\n" + "\n".join(parts),
            str(root),
        ],
        cwd=folder,
        env=clean,
        capture_output=True,
        text=True,
        timeout=LAST_RESORT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def together(*parts: str) -> str:
    return "\n#--\n".join(parts)


def test_asks_no_name_server_reads_no_env_file_and_outlives_a_cancelled_request(
    tmp_path: Path,
) -> None:
    inner = tmp_path / "notebooks"
    inner.mkdir()
    (tmp_path / ".env").write_text("FROM_ENV_FILE=read\n")

    output = python(
        together(
            HOOK,
            CANCELLED,
            ASK,
            """
            assert set(asked) <= {"127.0.0.1"}, asked
            assert "FROM_ENV_FILE" not in os.environ
            assert "TIKTOKEN_CACHE_DIR" not in os.environ
            assert LOADER.is_imported_by_us
            """,
        ),
        inner,
    )

    assert output == ""


def test_a_module_of_that_name_that_is_there_is_taken_as_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All that an import of our own would set; the real one is compared in the soak, setting by setting."""
    theirs = ModuleType("litellm")
    monkeypatch.setitem(sys.modules, "litellm", theirs)
    environment, held = dict(os.environ), dict(vars(theirs))
    level, frozen = logging.getLogger("LiteLLM").level, gc.get_freeze_count()
    loader = LitellmLoader()

    assert loader._import_litellm() is theirs
    assert not loader.is_imported_by_us
    assert (dict(os.environ), vars(theirs)) == (environment, held)
    assert (logging.getLogger("LiteLLM").level, gc.get_freeze_count()) == (level, frozen)


@pytest.mark.soak  # with each commit a module of that name that is there is taken as it is, above; this adds litellm itself
def test_leaves_litellm_alone_when_the_user_imported_it_first(tmp_path: Path) -> None:
    output = python(
        together(
            HOOK,
            """
            os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
            os.environ["LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS"] = "True"
            import gc, logging, litellm
            def simple(value):
                if isinstance(value, dict):
                    return {repr(k): repr(v)[:200] for k, v in value.items()}
                return repr(value)
            def state():
                plain = (bool, int, float, str, list, dict, tuple, set, type(None))
                kept = {k: simple(v) for k, v in vars(litellm).items() if isinstance(v, plain)}
                return kept | {"level": logging.getLogger("LiteLLM").level, "frozen": gc.get_freeze_count()}
            environment, before = dict(os.environ), state()
            """,
            ASK,
            """
            now = state()
            changed = {k for k in before if before[k] != now[k]}
            assert not {k for k in changed if not k.startswith("_")}, changed
            assert litellm._custom_providers == [] and litellm.custom_provider_map == []
            assert not LOADER.is_imported_by_us
            names = {k for k in os.environ if os.environ[k] != environment.get(k)}
            assert names <= {"TIKTOKEN_CACHE_DIR"}, names  # set by litellm itself when it counts
            """,
        ),
        tmp_path,
    )

    assert "Traceback" not in output

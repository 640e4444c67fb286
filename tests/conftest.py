"""Configure all tests: hypothesis profiles, distribution over processes, and the order of the tests."""

import gc
import importlib
import os
import sys
import tempfile
from collections.abc import Generator, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from tests.sample_size import SOAKING
from tests.untested import report_untested
from tests.work_distribution import FileDistribution, place_of

# jsonschema imports it for two seconds to validate addresses that no schema in the tests has; see
# tests/harness/left_out, which does the same for servers.
sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]

# The duration of an example depends more on the machine's load than on the code.
settings.register_profile(
    "here", deadline=None, max_examples=8, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("ci", settings.get_profile("here"), derandomize=True)
settings.register_profile("soak", settings.get_profile("here"), max_examples=2_000)
settings.load_profile("soak" if SOAKING else "ci" if os.environ.get("CI") == "true" else "here")

# Approvals given in tests are stored apart from those of the person who runs them; kernels inherit it.
STATE = tempfile.TemporaryDirectory(prefix="palimpsest-tests-", ignore_cleanup_errors=True)
os.environ["PALIMPSEST_STATE_DIR"] = STATE.name


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> FileDistribution:
    """Return the scheduler that distributes tests when they run in several processes."""
    return FileDistribution(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the slowest files."""
    items.sort(key=lambda item: place_of(item.nodeid.partition("::")[0]))


def pytest_unconfigure(config: pytest.Config) -> None:
    """Say last what this machine lacks for some of the tests; a process of several is not the one to say it."""
    if not hasattr(config, "workerinput"):
        report_untested(config)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Have the garbage collector skip the eighteen thousand tests and all modules, which stay to the end.

    What tests make is collected a tenth as often as usual: the collector took a tenth of the time of those without a kernel.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(10_000, 20, 20)
        gc.enable()


@pytest.fixture(autouse=True, scope="module")
def old_objects_are_collected_once() -> Iterator[None]:
    """Have the garbage collector skip what it has once walked whole and kept, when the file's tests have ended.

    A process of the tests keeps more with each file, and in the end a full collection took it a second.
    """
    whole: list[int] = []

    def count(phase: str, info: dict[str, int]) -> None:
        if phase == "stop" and info["generation"] == 2:
            whole.append(info["collected"])

    gc.callbacks.append(count)
    yield
    gc.callbacks.remove(count)
    if whole:
        gc.freeze()


@pytest.fixture(autouse=True)
def no_held_secrets() -> Iterator[None]:
    """Forget the keys of settings afterwards, which a test held for its whole process."""
    yield
    held = sys.modules.get("palimpsest.transcript.redaction.held_secrets")
    if held is not None:
        held.HELD_SECRETS.clear()


@pytest.fixture(scope="session")
def litellm() -> None:
    """Litellm is imported, however long that takes here, before a test's prompt waits for it."""
    litellm_model = importlib.import_module("palimpsest.model.adapter.litellm_model")
    litellm_model.LOADER.wait_for_litellm()

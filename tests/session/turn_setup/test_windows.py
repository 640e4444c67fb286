"""A model's window is the configured one, else the known one, else an assumed one, limited by the cap."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.golden.test_live import Trace
from tests.waiting import LAST_RESORT_SECONDS

from palimpsest.app.loaded_config import trust_project
from palimpsest.app.wiring import App
from palimpsest.context.budget.window_guard import DEFAULT_WINDOW, evaluate_guard, resolve_window
from palimpsest.context.presets import PRESETS
from palimpsest.model.script import says
from palimpsest.session.interfaces.prompt_answer import PromptOptions
from palimpsest.testing import ScriptedModel


@pytest.fixture
def started() -> Iterator[list[App]]:
    apps: list[App] = []
    yield apps
    for app in apps:
        app.close()


def app(root: Path, started: list[App], words: str, *answers: str) -> App:
    (root / "palimpsest.toml").write_text(f"titles = false\n{words}")
    model = ScriptedModel(*map(says, answers))
    trust_project(root, {"HOME": str(root)})
    found = App(start=root, environment={"HOME": str(root)}, model=lambda _: model)
    started.append(found)
    assert found.config.problems == ()
    return found


NAMED = '[models."z.ai/glm-x"]\nwindow = 70_000\n'


@pytest.mark.parametrize(
    ("words", "name", "window", "assumed"),
    [
        ("", "nobody/knows", DEFAULT_WINDOW, True),
        (NAMED, "z.ai/glm-x", 70_000, False),
        # All rules but the oldest know its provider's other name.
        (NAMED, "zai/glm-x", 70_000, False),
        (f'policy = "openclaw-2026.2"\n{NAMED}', "zai/glm-x", DEFAULT_WINDOW, True),
        (f"context_tokens = 60_000\n{NAMED}", "z.ai/glm-x", 60_000, False),
        (f"context_tokens = 90_000\n{NAMED}", "z.ai/glm-x", 70_000, False),
        ('context_tokens = 60_000\npolicy = "openclaw-2026.9"\n', "no/body", 60_000, True),
    ],
)
def test_a_window_is_found_where_the_policy_looks(
    tmp_path: Path, started: list[App], words: str, name: str, window: int, *, assumed: bool
) -> None:
    found = app(tmp_path, started, words).info(name)

    assert (found.window, found.window_assumed) == (window, assumed)


@pytest.mark.parametrize("preset", PRESETS)
def test_a_turn_asks_for_its_window_as_the_recordings_are_compared(
    tmp_path: Path, started: list[App], preset: str
) -> None:
    opened = app(tmp_path, started, f'policy = "{preset}"\n{NAMED}', "Hello.")
    session = opened.engine.submit(opened.workspace.current("a.ipynb")).result(LAST_RESORT_SECONDS)

    async def turn() -> list[object]:
        with Trace(resolve_window, evaluate_guard) as trace:
            await session.prompt("Hello", PromptOptions())
        assert set(trace.seen) == {"resolve_window", "evaluate_guard"}
        return trace.seen["resolve_window"]

    policies = opened.engine.submit(turn()).result(LAST_RESORT_SECONDS)

    assert all(policy == PRESETS[preset].guard for policy in policies)

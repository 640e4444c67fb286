"""The schemas of built-in tools and of users' functions are accepted by four strict providers."""

from collections.abc import Callable
from datetime import date
from enum import Enum, IntEnum
from typing import Any, Literal

import pytest
from pydantic import BaseModel
from tests.context.request_paths import RequestPath, hello

from palimpsest.model.adapter.litellm_model import LOADER
from palimpsest.model.wire.provider_messages import to_provider
from palimpsest.tools.registration.registry import Registry, builtin_tools

REQUEST_PATHS = (
    RequestPath("openai", "gpt-4o"),
    RequestPath("anthropic", "claude-sonnet-4-5"),
    RequestPath("gemini", "gemini-2.5-pro"),
    RequestPath("gemini", "gemini-3-pro-preview"),
    RequestPath("mistral", "mistral-large-latest"),
)


class Colour(Enum):
    """A closed set of words."""

    RED = "red"
    BLUE = "blue"


class Level(IntEnum):
    """A closed set of numbers."""

    LOW = 1
    HIGH = 2


class Point(BaseModel):
    """An object."""

    x: float
    label: str | None = None


class Tree(BaseModel):
    """An object that holds its like."""

    name: str
    children: list["Tree"] = []


def now() -> str:
    """Tell the time."""
    return "now"


def draw(
    points: list[Point],
    colour: Colour = Colour.RED,
    style: Literal["dots", "lines"] = "dots",
    size: int | None = None,
    width: int | str = 1,
) -> None:
    """Draw points.

    Args:
        points: Where.
        colour: Red or blue.
        style: Dots or lines.
        width: How wide, in words or pixels.
        size: How large.
    """


def nest(rows: list[list[int]], options: dict[str, int], more: dict[str, Any]) -> None:
    """Take what is nested."""


def choose(level: Level, number: Literal[1, 2, 3], day: date, flags: set[str]) -> None:
    """Take odd types."""


def grow(tree: Tree) -> None:
    """Take what holds itself."""


def guess(thing: Any, things: list[Any], pair: tuple[int, str]) -> None:
    """Take anything."""


USERS: tuple[Callable[..., Any], ...] = (now, draw, nest, choose, grow, guess)


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for provider in ("OPENAI", "ANTHROPIC", "GEMINI", "MISTRAL"):
        monkeypatch.setenv(f"{provider}_API_KEY", "sk-test-0123456789")
    LOADER.wait_for_litellm()


@pytest.mark.slow
@pytest.mark.parametrize("path", REQUEST_PATHS, ids=repr)
async def test_our_own_tools_are_taken(path: RequestPath) -> None:
    registry = Registry(builtin_tools())
    specs = tuple(registry.spec(tool) for tool in registry.offered_tools())

    (asked,) = await path.sent([to_provider((hello(),), path.info)], specs)

    assert asked.problems == []
    assert len(specs) == len(registry.names)


@pytest.mark.slow
@pytest.mark.parametrize("path", REQUEST_PATHS, ids=repr)
async def test_users_tools_are_taken(path: RequestPath) -> None:
    registry = Registry()
    specs = tuple(registry.spec(registry.add(function)) for function in USERS)

    (asked,) = await path.sent([to_provider((hello(),), path.info)], specs)

    assert asked.problems == []

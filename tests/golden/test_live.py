"""A live turn under a preset calls the functions that are compared with recordings."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest
from tests.loop.studio import Studio, ask

from palimpsest.context.convert import convert
from palimpsest.context.fold import fold
from palimpsest.context.marks import marks
from palimpsest.context.policy import policy
from palimpsest.context.transform import transform
from palimpsest.model.script import calls, says
from palimpsest.model.scripted import ScriptedModel
from palimpsest.model.tokenizer import counter
from palimpsest.review.requests import policy_of, rebuild_all
from palimpsest.transcript.values import ModelInfo, ModelRef

INFO = ModelInfo(
    ref=ModelRef(provider="anthropic", name="claude-test"), window=100_000, output_limit=4_000
)


class Trace:
    """Notes with which policy each function was called, in this thread."""

    def __init__(self, *functions: Callable[..., Any]) -> None:
        self._names: dict[CodeType, str] = {one.__code__: one.__name__ for one in functions}
        self.seen: dict[str, list[Any]] = {}

    def __enter__(self) -> "Trace":
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _note(self, frame: FrameType, event: str, _argument: object) -> None:
        if event == "call" and frame.f_code in self._names:
            name = self._names[frame.f_code]
            self.seen.setdefault(name, []).append(frame.f_locals.get("policy"))


@pytest.mark.parametrize("preset", ["opencode-1.1", "opencode-1.18"])
async def test_a_turn_goes_through_what_is_compared_and_is_rebuilt(
    tmp_path: Path, preset: str
) -> None:
    chosen = policy(preset)
    model = ScriptedModel(calls("list"), says("Done."))
    studio = Studio(tmp_path, model, info=INFO, policy=preset)
    session = await studio.session()
    count = counter(chosen.estimator)

    with Trace(fold, convert, transform, marks, count) as trace:
        await ask(session, "Look.", model="anthropic/claude-test")

    assert chosen.compact in trace.seen["fold"]
    assert set(map(id, trace.seen["convert"])) == {id(chosen.convert)}
    assert set(map(id, trace.seen["transform"])) == {id(chosen.transform)}
    assert len(trace.seen["marks"]) == len(model.requests) == 2
    assert len(trace.seen[count.__name__]) > 10
    rebuilt = list(rebuild_all(studio.store, session.id, await studio.records(session)))
    assert [one.request.messages for one in rebuilt] == [one.messages for one in model.requests]
    assert all(one.matches for one in rebuilt)
    assert {policy_of(studio.store, one.record).name for one in rebuilt} == {preset}

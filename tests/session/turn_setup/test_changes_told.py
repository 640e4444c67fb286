"""A live session tells its model about changes, in permanent parts beside the user's prompt."""

import asyncio
import dataclasses
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.harness.session import SessionHarness, ask
from tests.sample_size import sample_size
from tests.store.record_builders import assistant

from palimpsest.context.engine_text.environment_changes import CHANGES_HEADING, VARIABLES_HEADING
from palimpsest.model.script import calls, says
from palimpsest.recordings.reconstruction.requests import rebuild_all
from palimpsest.session.interfaces.services import KernelServices
from palimpsest.session.open_sessions.live_session import LiveSession
from palimpsest.session.open_sessions.workspace import Workspace
from palimpsest.session.turn_setup.environment_updates import MAX_LIST_SECONDS
from palimpsest.store.project_folder.lease import this_owner
from palimpsest.testing import ScriptedModel
from palimpsest.tools.registration.registry import Registry, builtin_tools
from palimpsest.tools.tool import NAMES_AND_TYPES, Detail, ShownVariables, VariableInfo
from palimpsest.transcript.parts import TextPart

DAY = 86_400_000


class FakeKernel:
    """A fake namespace with given variables."""

    def __init__(self, **variables: str) -> None:
        self.variables = variables
        self.looks = 0
        self.busy = False

    async def list(self, shown: ShownVariables = NAMES_AND_TYPES) -> Sequence[VariableInfo]:
        self.looks += 1
        if self.busy:
            raise TimeoutError
        return [
            VariableInfo(
                name,
                "int",
                "",
                told if shown.detail == "values" or name in shown.readable_names else None,
            )
            for name, told in self.variables.items()
        ]

    async def description_of(self, name: str, max_chars: int = 4_000) -> str:
        return f"{name}: {self.variables[name]}"[:max_chars]


async def opened(
    tmp_path: Path,
    model: ScriptedModel,
    kernel: FakeKernel | None = None,
    variables: Detail = "values",
    **more: Any,
) -> tuple[SessionHarness, LiveSession]:
    harness = SessionHarness(tmp_path, model, **more)
    if kernel is not None:
        services = harness.services
        services = dataclasses.replace(
            services,
            agents=dataclasses.replace(
                services.agents, registry=Registry(builtin_tools(kernel=True))
            ),
            kernel=KernelServices(namespace=lambda _: kernel, variables=variables),
            environment={"MY_API_KEY": "hunter2hunter2"},
        )
        harness.workspace = Workspace(services, this_owner("kernel-test"), project_id="project")
    return harness, await harness.session()


def said(request: Any) -> list[str]:
    texts = []
    for message in request.messages:
        if message["role"] == "user":
            content = message["content"]
            texts.append(
                content
                if isinstance(content, str)
                else "\n".join(block["text"] for block in content)
            )
    return texts


async def check_rebuilt(harness: SessionHarness, session: LiveSession, requests: int) -> None:
    rebuilt = list(rebuild_all(harness.store, session.id, await harness.records(session)))
    assert len(rebuilt) == requests
    assert all(rebuilt_request.matches for rebuilt_request in rebuilt)


async def test_midnight_is_told_with_the_next_prompt_and_never_in_front(tmp_path: Path) -> None:
    model = ScriptedModel(says("One."), calls("list"), says("Two."), says("Three."))
    harness, session = await opened(tmp_path, model)

    await ask(session, "one")
    harness.clock.now += DAY
    await ask(session, "two")
    await ask(session, "three")

    first, second, third, last = (said(request) for request in model.requests)
    assert first == ["one"]
    assert second[0] == "one"
    assert second[1].startswith("two")
    assert second[1].count("<note>It is ") == 1
    assert third == second
    assert last == [*second, "three"]
    systems = {
        str([m for m in request.messages if m["role"] == "system"]) for request in model.requests
    }
    assert len(systems) == 1
    await check_rebuilt(harness, session, 4)


async def test_variables_are_told_at_first_and_when_the_user_changed_them(tmp_path: Path) -> None:
    model = ScriptedModel(says("One."), says("Two."), says("Three."))
    kernel = FakeKernel(x="1", y="2")
    harness, session = await opened(tmp_path, model, kernel)

    await ask(session, "one")
    await ask(session, "two")
    kernel.variables = {"x": "5"}
    await ask(session, "three")

    first, second, third = (said(request) for request in model.requests)
    assert (
        first[0]
        == f"one\n\n<variables>\n{VARIABLES_HEADING}\n- x: int, 1\n- y: int, 2\n</variables>"
    )
    assert second == [first[0], "two"]
    assert third[:2] == second
    assert (
        third[2]
        == f"three\n\n<variables>\n{CHANGES_HEADING}\n- x: int, 5\n- y is gone\n</variables>"
    )
    await check_rebuilt(harness, session, 3)


async def test_keys_are_not_told(tmp_path: Path) -> None:
    model = ScriptedModel(says("One."))
    kernel = FakeKernel(password="swordfish", note="it is hunter2hunter2")
    _, session = await opened(tmp_path, model, kernel)

    await ask(session, "one")

    (text,) = said(model.requests[0])
    assert "- password: int\n" in text
    assert "swordfish" not in text
    assert "hunter2" not in text


async def test_a_busy_kernel_is_not_waited_for(tmp_path: Path) -> None:
    model = ScriptedModel(says("One."), says("Two."))
    kernel = FakeKernel(x="1")
    kernel.busy = True
    _, session = await opened(tmp_path, model, kernel)

    await ask(session, "one")
    kernel.busy = False
    await ask(session, "two")

    assert said(model.requests[0]) == ["one"]
    assert f"{VARIABLES_HEADING}\n- x: int, 1" in said(model.requests[1])[1]
    assert MAX_LIST_SECONDS < 1


async def test_a_turn_that_was_never_sent_makes_no_kernel_new(tmp_path: Path) -> None:
    model = ScriptedModel(says("One."))
    _, session = await opened(tmp_path, model, FakeKernel(x="1"))
    session.journal.append(assistant("msg_a"))

    await ask(session, "one")

    assert VARIABLES_HEADING in said(model.requests[0])[-1]


async def test_a_fork_in_the_same_kernel_is_told_of_no_new_one(tmp_path: Path) -> None:
    model = ScriptedModel(says("One."), says("Two."), says("Three."))
    harness, session = await opened(tmp_path, model, FakeKernel(x="1"))
    await ask(session, "one")

    fork = await harness.workspace.fork(session.id)
    await ask(fork, "two")
    again = await harness.workspace.fork(fork.id)
    await ask(again, "three")

    for request in model.requests[1:]:
        assert said(request)[-1].endswith(
            f"<variables>\n{VARIABLES_HEADING}\n- x: int, 1\n</variables>"
        )


async def test_who_may_not_look_is_told_of_no_variables(tmp_path: Path) -> None:
    model = ScriptedModel(says("One."))
    kernel = FakeKernel(x="1")
    _, session = await opened(tmp_path, model, kernel)

    await ask(session, "one", tools=("read",))

    assert said(model.requests[0]) == ["one"]
    assert kernel.looks == 0


@pytest.mark.parametrize("preset", ["opencode-1.1", "openclaw-2026.9"])
async def test_the_presets_of_other_systems_tell_nothing(tmp_path: Path, preset: str) -> None:
    model = ScriptedModel(says("One."), says("Two."))
    harness, session = await opened(tmp_path, model, FakeKernel(x="1"), policy=preset)

    await ask(session, "one")
    harness.clock.now += DAY
    await ask(session, "two")

    assert [text for text in said(model.requests[1]) if "<" in text] == []


async def test_what_is_told_is_no_words_of_the_user(tmp_path: Path) -> None:
    model = ScriptedModel(says("A plan."), says("Done."))
    _, session = await opened(tmp_path, model)

    await ask(session, "plan it", agent="plan")
    await ask(session, "do it", agent="build")

    parts = session.snapshot().messages[2].parts
    assert [isinstance(part, TextPart) and part.synthetic for part in parts] == [False, True]
    assert "Plan mode has ended" in said(model.requests[1])[1]


MOVES = st.lists(
    st.sampled_from(["ask", "midnight", "set", "delete", "plan", "build", "tool"]),
    min_size=2,
    max_size=8,
)


@pytest.mark.soak  # with each commit tests/session/test_environment.py keeps every byte over a restart; this adds generated moves
@pytest.mark.slow
@given(MOVES)
@settings(
    max_examples=sample_size(15, 300),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_no_byte_in_front_of_the_newest_message_ever_changes(
    tmp_path: Path, moves: list[str]
) -> None:
    """Each request begins with all messages of the request before."""
    asyncio.run(_wander(tmp_path, moves))


async def _wander(tmp_path: Path, moves: list[str]) -> None:
    model, kernel, agent = ScriptedModel(), FakeKernel(x="1"), "build"
    harness, session = await opened(tmp_path, model, kernel)
    for number, move in enumerate((*moves, "ask")):
        match move:
            case "midnight":
                harness.clock.now += DAY
            case "set":
                kernel.variables = {**kernel.variables, f"v{number}": "2"}
            case "delete":
                kernel.variables = {}
            case "plan" | "build":
                agent = move
            case _:
                model.script(*([calls("list")] if move == "tool" else []), says("Done."))
                await ask(session, f"Move {number}", agent=agent)
    bodies = [[m for m in request.messages if m["role"] != "system"] for request in model.requests]
    for before, after in itertools.pairwise(bodies):
        assert after[: len(before)] == before
    await check_rebuilt(harness, session, len(bodies))
    await session.close()


@pytest.mark.parametrize(
    ("detail", "unasked"), [("names", "- x"), ("names and types", "- x: int"), ("values", "- x: int, 1")]
)  # fmt: skip
async def test_what_is_told_unasked_is_a_setting(
    tmp_path: Path, detail: Detail, unasked: str
) -> None:
    model = ScriptedModel(says("One."))
    _, session = await opened(tmp_path, model, FakeKernel(x="1"), variables=detail)

    await ask(session, "hello")

    assert said(model.requests[0]) == [
        f"hello\n\n<variables>\n{VARIABLES_HEADING}\n{unasked}\n</variables>"
    ]


@pytest.mark.parametrize("prompt", ["what is x?", "see `x`", "double @x please", "x"])
async def test_the_value_of_a_variable_that_a_prompt_names_goes_along(
    tmp_path: Path, prompt: str
) -> None:
    model = ScriptedModel(says("One."), says("Two."), says("Three."))
    kernel = FakeKernel(x="1", y="2")
    harness, session = await opened(tmp_path, model, kernel, variables="names and types")

    await ask(session, "hello")
    await ask(session, prompt)
    await ask(session, "and now?")

    first, second, third = (said(request)[-1] for request in model.requests)
    assert first.endswith(f"{VARIABLES_HEADING}\n- x: int\n- y: int\n</variables>")
    assert second.endswith(f"{CHANGES_HEADING}\n- x: int, 1\n</variables>")
    assert third == "and now?"
    await check_rebuilt(harness, session, 3)


async def test_a_value_that_nobody_named_is_no_news(tmp_path: Path) -> None:
    model = ScriptedModel(says("One."), says("Two."), says("Three."))
    kernel = FakeKernel(x="1")
    _, session = await opened(tmp_path, model, kernel, variables="names and types")

    await ask(session, "hello")
    kernel.variables = {"x": "2"}
    await ask(session, "again")
    await ask(session, "x?")

    assert said(model.requests[1])[-1] == "again"
    assert "- x: int, 2" in said(model.requests[2])[-1]

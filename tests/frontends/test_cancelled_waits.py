"""A wait of ``session.aio`` that is cancelled stops what it began, and nothing else.

Scripts with an event loop of their own and a loopback model server: what counts is that no request follows, and
that the stream is closed.
"""

import asyncio
import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.harness.unattended_script import ends, script
from tests.sample_size import sampled_cases, thinned
from tests.waiting import eventually, until

from palimpsest.model.script import calls, fails, says
from palimpsest.public.session_object import Session
from palimpsest.session.interfaces.prompt_answer import Answer
from palimpsest.testing import FaultServer
from palimpsest.transcript.parts import TextPart, ToolPart

pytestmark = pytest.mark.slow

HALF = says("Half of ").in_pieces(4).stalls()


@pytest.fixture(autouse=True, scope="module")
def only_these_objects_are_collected() -> None:
    """A collection after each test walks the objects of this file, and not those of all tests before it."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def no_lost_exceptions(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    yield
    gc.collect()
    assert [record.getMessage() for record in caplog.records if record.name == "asyncio"] == []


async def half_said(session: Session) -> None:
    await until(lambda: "Half" in text(session))


def text(session: Session) -> str:
    parts = [part for message in session.messages for part in message.parts]
    return "\n".join(part.text for part in parts if isinstance(part, TextPart))


def is_quiet(server: FaultServer, requests: int) -> bool:
    return server.open_connections == 0 and len(server.requests) == requests


async def by_task_cancel(session: Session) -> None:
    task = asyncio.create_task(session.aio.prompt("go"))
    await half_said(session)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def by_timeout(session: Session) -> None:
    async def limited() -> None:
        async with asyncio.timeout(None) as limit:
            soon = asyncio.create_task(half_said(session))
            soon.add_done_callback(lambda _: limit.reschedule(asyncio.get_running_loop().time()))
            await session.aio.prompt("go")

    with pytest.raises(TimeoutError):
        await limited()


async def by_task_group(session: Session) -> None:
    async def fails() -> None:
        await half_said(session)
        raise ValueError

    async def both() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(session.aio.prompt("go"))
            group.create_task(fails())

    with pytest.raises(ExceptionGroup):
        await both()


async def by_the_future(session: Session) -> None:
    future = session.start("go")
    await half_said(session)
    future.cancel()
    await until(lambda: session.status.type == "idle")


async def by_gather(session: Session) -> None:
    both = asyncio.gather(session.aio.prompt("go"), session.aio.prompt("and then"))
    await half_said(session)
    both.cancel()
    with pytest.raises(asyncio.CancelledError):
        await both


WAYS = (by_task_cancel, by_timeout, by_task_group, by_the_future, by_gather)


@pytest.mark.parametrize("way", thinned(WAYS, 3))
def test_a_cancelled_prompt_stops_its_turn_and_its_stream(tmp_path: Path, way: Any) -> None:
    with script(tmp_path, HALF, says("Never asked for.")) as (session, server):

        async def main() -> str:
            await way(session)
            return session.status.type

        assert asyncio.run(main()) == "idle"  # at once, without a wait by the program

        assert eventually(lambda: is_quiet(server, 1))
        assert ends(session) == ["cancelled"]
        assert "Half" in text(session)
        assert session.waiting == ()


def test_the_session_goes_on_right_after_a_cancelled_prompt(tmp_path: Path) -> None:
    with script(tmp_path, HALF, says("Second.")) as (session, server):

        async def main() -> Answer:
            await by_task_cancel(session)
            session.revert()  # refused while a turn runs
            return await session.aio.prompt("again")

        answer = asyncio.run(main())

        assert (answer.text, answer.stopped_by) == ("Second.", "finished")
        assert len(server.requests) == 2


def test_a_cancelled_prompt_that_waits_is_withdrawn_and_others_go_on(tmp_path: Path) -> None:
    first = says("First.").drips(0.05).in_pieces(1)
    with script(tmp_path, first, says("Third.")) as (session, server):

        async def main() -> list[Answer]:
            one = asyncio.create_task(session.aio.prompt("one"))
            await until(lambda: "F" in text(session))
            two = asyncio.create_task(session.aio.prompt("two"))
            three = asyncio.create_task(session.aio.prompt("three"))
            await until(lambda: len(session.waiting) == 2)
            two.cancel()
            with pytest.raises(asyncio.CancelledError):
                await two
            assert [prompt.text for prompt in session.waiting] == ["three"]
            return await asyncio.gather(one, three)

        answers = asyncio.run(main())

        assert [answer.text for answer in answers] == ["First.", "Third."]
        assert "two" not in text(session)
        assert len(server.requests) == 2


@pytest.mark.parametrize(
    "joins",
    sampled_cases(["loop", "the same prompt", "a steered prompt"], "loop"),
)
def test_who_only_joined_a_turn_leaves_it_running(tmp_path: Path, joins: str) -> None:
    first = calls("bash", command="echo x").says("First.").drips(0.05).in_pieces(1)
    with script(tmp_path, first, says("Done.").drips(0.05).in_pieces(1)) as (session, server):

        def joined() -> Any:
            match joins:
                case "loop":
                    return session.aio.loop()
                case "the same prompt":
                    return session.aio.prompt("one", prompt_id="p", yes=True)
                case _:
                    return session.aio.prompt("more", delivery="steer")

        async def main() -> Answer:
            one = asyncio.create_task(session.aio.prompt("one", prompt_id="p", yes=True))
            await until(lambda: "F" in text(session))
            other = asyncio.create_task(joined())
            if joins == "a steered prompt":
                await until(lambda: "Do" in text(session))
            else:
                await asyncio.to_thread(session.requests)  # in order behind the join
            other.cancel()
            with pytest.raises(asyncio.CancelledError):
                await other
            return await one

        answer = asyncio.run(main())

        assert (answer.text, answer.stopped_by) == ("Done.", "finished")
        assert len(server.requests) == 2


def test_who_began_the_loop_stops_it(tmp_path: Path) -> None:
    with script(tmp_path, HALF) as (session, server):

        async def main() -> None:
            await by_task_cancel(session)
            task = asyncio.create_task(session.aio.loop())
            await until(lambda: len(server.requests) == 2 or task.done())
            task.cancel()
            await asyncio.wait({task})

        asyncio.run(main())

        assert eventually(lambda: server.open_connections == 0)
        assert session.status.type == "idle"


def test_a_cancelled_compaction_stops_its_request(tmp_path: Path) -> None:
    with script(tmp_path, says("Said. " * 50), HALF) as (session, server):

        async def main() -> None:
            await session.aio.prompt("one")
            task = asyncio.create_task(session.aio.compact())
            await until(lambda: len(server.requests) == 2)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        asyncio.run(main())

        assert eventually(lambda: is_quiet(server, 2))
        assert session.status.type == "idle"


def test_a_cancelled_prompt_stops_the_tasks_that_it_began(tmp_path: Path) -> None:
    begins = calls("task", description="look", prompt="Look.", agent="general")
    with script(tmp_path, begins, HALF) as (session, server):

        async def main() -> None:
            task = asyncio.create_task(session.aio.prompt("go", yes=True))
            await until(lambda: len(server.requests) == 2)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        asyncio.run(main())

        assert eventually(lambda: is_quiet(server, 2))
        assert ends(session) == ["cancelled"]


def test_a_prompt_that_is_cancelled_at_once_sends_nothing_for_long(tmp_path: Path) -> None:
    with script(tmp_path, *[HALF] * 20) as (session, server):

        async def main() -> None:
            for rounds in range(8):
                task = asyncio.create_task(session.aio.prompt("go"))
                for _ in range(rounds):
                    await asyncio.sleep(0)
                task.cancel()
                await asyncio.wait({task})

        asyncio.run(main())

        assert eventually(lambda: server.open_connections == 0)
        assert session.status.type == "idle"
        assert session.waiting == ()


WAITS: dict[str, Any] = {
    "a permission question": calls("bash", command="touch x"),
    "a command": calls("bash", command="sleep 1000"),
    "a question of the model": calls(
        "question",
        questions=[
            {"question": "Which?", "header": "W", "options": [{"label": "a", "description": "a"}]}
        ],
    ),
    "another try": fails(429, retry_after=300),
    "the first words": says("").stalls(),
}


def waits_for(session: Session, server: FaultServer, what: str) -> bool:
    match what:
        case "a permission question":
            return bool(session.asks)
        case "a question of the model":
            return bool(session.questions)
        case "another try":
            return session.status.type == "retry"
        case "a command":
            parts = [part for message in session.messages for part in message.parts]
            return any(
                isinstance(part, ToolPart) and part.state.status == "running" for part in parts
            )
        case _:
            return server.open_connections == 1


@pytest.mark.parametrize("what", thinned(WAITS, 3))
def test_a_cancelled_prompt_ends_whatever_it_waits_for(tmp_path: Path, what: str) -> None:
    with script(tmp_path, WAITS[what], says("Never asked for.")) as (session, server):

        async def main() -> str:
            task = asyncio.create_task(session.aio.prompt("go", yes=what == "a command"))
            await until(lambda: waits_for(session, server, what))
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return session.status.type

        assert asyncio.run(main()) == "idle"

        assert eventually(lambda: is_quiet(server, 1))
        assert (session.asks, session.questions) == ((), ())
        assert ends(session) == ["cancelled"]

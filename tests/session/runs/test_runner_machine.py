"""After any sequence of operations, a session's live view equals its log, and each prompt was answered once.

A state machine performs the operations of users and front ends - prompt, steer, queue, join, withdraw,
stop, retry, compact, revert, fork, kill the kernel and open the session again - while a model answers when
the machine says so. The invariants are checked after each step. A sample runs in ``make test``, more in
``make soak``.
"""

import asyncio
import shutil
import tempfile
from collections import Counter
from collections.abc import AsyncGenerator, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from pydantic import BaseModel
from tests.harness.session import SessionHarness, until
from tests.sample_size import sample_size, thinned
from tests.waiting import settled

from palimpsest.model.interface import ModelRequest, StreamEvent
from palimpsest.model.script import ModelAnswer as Said
from palimpsest.model.script import calls, fails, says, thinks, writes
from palimpsest.session.engine import Snapshot
from palimpsest.session.interfaces.prompt_answer import Answer, PromptOptions
from palimpsest.session.open_sessions.live_session import LiveSession
from palimpsest.store.interface import Store
from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.log.memory_store import MemoryStore
from palimpsest.store.project_folder.layout import open_project_folder
from palimpsest.store.session_state.live_window import live_window
from palimpsest.store.session_state.state import State
from palimpsest.testing import ScriptedModel
from palimpsest.tools.permission_rules.permissions import from_config
from palimpsest.tools.tool import ToolContext, ToolOutcome
from palimpsest.transcript.errors import Aborted, SessionBusy, UserError
from palimpsest.transcript.messages import UserMessage
from palimpsest.transcript.parts import ToolPart
from palimpsest.transcript.session_record.events import PromptAdmitted, PromptDelivered
from palimpsest.transcript.values import Reply

SECONDS = 10.0
SUMMARY = "## Goal\n- to know the mean\n\n## Numbers and facts\n- mean 43.92\n" + "- none\n" * 40

ANSWERS: dict[str, Said] = {
    "words": says("The mean is 43.92. ").says("That is all."),
    "thinking": thinks("Hm. ").says("I thought about it."),
    "call": says("I look.").calls("list"),
    "two calls": calls("list").calls("hold"),
    "hold": calls("hold"),
    "nonsense": calls("no_such_tool", x=1).writes("list", '{"path": '),
    "cut call": writes("list", '{"path": ').finishes("length"),
    "failure": fails(400, "The request makes no sense."),
    "nothing": says(""),
    "summary": says(SUMMARY),
}


class Gate:
    """A model that answers when the machine gives it an answer."""

    def __init__(self) -> None:
        self.waiting: list[asyncio.Future[Said]] = []
        self.requests: list[ModelRequest] = []

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        if request.purpose == "title":
            said = says("A title")
        else:
            self.requests.append(request)
            future: asyncio.Future[Said] = asyncio.get_running_loop().create_future()
            self.waiting.append(future)
            try:
                said = await future
            finally:
                self.waiting.remove(future)
        async for event in ScriptedModel(said).stream(request):
            yield event


class Nothing(BaseModel):
    """Tool arguments without fields."""


class Hold:
    """A tool that runs until it is released or stopped."""

    name = "hold"
    description = "Holds."
    arguments = Nothing
    concurrent = True
    permission = "hold"

    def __init__(self) -> None:
        self.held: list[asyncio.Event] = []

    async def run(self, _arguments: Any, context: ToolContext) -> ToolOutcome:
        context.metadata("holding", {"output": "so far"})
        loop, over = asyncio.get_running_loop(), asyncio.Event()
        unregister = context.abort.on_abort(lambda: loop.call_soon_threadsafe(over.set))
        self.held.append(over)
        try:
            await over.wait()
        finally:
            self.held.remove(over)
            unregister()
        if context.abort.is_set():
            raise Aborted(context.abort.reason)
        return ToolOutcome(title="held", output="let go")


class Runs(RuleBasedStateMachine):
    """A session, and the operations on it."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.root = Path(tempfile.mkdtemp(prefix="palimpsest-machine-"))
        self.gate = Gate()
        self.hold = Hold()
        self.kernels = 0
        self.asked: dict[str, asyncio.Task[Answer]] = {}
        self.others: list[asyncio.Task[Any]] = []

    def make(self) -> Store:
        raise NotImplementedError

    def do(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self.loop.run_until_complete(asyncio.wait_for(work, SECONDS))

    @initialize()
    def open(self) -> None:
        self.store = self.make()
        self.harness, self.session = self.do(self.opened())

    async def opened(self, session_id: str | None = None) -> tuple[SessionHarness, LiveSession]:
        rules = from_config({"*": "allow"}, home="/")
        harness = SessionHarness(
            self.root, self.gate, store=self.store, rules=rules, kernel_id=f"kernel-{self.kernels}"
        )
        harness.services.agents.registry.register(self.hold)
        if session_id is None:
            return harness, await harness.session()
        session = await harness.workspace.open(session_id, "a.ipynb")
        assert isinstance(session, LiveSession)
        return harness, session

    async def settle(self) -> None:
        """Run the loop until everything waits for the machine; a call that came three times is allowed once more."""
        await settled(2)
        while True:
            await until(
                lambda: (
                    not self.session.runner.is_busy
                    or self.gate.waiting
                    or self.hold.held
                    or self.session.snapshot().asks
                ),
                SECONDS,
            )
            await settled(5)
            if not self.session.snapshot().asks:
                return
            for ask in self.session.snapshot().asks:
                self.session.reply(ask.id, Reply(answer="once"))

    async def within(self, work: Coroutine[Any, Any, Any]) -> Any:
        found = await work
        await self.settle()
        return found

    # Operations

    @rule(delivery=st.sampled_from(["queue", "steer"]))
    def prompt(self, delivery: Any) -> None:
        async def ask() -> None:
            name = f"pmt_{len(self.asked)}"
            options = PromptOptions(delivery=delivery, prompt_id=name)
            turn = self.session.prompt(f"Question {len(self.asked)}", options)
            self.asked[name] = self.loop.create_task(turn)
            await asyncio.sleep(0)

        self.do(self.within(ask()))

    @precondition(lambda self: self.asked)
    @rule(data=st.data())
    def prompt_again(self, data: st.DataObject) -> None:
        """Send a prompt a second time: both get the same answer, and it is sent once."""
        name = data.draw(st.sampled_from(sorted(self.asked)))
        options = PromptOptions(prompt_id=name)
        before = len(self.gate.requests)

        async def again() -> None:
            if name not in self.session.runner._answer_futures | self.session.runner._answer_by_key:
                return
            task = self.loop.create_task(self.session.prompt("the same", options))
            self.others.append(task)
            await asyncio.sleep(0)

        self.do(again())
        assert len(self.gate.requests) == before

    @rule()
    def join(self) -> None:
        async def joined() -> None:
            if not self.session.runner.is_busy and not self.session.snapshot().messages:
                with pytest.raises(UserError):
                    await self.session.loop()
                return
            self.others.append(self.loop.create_task(self.session.loop()))
            await asyncio.sleep(0)

        self.do(self.within(joined()))

    @precondition(lambda self: self.gate.waiting)
    @rule(kind=st.sampled_from(sorted(ANSWERS)))
    def answer(self, kind: str) -> None:
        async def let() -> None:
            newest = self.gate.requests[-1]
            said = ANSWERS["summary" if newest.purpose == "compaction" else kind]
            self.gate.waiting[0].set_result(said)
            await until(lambda: not any(waiting.done() for waiting in self.gate.waiting))

        self.do(self.within(let()))

    @precondition(lambda self: self.hold.held)
    @rule()
    def let_go(self) -> None:
        async def let() -> None:
            held = self.hold.held[0]
            held.set()
            await until(lambda: held not in self.hold.held)

        self.do(self.within(let()))

    @precondition(lambda self: self.gate.waiting)
    @rule(kinds=st.lists(st.sampled_from(sorted(ANSWERS)), min_size=1, max_size=6))
    def answer_on(self, kinds: list[str]) -> None:
        """Answer several requests in a row."""
        for kind in kinds:
            if self.gate.waiting:
                self.answer(kind)
            elif self.hold.held:
                self.let_go()

    @rule(kinds=st.lists(st.sampled_from(sorted(ANSWERS)), min_size=1, max_size=4))
    def whole_turn(self, kinds: list[str]) -> None:
        """Send a prompt, and answer until no request is open."""
        self.prompt("queue")
        if self.gate.waiting:
            self.answer_on(kinds)
        while self.gate.waiting or self.hold.held:
            if self.gate.waiting:
                self.answer("words")
            else:
                self.let_go()

    @precondition(lambda self: self.gate.waiting or self.hold.held)
    @rule()
    def cancel(self) -> None:
        self.stop()

    def stop(self) -> None:
        async def stop() -> None:
            was = self.session.runner.is_busy
            assert self.session.cancel() or not was
            await self.session.runner.wait_idle()

        self.do(self.within(stop()))
        assert all(task.done() for task in self.asked.values())

    @rule(data=st.data())
    def withdraw(self, data: st.DataObject) -> None:
        inbox = [prompt.prompt_id for prompt in self.session.snapshot().inbox]
        if inbox:
            name = data.draw(st.sampled_from(inbox))
            self.do(self.within(self.call(self.session.withdraw, name)))
            assert name not in [prompt.prompt_id for prompt in self.session.snapshot().inbox]

    async def call(self, function: Any, *arguments: Any) -> Any:
        return function(*arguments)

    @rule(what=st.sampled_from(["retry", "compact"]))
    def begin(self, what: str) -> None:
        async def run() -> None:
            task = self.loop.create_task(getattr(self.session, what)())
            self.others.append(task)
            await asyncio.sleep(0)

        self.do(self.within(run()))

    @rule(what=st.sampled_from(["revert", "unrevert", "cleanup"]), data=st.data())
    def take_back(self, what: str, data: st.DataObject) -> None:
        reverts = self.session.reverts
        users = [m.id for m in self.session.snapshot().messages if isinstance(m.info, UserMessage)]
        if what == "revert" and not users:
            return
        named = (data.draw(st.sampled_from(users)),) if what == "revert" else ()
        was_busy = self.session.runner.is_busy

        async def do() -> None:
            try:
                found = await getattr(reverts, what)(*named)
            except SessionBusy:
                assert was_busy
            except UserError:
                pass  # there was nothing to revert
            else:
                # Without a revert there is nothing to clean up, whatever runs.
                assert not was_busy or found == 0

        self.do(self.within(do()))

    @rule(data=st.data())
    def fork(self, data: st.DataObject) -> None:
        messages = self.session.snapshot().messages
        at = data.draw(st.sampled_from([None, *(message.id for message in messages)]))

        async def go() -> None:
            await self.session.journal.flush()
            fork = await self.harness.workspace.fork(self.session.id, at)
            assert isinstance(fork, LiveSession)
            found = [message.id for message in fork.snapshot().messages]
            # A message before the newest checkpoint is shown from an older one, with more messages before it.
            state = self.store.load(self.session.id)
            whole = [message.id for message in state.messages()]
            # The running session keeps messages before its window in memory; one that is opened does not.
            window = live_window(state).checkpoint_fields.get("window")
            needed = whole if window is None else window["ids"]
            if at is not None:
                whole = whole[: whole.index(at)]
                needed = [needed_id for needed_id in needed if needed_id in whole]
            assert found == whole[len(whole) - len(found) :]
            assert set(needed) <= set(found)
            assert fork.id != self.session.id
            await fork.close()
            await self.harness.workspace.open(self.session.id, "a.ipynb")

        if not self.session.runner.is_busy:
            self.do(self.within(go()))

    @rule()
    def close_and_reopen(self) -> None:
        async def reopen() -> None:
            await self.session.close()
            await self.harness.workspace.close()
            self.harness, self.session = await self.opened(self.session.id)

        self.do(self.within(reopen()))
        assert all(task.done() for task in self.asked.values())

    # Invariants

    async def at_one_moment(self) -> tuple[State, Snapshot]:
        """Return the log and the live view at a moment without unwritten records."""
        session = self.session
        while True:
            seq = session.snapshot().seq
            await session.journal.flush()
            live = session.snapshot()
            if live.seq == seq:
                return self.store.load(session.id), live

    @invariant()
    def the_live_view_is_the_folded_log(self) -> None:
        if not hasattr(self, "session"):
            return
        folded, live = self.do(self.at_one_moment())
        messages = live.messages
        assert (
            folded.messages()[-len(messages) :] == messages if messages else not folded.messages()
        )
        assert folded.status == live.status
        assert tuple(folded.inbox.values()) == live.inbox
        assert folded.todos == live.todos
        assert folded.session == live.session
        assert folded.seq == live.seq

    @invariant()
    def nothing_runs_in_an_idle_session(self) -> None:
        if not hasattr(self, "session") or self.session.runner.is_busy:
            return
        assert self.session.snapshot().status.type == "idle"
        assert self.session.snapshot().asks == ()
        assert self.gate.waiting == []
        assert self.hold.held == []
        for message in self.session.snapshot().messages:
            for part in message.parts:
                if isinstance(part, ToolPart):
                    assert part.state.status in {"completed", "error"}
        for name, task in self.asked.items():
            waits = name in {prompt.prompt_id for prompt in self.session.snapshot().inbox}
            assert task.done() or waits, name

    @invariant()
    def every_call_that_is_sent_has_its_result(self) -> None:
        for request in self.gate.requests[-2:]:
            open_calls: list[str] = []
            for message in request.messages:
                if message["role"] == "tool":
                    assert message["tool_call_id"] in open_calls
                    open_calls.remove(message["tool_call_id"])
                    continue
                assert open_calls == []
                open_calls = [call["id"] for call in message.get("tool_calls") or ()]
            assert open_calls == []

    def teardown(self) -> None:
        try:
            if hasattr(self, "session"):
                self.finish()
        finally:
            pending = asyncio.all_tasks(self.loop)
            for task in pending:
                task.cancel()
            if pending:
                self.loop.run_until_complete(asyncio.wait(pending))
            self.loop.run_until_complete(self.loop.shutdown_default_executor())
            self.loop.close()
            shutil.rmtree(self.root, ignore_errors=True)

    def finish(self) -> None:
        self.stop()
        self.the_live_view_is_the_folded_log()
        self.nothing_runs_in_an_idle_session()
        for task in [*self.asked.values(), *self.others]:
            assert task.done()
            problem = task.exception()
            assert problem is None or isinstance(problem, UserError), problem
        for task in self.asked.values():
            assert isinstance(task.result(), Answer)
        records = list(self.store.read(self.session.id))
        admitted = Counter(
            r.event.prompt_id for r in records if isinstance(r.event, PromptAdmitted)
        )
        delivered = Counter(
            r.event.prompt_id for r in records if isinstance(r.event, PromptDelivered)
        )
        assert admitted == delivered
        assert set(admitted.values()) <= {1}
        self.do(self.session.close())
        self.do(self.harness.workspace.close())


class InMemory(Runs):
    """With a store in memory."""

    def make(self) -> Store:
        return MemoryStore()


class OnDisk(Runs):
    """With a log on a disk, and kernels that may be killed at any moment."""

    def make(self) -> Store:
        return JsonlStore(open_project_folder(self.root), heartbeat_seconds=0.1, watch_seconds=2.5)

    @rule()
    def kill(self) -> None:
        """Copy the log as kill -9 would leave it, and open it in a restarted kernel."""

        async def die() -> None:
            await self.session.journal.flush()
            left = Path(tempfile.mkdtemp(prefix="palimpsest-machine-"))
            here = (self.root / ".palimpsest", left / ".palimpsest")
            shutil.copytree(*here, dirs_exist_ok=True, copy_function=_copied)
            await self.session.close()
            await self.harness.workspace.close()
            shutil.rmtree(self.root, ignore_errors=True)
            self.root = left
            self.store = self.make()
            waiting = [name for name, task in self.asked.items() if not task.done()]
            assert waiting == [], "a closing kernel answers everybody"
            self.harness, self.session = await self.opened(self.session.id)

        self.do(self.within(die()))


def _copied(here: str, there: str) -> None:
    """Copy a file; a missing one was a temporary file that has been renamed."""
    with suppress(FileNotFoundError):
        shutil.copy2(here, there)


def run_machine(machine: type[Runs], examples: int, steps: int) -> None:
    run_state_machine_as_test(
        machine, settings=settings(max_examples=examples, stateful_step_count=steps)
    )


@pytest.mark.slow
@pytest.mark.timeout(sample_size(300, 3_600))
@pytest.mark.parametrize("machine", thinned([InMemory, OnDisk], 2))
def test_every_order_of_operations_keeps_the_laws(machine: type[Runs]) -> None:
    run_machine(machine, sample_size(4, 600), sample_size(20, 50))

"""What a person's session object can do with its runs: begin, join, steer, wait, stop, follow.

Every method can be called from any thread. What takes its time returns a future; ``aio`` has the
same as coroutines, for scripts that have a loop of their own.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar, Unpack

from palimpsest.session.api import Answer, LiveSession, Snapshot
from palimpsest.session.asking import PromptWords, answers_of, options_of, reply_of
from palimpsest.session.unattended import PROGRAM_SECONDS, has_terminal, refuse_unattended
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.events import PromptAdmitted, QuestionAsked, Record
from palimpsest.transcript.messages import Messages
from palimpsest.transcript.sessions import Status
from palimpsest.transcript.values import Ask, Reply, Todo

T = TypeVar("T")

NOT_IN_A_CELL = (
    "In a notebook, ask with %agent or %%agent: the agent's Python needs the thread that this call "
    "would block. start() sends a prompt without waiting."
)


class Running:
    """Sends prompts and looks after the runs of one session."""

    @property
    def id(self) -> str:
        """The session's id.

        >>> session.id[:4]
        'ses_'
        """
        return self._session.id

    @property
    def snapshot(self) -> Snapshot:
        """Everything about the session at this moment, as one immutable value.

        >>> picture = session.snapshot
        >>> len(picture.messages), picture.status.type, picture.seq > 0
        (2, 'idle', True)
        """
        return self._session.snapshot()

    @property
    def messages(self) -> Messages:
        """The transcript.

        >>> [message.info.role for message in session.messages]
        ['user', 'assistant']
        """
        return self._session.snapshot().messages

    @property
    def status(self) -> Status:
        """Whether it is idle, busy, or waits to try again.

        >>> session.status.type
        'idle'
        """
        return self._session.snapshot().status

    @property
    def todos(self) -> tuple[Todo, ...]:
        """The agent's todo list.

        >>> session.todos
        ()
        """
        return self._session.snapshot().todos

    @property
    def waiting(self) -> tuple[PromptAdmitted, ...]:
        """The prompts that wait for their turn, in order.

        >>> session.waiting
        ()
        """
        return self._session.snapshot().inbox

    @property
    def asks(self) -> tuple[Ask, ...]:
        """The permission questions that are open; ``reply`` answers them.

        >>> session.asks
        ()
        """
        return self._session.snapshot().asks

    @property
    def questions(self) -> tuple[QuestionAsked, ...]:
        """What the model asks the person; ``answer`` answers it.

        >>> session.questions
        ()
        """
        return tuple(self._session.snapshot().questions)

    def start(self, text: str, **options: Unpack[PromptWords]) -> "Future[Answer]":
        """Send a prompt; its answer arrives in a future.

        While a turn runs it waits behind it; ``delivery="steer"`` sends it into the turn, before
        its next request. The same ``prompt_id`` twice is one prompt.

        >>> future = session.start("Hello.", prompt_id="greeting")
        >>> future.result() == session.start("Hello.", prompt_id="greeting").result()
        True
        """
        future = self._begun(self._session.prompt(text, options_of(options)))
        self._in_order(lambda: None)  # status and waiting tell of it as soon as this returns
        return future

    def loop(self) -> "Future[Answer]":
        """Join the run; the run's final answer arrives in a future, the same for all who join.

        Where none runs, one is begun over what was left: a message that has no answer yet because
        its kernel ended, and prompts that wait.

        >>> turn = session.start("Which files are there?", yes=True)
        >>> joined = session.loop()
        >>> joined.result().text == turn.result().text
        True
        """
        return self._begun(self._session.loop())

    def retry(self) -> "Future[Answer]":
        """Send the newest turn's failed request again; the answer arrives in a future.

        >>> session.retry().result()
        Traceback (most recent call last):
        palimpsest.transcript.errors.UserError: There is nothing to try again: the newest turn did not fail.
        """
        return self._begun(self._session.retry())

    def compact(self, focus: str | None = None) -> "Future[Answer]":
        """Put a summary in the place of what was said; it arrives in a future, also one that runs already.

        ``focus`` is what the summary keeps above all. In a cell, write ``%agent compact``.

        >>> session.compact("the file names").result().steps
        1
        """
        return self._begun(self._session.compact(focus))

    def wait_compaction(self) -> "Future[bool]":
        """Tell when no compaction runs and what it interrupted was tried again; arrives in a future.

        False when that takes longer than the context policy waits, or the session is closed.

        >>> session.wait_compaction().result()
        True
        """
        return self._begun(self._session.wait_compaction())

    def cancel(self) -> bool:
        """Stop the turn that runs and withdraw what waits; false when nothing ran.

        >>> session.cancel()
        False
        """
        return self._session.cancel() or self._in_order(self._session.cancel)

    def withdraw(self, prompt_id: str) -> bool:
        """Take a waiting prompt back; false when it was delivered already.

        >>> session.withdraw("greeting")
        False
        """
        session = self._session
        return session.withdraw(prompt_id) or self._in_order(session.withdraw, prompt_id)

    def reply(self, ask_id: str, reply: Reply | str, feedback: str | None = None) -> bool:
        """Answer a permission question with once, always or reject; the first answer wins.

        ``feedback`` says with a reject what to do instead. A ``Reply`` also says how far an always
        reaches: ``Reply(answer="always", scope="project")``.

        >>> session.reply("ask_1", "reject", "Use the other file.")
        False
        """
        return self._session.reply(ask_id, reply_of(reply, feedback))

    def answer(self, question_id: str, *answers: str | Sequence[str] | None) -> bool:
        """Answer what the model asks: for each question a label, own words, or a list of labels.

        None leaves that question open; without any answer the agent goes on with its best
        judgement. The first answer wins, whoever gives it; false when it was answered already.

        >>> session.answer("que_1", "yes", ["mass", "year"])
        False
        """
        return self._session.answer(question_id, answers_of(answers))

    def subscribe(self, callback: Callable[[Sequence[Record]], None]) -> Callable[[], None]:
        """Be told every record after it was written, on the writer's thread; returns a way out.

        >>> seen = []
        >>> end = session.subscribe(seen.extend)
        >>> _ = session.prompt("Hello.")
        >>> _ = session.requests()  # reads the log, so all of it is written and told
        >>> end()
        >>> "message.updated" in {record.event.type for record in seen}
        True
        """
        return self._session.subscribe(callback)

    @property
    def aio(self) -> "AsyncRuns":
        """The same as coroutines, for a script that has a loop of its own.

        >>> import asyncio
        >>> asyncio.run(session.aio.prompt("Hello.")).error is None
        True
        """
        return AsyncRuns(self)

    @property
    def _holds(self) -> Any:
        """What holds the engine; the class that inherits this keeps it."""
        return vars(self)["_app"]

    @property
    def _session(self) -> LiveSession:
        live: LiveSession = vars(self)["_live"]
        return live

    def _in_order(self, call: Callable[..., T], *arguments: Any) -> T:
        """Call behind what was sent before: a prompt of a moment ago may not be admitted yet."""

        async def work() -> T:
            return call(*arguments)

        if self._holds.engine.is_current():
            return call(*arguments)
        return self._begun(work()).result()

    def _begun(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        future: Future[T] = self._holds.engine.submit(work)
        return future


class AsyncRuns:
    """What takes its time, to be awaited from any loop; a cancelled wait stops nothing.

    >>> async def two():
    ...     first = session.aio.prompt("Which files are there?", yes=True)
    ...     return await asyncio.gather(first, session.aio.prompt("Hello."))
    >>> import asyncio
    >>> [answer.error for answer in asyncio.run(two())]
    [None, None]
    """

    def __init__(self, session: Running) -> None:
        self._session = session

    async def prompt(self, text: str, **options: Unpack[PromptWords]) -> Answer:
        """Send a prompt and await its answer; in a notebook's kernel, ask with %agent.

        Where no terminal is, a question that the program does not answer within seconds gets a
        recorded no. ``start`` leaves questions to the program for as long as it likes.
        """
        holds, live = self._session._holds, self._session._session  # noqa: SLF001  one idea in two classes
        if holds.in_kernel:
            raise UserError(NOT_IN_A_CELL)
        refusing = holds.engine.submit(refuse_unattended(live, has_terminal, PROGRAM_SECONDS))
        try:
            return await self._of(self._session.start(text, **options))
        finally:
            refusing.cancel()

    async def loop(self) -> Answer:
        """Join the run and await its final answer."""
        return await self._of(self._session.loop())

    async def retry(self) -> Answer:
        """Send the newest turn's failed request again, and await its answer."""
        return await self._of(self._session.retry())

    async def compact(self, focus: str | None = None) -> Answer:
        """Put a summary in the place of what was said, and await it."""
        return await self._of(self._session.compact(focus))

    async def wait_compaction(self) -> bool:
        """Return when no compaction runs and what it interrupted was tried again."""
        return await self._of(self._session.wait_compaction())

    async def call(self, function: Callable[..., T], *arguments: Any, **named: Any) -> T:
        """Do anything else that a session can do, without blocking this loop.

        >>> import asyncio
        >>> asyncio.run(session.aio.call(session.fork)).id != session.id
        True
        """
        return await asyncio.to_thread(function, *arguments, **named)

    async def _of(self, future: "Future[T]") -> T:
        return await asyncio.shield(asyncio.wrap_future(future))

"""Measure the cost of assembling a request, and the size of its record.

The session has 10,000 messages; its live window holds 1,000 parts, about 100,000 tokens, for a model whose
provider takes cache marks. Times are the best of several runs, as in ``bench_store``.
"""

import asyncio
import gc
import random
import statistics
import tempfile
import time
import timeit
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from tests.bench.figure import Figure
from tests.bench.generate_session import LogAuthor, generate
from tests.bench.languages import languages
from tests.bench.records import records

from palimpsest.context.engine_text.system_prompt import HEADER
from palimpsest.context.presets import PRESETS
from palimpsest.loop.model_requests.request_builder import ReadyRequest, build_request
from palimpsest.loop.run_inputs.run_context import RequestServices, StepSetup
from palimpsest.model import tokenizer
from palimpsest.model.tokenizer import counter
from palimpsest.processor.session_log import SessionLog
from palimpsest.session.extensions.hook_points import HookPoints
from palimpsest.session.extensions.hooks import HookRegistry
from palimpsest.store.interface import Owner
from palimpsest.store.log.journal import Journal
from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.project_folder.layout import open_project_folder
from palimpsest.store.session_state.state import State
from palimpsest.tools.registration.registry import Registry, builtin_tools
from palimpsest.tools.tool import Abort
from palimpsest.transcript.context_values.neutral_messages import NeutralMessage, TextBlock
from palimpsest.transcript.ids import Ids
from palimpsest.transcript.messages import AssistantMessage, MessagePath, MessageTime
from palimpsest.transcript.parts import Span, ToolCompleted, ToolPart
from palimpsest.transcript.session_record.events import MessageUpdated, PartUpdated, StepRequested
from palimpsest.transcript.values import ModelInfo, ModelRef, Usage

FIRST_MS = 30.0
NEXT_MS = 2.0
COUNTS_PER_TEXT = 1.0
MAX_NAME_CHARS = 30
TURNS = 2_000
MESSAGES = 5 * TURNS
WINDOW_TURNS = 67
OPENINGS = 8
WINDOW_PARTS = 15 * WINDOW_TURNS
TURN_BYTES = 4_000
SESSION_ID = "ses_long"
OWNER = Owner(host="bench", pid=0, kernel_id="bench")
INFO = ModelInfo(
    ref=ModelRef(provider="anthropic", name="claude-sonnet-4-5"),
    window=200_000,
    output_limit=64_000,
    reasoning=True,
    vision=True,
    caching=True,
)


def measure() -> list[Figure]:
    """Return the figures of the context pipeline."""
    with tempfile.TemporaryDirectory() as folder:
        store = JsonlStore(open_project_folder(Path(folder)))
        author = LogAuthor(
            SESSION_ID,
            random.Random(7),
            TURNS,
            turn_bytes=TURN_BYTES,
            compact_every=TURNS - WINDOW_TURNS,
        )
        generate(store, SESSION_ID, author=author)
        figures = list(_assembling(store))
    return [*figures, *asyncio.run(records()), *languages()]


@dataclass
class Counts:
    """A token counter of the policy that also records how often each text was counted."""

    count: Callable[[str], int] = field(
        default_factory=lambda: counter(PRESETS["palimpsest"].estimator)
    )
    calls: Counter[str] = field(default_factory=Counter)

    def __call__(self, text: str) -> int:
        """Return the tokens of a text."""
        self.calls[text] += 1
        return self.count(text)

    @property
    def most(self) -> int:
        """Return the count of the text that was counted most often, tool names left aside."""
        return max(often for text, often in self.calls.items() if len(text) > MAX_NAME_CHARS)


@dataclass
class FakeKernel:
    """The context inputs of one kernel that has the session open."""

    journal: Journal
    stage: RequestServices
    setup: StepSetup
    counts: Counts
    number: int = 0

    def build(self) -> ReadyRequest:
        """Assemble the next request."""
        return build_request(self.stage, self.setup, "msg_next", {"reasoning_effort": "high"})

    def step(self) -> float:
        """Assemble a request, add an answer to it, and return the milliseconds that the assembly took."""
        began = time.perf_counter()
        assembled = self.build()
        taken = (time.perf_counter() - began) * 1_000
        self.number += 1
        now = self.stage.log.clock()
        answer = AssistantMessage(
            id=self.stage.log.ids.new("msg"),
            session_id=SESSION_ID,
            parent_id="",
            time=MessageTime(created=now, completed=now),
            agent="build",
            model=INFO.ref,
            path=MessagePath(cwd="/home/ada", root="/home/ada"),
            finish="tool-calls",
            tokens=Usage(input=assembled.record.tokens, output=40),
        )
        base = {"session_id": SESSION_ID, "message_id": answer.id}
        code = {"code": f"df.query('species == {answer.id}').describe()"}
        call = ToolPart(
            **base,
            id=self.stage.log.ids.new("prt"),
            call_id=f"toolu_{answer.id}",
            tool="python",
            state=ToolCompleted(
                input=code, output=f"mean of {answer.id} is {self.number}", time=Span(start=now)
            ),
        )
        record = assembled.record.model_copy(update={"message_id": answer.id})
        self.stage.log.append(
            StepRequested(request=record), MessageUpdated(info=answer), PartUpdated(part=call)
        )
        return taken


@contextmanager
def kernel(store: JsonlStore, state: State) -> Iterator[FakeKernel]:
    """Yield a kernel that opened the session: its messages are read, and no tokens are counted yet."""

    def clock() -> int:
        return time.time_ns() // 1_000_000

    journal = Journal(store.acquire(SESSION_ID, OWNER), state, clock=clock)
    log = SessionLog(
        journal,
        blobs=store,
        ids=Ids(clock, random.Random(3).randbytes),
        clock=clock,
        path=MessagePath(cwd="/home/ada", root="/home/ada"),
    )
    stage = RequestServices(
        log=log,
        abort=Abort(),
        resolve_setup=cast("Any", None),
        jitter=lambda: 0.0,
        hooks=HookPoints(HookRegistry(with_packages=False), lambda: ""),
    )
    registry = Registry(builtin_tools(kernel=True))
    # Token counts of an earlier kernel are not known to this one.
    tokenizer._counters.clear()
    counts = Counts()
    setup = StepSetup(
        agent="build",
        model=cast("Any", None),
        info=INFO,
        policy=PRESETS["palimpsest"],
        count=counts,
        system=(HEADER, "<env>\n  Working directory: /home/ada\n</env>" * 10),
        specs=tuple(registry.spec(tool) for tool in registry.offered_tools((), None)),
        offer=cast("Any", None),
        max_steps=50,
    )
    state.messages()
    counter(setup.policy.estimator)("The encoding itself is loaded once for a kernel.")
    gc.collect()
    try:
        yield FakeKernel(journal, stage, setup, counts)
    finally:
        journal.close()


def _assembling(store: JsonlStore) -> Iterator[Figure]:
    with kernel(store, store.open_live(SESSION_ID)) as made:
        never = made.step()
        tokens = made.build().record.tokens
        made.step()
    window = f"{WINDOW_PARTS:,} parts, {tokens:,} tokens"
    yield Figure("request: of texts nobody ever counted", never, "ms", None, window)
    yield from _opened(store, "live window", window, store.open_live)
    whole = f"{MESSAGES:,} messages in memory"
    yield from _opened(store, "whole session", whole, store.load, first_ms=None)


def _value_us() -> float:
    """Return the microseconds that building one value takes, as a measure of the machine and its load."""
    block = TextBlock(text="word", part_id="prt")
    times = timeit.repeat(
        lambda: NeutralMessage(role="user", blocks=(block,), message_id="msg"),
        number=1_000,
        repeat=9,
    )
    return min(times) * 1_000


def _opened(
    store: JsonlStore,
    name: str,
    note: str,
    read: Callable[[str], State],
    *,
    first_ms: float | None = FIRST_MS,
) -> Iterator[Figure]:
    first, used, following, most = [], [], [], 0
    for _ in range(OPENINGS):
        with kernel(store, read(SESSION_ID)) as opened:
            parts = sum(len(message.parts) for message in opened.stage.log.state.messages())
            assert parts >= WINDOW_PARTS
            before = time.thread_time()
            first.append(opened.step())
            used.append((time.thread_time() - before) * 1_000)
            following += [opened.step() for _ in range(10)]
            most = max(most, opened.counts.most)
    note = (
        f"{note}; median {statistics.median(first):.1f}, {min(used):.1f} ms CPU,"
        f" where a value takes {_value_us():.1f} us"
    )
    yield Figure(f"request: {name}, the first", min(first), "ms", first_ms, note)
    note = f"median {statistics.median(following):.1f}"
    yield Figure(f"request: {name}, one message more", min(following), "ms", NEXT_MS, note)
    yield Figure(f"request: {name}, counts of one text", most, "x", COUNTS_PER_TEXT)

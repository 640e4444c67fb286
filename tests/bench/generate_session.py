"""Generate a long session from a seed: 10,000 messages, 30,000 parts, 68 MB of log.

It resembles real work: turns of four steps, streamed answers, tools that go from pending to completed with
outputs of very different length, a compaction with its checkpoint every 200 messages, an occasional
truncation. The same seed gives the same bytes.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass

from palimpsest.store.interface import Owner
from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.session_state.live_window import live_window
from palimpsest.store.session_state.state import State
from palimpsest.transcript.context_values.decisions import ContextItem, Decision, Facts, StepRequest
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.messages import (
    AssistantMessage,
    MessagePath,
    MessageTime,
    UserMessage,
)
from palimpsest.transcript.parts import (
    CompactionPart,
    Part,
    Span,
    StepFinishPart,
    StepStartPart,
    TextPart,
    ToolCompleted,
    ToolPart,
    ToolPending,
    ToolRunning,
)
from palimpsest.transcript.session_record.events import (
    Checkpoint,
    DecisionMade,
    Event,
    MessageUpdated,
    PartDelta,
    PartUpdated,
    Record,
    SessionCompacted,
    SessionCreated,
    StepRequested,
)
from palimpsest.transcript.session_record.sessions import SessionInfo, SessionTime
from palimpsest.transcript.values import BlobRef, ModelInfo, ModelRef

MEGABYTES = 68
TURNS = 2_000
MESSAGES = 5 * TURNS
PARTS = 15 * TURNS
COMPACT_EVERY = 40
START = 1_790_000_000_000
REF = ModelRef(provider="anthropic", name="claude-sonnet-4-5")
MODEL = ModelInfo(ref=REF, window=200_000, output_limit=8_192)
BLOB = BlobRef(sha256="ab" * 32, bytes=1_000)
WORDS = [
    "penguin",
    "island",
    "bill",
    "depth",
    "flipper",
    "mass",
    "the",
    "of",
    "a",
    "mean",
    "by",
    "species",
    "groupby",
    "describe",
    "plot",
    "figure",
    "value",
    "column",
    "dtype",
    "index",
    "NaN",
    "float64",
    "rows",
    "frame",
    "=",
    "[",
    "]",
    "(",
    ")",
    ",",
    ".",
    ":",
    "0.25",
    "344",
    "Adelie",
    "Gentoo",
]


@dataclass
class LogAuthor:
    """Generates the events of one session."""

    session_id: str
    rng: random.Random
    turns: int
    turn_bytes: int
    now: int = START
    count: int = 0
    compact_every: int = COMPACT_EVERY
    """Turns from one compaction to the next."""

    def words(self, length: int) -> str:
        """Return words of about ``length`` characters in all."""
        return " ".join(self.rng.choices(WORDS, k=max(1, length // 6)))

    def new(self, prefix: str) -> str:
        """Return a new id; ids are ascending."""
        self.count += 1
        return f"{prefix}_{self.count:016x}0123456789"

    def part_base(self, message_id: str) -> dict[str, str]:
        """Return the fields that every part has."""
        return {"id": self.new("prt"), "session_id": self.session_id, "message_id": message_id}

    def user(self, *, compaction: bool) -> Iterator[Event]:
        """Yield the events of a prompt, or of a compaction's marker."""
        message_id = self.new("msg")
        self.prompt_id = message_id
        time = MessageTime(created=self.now)
        yield MessageUpdated(
            info=UserMessage(
                id=message_id, session_id=self.session_id, time=time, agent="build", model=REF
            )
        )
        if compaction:
            yield PartUpdated(part=CompactionPart(**self.part_base(message_id), auto=True))
        yield PartUpdated(part=TextPart(**self.part_base(message_id), text=self.words(200)))

    def step(self, *, with_text: bool, output: int, summary: bool = False) -> Iterator[Event]:
        """Yield the events of one step: request, streamed text, a tool call, the end of the step."""
        info = AssistantMessage(
            id=self.new("msg"),
            session_id=self.session_id,
            parent_id=self.prompt_id,
            time=MessageTime(created=self.now),
            agent="build",
            model=REF,
            path=MessagePath(cwd="/home/ada/penguins", root="/home/ada/penguins"),
            summary=summary,
        )
        yield MessageUpdated(info=info)
        request = self.request(info.id)
        yield StepRequested(request=request)
        yield PartUpdated(part=StepStartPart(**self.part_base(info.id), request_id=request.id))
        if with_text:
            yield from self.text(info.id)
        if not summary:
            yield from self.tool(info.id, output)
        yield PartUpdated(
            part=StepFinishPart(**self.part_base(info.id), reason="tool-calls", cost=0.01)
        )
        time = MessageTime(created=self.now, completed=self.now + 900)
        yield MessageUpdated(info=info.model_copy(update={"time": time, "finish": "stop"}))

    def text(self, message_id: str) -> Iterator[Event]:
        """Yield the events of a text that streams in a few ticks."""
        part = TextPart(**self.part_base(message_id), time=Span(start=self.now))
        yield PartUpdated(part=part)
        pieces = [self.words(90) + " " for _ in range(6)]
        for piece in pieces:
            yield PartDelta(message_id=message_id, part_id=part.id, field="text", delta=piece)
        span = Span(start=self.now, end=self.now + 240)
        yield PartUpdated(part=part.model_copy(update={"text": "".join(pieces), "time": span}))

    def tool(self, message_id: str, length: int) -> Iterator[Event]:
        """Yield the events of a tool call in its three states."""
        base = self.part_base(message_id)
        code = {"code": self.words(160)}
        pending = ToolPart(**base, call_id=f"call_{base['id']}", tool="python", state=ToolPending())
        yield PartUpdated(part=pending)
        started = ToolRunning(input=code, time=Span(start=self.now))
        yield PartUpdated(part=pending.model_copy(update={"state": started}))
        done = ToolCompleted(
            input=code,
            output=self.words(length),
            title="python",
            time=Span(start=self.now, end=self.now + 30),
        )
        finished: Part = pending.model_copy(update={"state": done})
        yield PartUpdated(part=finished)
        if self.rng.random() < 0.1:
            decision = Decision(
                id=self.new("dec"),
                action="truncate",
                rule="truncate",
                message_id=message_id,
                part_id=finished.id,
                numbers={
                    "head_chars": length // 2,
                    "tail_chars": 0,
                    "omitted": length - length // 2,
                    "unit": "bytes",
                },
                tokens_before=length // 4,
                tokens_after=length // 8,
            )
            yield DecisionMade(decision=decision)

    def request(self, message_id: str) -> StepRequest:
        """Return a model request that has a common prefix with the one before."""
        items = tuple(
            ContextItem(
                role="tool", message_id=message_id, sha256=self.rng.randbytes(32).hex(), tokens=800
            )
            for _ in range(2)
        )
        return StepRequest(
            id=self.new("req"),
            message_id=message_id,
            model=MODEL,
            policy=Policy(),
            projection=1,
            facts=Facts(now=self.now, estimator="chars/4", window=200_000, reserve=20_000),
            system=BLOB,
            tools=BLOB,
            same=self.same,
            items=items,
            sha256=self.rng.randbytes(32).hex(),
        )

    same: int = 0
    prompt_id: str = ""

    def turn(self, *, compaction: bool) -> Iterator[Event]:
        """Yield the events of five messages with fifteen parts."""
        self.now += 60_000
        # Lengths spread over two orders of magnitude, as outputs do, and sum up to the turn's size.
        shares = [self.rng.lognormvariate(0, 1.2) for _ in range(4 - compaction)]
        lengths = [int(self.turn_bytes * share / sum(shares)) for share in shares]
        yield from self.user(compaction=compaction)
        if compaction:
            self.same = 0
            yield from self.step(with_text=True, output=0, summary=True)
        for index, length in enumerate(lengths):
            self.now += 2_000
            yield from self.step(with_text=index < 2 - compaction, output=length)
            self.same += 2
        if compaction:
            yield SessionCompacted(message_id=self.prompt_id)

    def session(self) -> Iterator[Event]:
        """Yield all events of the session."""
        record = SessionInfo(
            id=self.session_id,
            project_id="bench",
            directory="/home/ada/penguins",
            notebook="penguins.ipynb",
            title="Penguins, at length",
            version="0.1.0",
            time=SessionTime(created=START, updated=START),
        )
        yield SessionCreated(session=record)
        for number in range(1, self.turns + 1):
            yield from self.turn(compaction=number % self.compact_every == 1)


def generate(
    store: JsonlStore,
    session_id: str,
    *,
    turns: int = TURNS,
    seed: int = 7,
    close: bool = True,
    author: LogAuthor | None = None,
) -> State:
    """Write a session of five messages a turn through the store and return its state.

    With ``close`` it ends as a clean close does, with a checkpoint.
    """
    share = MEGABYTES * 1_000_000 // TURNS
    author = author or LogAuthor(session_id, random.Random(seed), turns, turn_bytes=share - 21_800)
    owner = Owner(host="bench", pid=0, kernel_id="bench")
    writer = store.acquire(session_id, owner, create=True)
    state = State()
    batch: list[Record] = []

    def put(event: Event) -> None:
        batch.append(Record(seq=state.seq + 1, ts=author.now, event=event))
        state.apply(batch[-1])

    def write() -> None:
        writer.append(batch)
        batch.clear()

    def checkpoint() -> None:
        write()
        window = live_window(state)
        segment, offset = writer.place_of_record(window.seq)
        put(
            Checkpoint(
                state=state.summary() | window.checkpoint_fields,
                window_seq=window.seq,
                window_segment=segment,
                window_offset=offset,
            )
        )
        write()

    for event in author.session():
        put(event)
        if isinstance(event, SessionCompacted):
            checkpoint()
        elif len(batch) > 500:
            write()
    if close:
        checkpoint()
    write()
    writer.close()
    return state

"""Measure the size of request records over a typical session.

Three hundred requests: prompts of one line, answers with reasoning, text and tool calls, one call or
several, and a compaction in the middle.
"""

import random
import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.bench.figure import Figure
from tests.bench.generate_session import WORDS
from tests.harness.session import SessionHarness

from palimpsest.model.script import ModelAnswer, calls, says, thinks
from palimpsest.session.interfaces.prompt_answer import PromptOptions
from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.project_folder.layout import open_project_folder
from palimpsest.testing import ScriptedModel
from palimpsest.transcript.values import ModelInfo, ModelRef, Price

TYPE = b'"type":"step.requested"'
MEDIAN_BYTES = 700
GROWTH = 1.1
"""Maximum ratio of the last records' size to the first's: a record must not grow with the session."""
PROMPTS = 75
EDGE = 50
INFO = ModelInfo(
    ref=ModelRef(provider="anthropic", name="claude-sonnet-4-5"),
    window=200_000,
    output_limit=64_000,
    price=Price(input=3.0, output=15.0, cache_read=0.3, cache_write=3.75),
    vision=True,
    reasoning=True,
    caching=True,
)


async def records() -> list[Figure]:
    """Return the size of ``step.requested`` in bytes of the log."""
    with tempfile.TemporaryDirectory() as folder:
        sizes = [len(line) for line in await _session(Path(folder)) if TYPE in line]
    assert len(sizes) >= 3 * PROMPTS
    ranked = sorted(sizes)
    note = f"{len(sizes)} requests; 9 of 10 up to {ranked[len(ranked) * 9 // 10]}, all {ranked[-1]}"
    grown = statistics.median(sizes[-EDGE:]) / statistics.median(sizes[:EDGE])
    return [
        Figure("record of a request, median", statistics.median(sizes), "B", MEDIAN_BYTES, note),
        Figure(f"record, the last {EDGE} over the first {EDGE}", grown, "x", GROWTH),
    ]


async def _session(folder: Path) -> list[bytes]:
    """Return the lines of the log of a session."""
    (folder / "penguins.csv").write_text("species,mass\nAdelie,3750\nGentoo,5000\n")
    store = JsonlStore(open_project_folder(folder))
    harness = SessionHarness(
        folder, ScriptedModel(*_script(random.Random(5))), info=INFO, store=store
    )
    session = await harness.session()
    for number in range(PROMPTS):
        harness.clock.now += 61_237
        await session.prompt(f"Question {number}: what about the mass?", PromptOptions())
        if number == PROMPTS // 2:
            await session.compact()
    await session.close()
    (log,) = store.layout.session(session.id).glob("log-*.jsonl")
    return log.read_bytes().splitlines(keepends=True)


def _script(rng: random.Random) -> Iterator[ModelAnswer]:
    """Yield four answers a prompt, and the summary in the middle."""

    def words(length: int) -> str:
        return " ".join(rng.choices(WORDS, k=length))

    for number in range(PROMPTS):
        where = {"path": "penguins.csv"}
        yield thinks(words(20)).says(words(10)).calls("read", **where)
        yield calls("grep", pattern=f"Adelie{number}")
        yield rng.choice((calls("list"), says(words(8)).calls("list").calls("read", **where)))
        yield says(words(60))
        if number == PROMPTS // 2:
            yield says(words(120))

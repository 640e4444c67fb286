"""What pairs of ``prune.protect_tokens`` and ``prune.minimum_tokens`` cost over made sessions, beside the default's.

``python -m tests.review.policies.default_numbers`` prints the table of docs/policies.md: five kinds of sessions, five
windows, two seeds, at the prices of one model. No model is asked; a summary has the size that presets assume.
"""

import random
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from tests.review.policies.made_timeline import Call, TimelineMaker

from palimpsest.review.comparison.session_review import SessionReview
from palimpsest.review.policies.registry import get
from palimpsest.review.replay.ruler import PriceProfile
from palimpsest.transcript.timeline import Timeline

PRICE = PriceProfile(input=3, output=15, read=0.30, write=3.75, name="claude-sonnet-4-5")
WINDOWS = (32_000, 64_000, 128_000, 200_000, 1_000_000)
SEEDS = (1, 2)
REQUESTS = 120
OUTPUT_LIMIT = 8_192
PAIRS = (
    (40_000, 20_000),
    (40_000, 40_000),
    (40_000, 60_000),
    (20_000, 20_000),
    (20_000, 40_000),
    (20_000, 60_000),
    (20_000, 90_000),
    (10_000, 20_000),
    (10_000, 40_000),
    (10_000, 60_000),
    (10_000, 90_000),
    (5_000, 60_000),
    (5_000, 90_000),
)
"""Tokens that stay, and that go at least; the default's own first."""
OTHERS = ("opencode-1.18", "palimpsest prune.rule=none")
Author = Callable[[TimelineMaker, random.Random], None]


def _words(rng: random.Random, low: int, high: int) -> str:
    return "".join(rng.choices("abcdefghij klmnop\n", k=rng.randint(low, high)))


def reads(maker: TimelineMaker, rng: random.Random) -> None:
    """A turn of work on code: files are read, some again, changed and tested."""
    maker.prompt(_words(rng, 100, 600))
    for _ in range(rng.randint(5, 18)):
        name = f"src/file{rng.randint(0, 40)}.py"
        kind = rng.random()
        if kind < 0.5:
            call = Call("read", _words(rng, 2_000, 14_000), (("path", name),))
        elif kind < 0.8:
            call = Call("edit", "Done.", (("path", name), ("new", _words(rng, 100, 1_500))))
        else:
            call = Call("bash", _words(rng, 300, 6_000), (("command", f"pytest {name}"),))
        maker.answer(_words(rng, 20, 300), [call])
    maker.answer(_words(rng, 200, 1_500))


def logs(maker: TimelineMaker, rng: random.Random) -> None:
    """A turn with a few very long outputs."""
    maker.prompt(_words(rng, 100, 400))
    for _ in range(rng.randint(1, 4)):
        command = (("command", f"cat log{rng.randint(0, 9_999)}"),)
        maker.answer(_words(rng, 20, 200), [Call("bash", _words(rng, 15_000, 50_000), command)])
    maker.answer(_words(rng, 500, 3_000))


def notebook(maker: TimelineMaker, rng: random.Random) -> None:
    """A turn of data work: code with short outputs, now and then a printed frame."""
    maker.prompt(_words(rng, 100, 1_500))
    for _ in range(rng.randint(1, 6)):
        long = rng.random() < 0.2
        output = _words(rng, 6_000, 16_000) if long else _words(rng, 200, 2_500)
        code = (("code", _words(rng, 100, 1_200)),)
        maker.answer(_words(rng, 20, 400), [Call("python", output, code)])
    maker.answer(_words(rng, 300, 2_000))


def searches(maker: TimelineMaker, rng: random.Random) -> None:
    """A long turn of searches whose results are looked at once."""
    maker.prompt(_words(rng, 100, 400))
    for _ in range(rng.randint(10, 30)):
        pattern = (("pattern", _words(rng, 10, 40)),)
        maker.answer(_words(rng, 10, 150), [Call("grep", _words(rng, 1_500, 9_000), pattern)])
    maker.answer(_words(rng, 300, 2_500))


def pauses(maker: TimelineMaker, rng: random.Random) -> None:
    """A turn of a talk in which a person thinks for minutes, so that the cache is often cold."""
    maker.prompt(_words(rng, 300, 3_000))
    name = (("path", f"notes{rng.randint(0, 99)}.md"),)
    if rng.random() < 0.6:
        read = Call("read", _words(rng, 2_000, 12_000), name)
        maker.answer(_words(rng, 20, 100), [read], pause=rng.choice((20, 200, 900)))
    maker.answer(_words(rng, 500, 4_000), pause=rng.choice((5, 60, 400)))


KINDS: dict[str, Author] = {
    "code": reads,
    "long outputs": logs,
    "notebook": notebook,
    "searches": searches,
    "pauses": pauses,
}


def made(kind: str, seed: int, window: int, requests: int = REQUESTS) -> Timeline:
    """Return a session of a kind; the same seed gives the same session."""
    rng, maker = random.Random(f"{kind} {seed}"), TimelineMaker()
    maker.system(_words(rng, 12_000, 20_000))
    while len(maker.requests) < requests:
        KINDS[kind](maker, rng)
    timeline = maker.made()
    sent = tuple(
        replace(one, window=window, output_limit=OUTPUT_LIMIT, caching=True)
        for one in timeline.requests
    )
    return replace(timeline, requests=sent)


def policy_of(pair: tuple[int, int]) -> str:
    """Return the name of the default with these numbers."""
    return f"palimpsest prune.protect_tokens={pair[0]} prune.minimum_tokens={pair[1]}"


def costs(kind: str, seed: int, window: int, policies: Sequence[str]) -> list[float]:
    """Return what a session costs under each policy, in US dollars."""
    review = SessionReview(made(kind, seed, window), get, lambda _model: None)
    return [one.cost for one in review.compare([*policies], price=PRICE).figures]


def table(seeds: Sequence[int] = SEEDS) -> Iterator[str]:
    """Yield the lines of the table, in Markdown: each pair beside the first one."""
    policies = [*map(policy_of, PAIRS), *OTHERS]
    names = [*(f"{a:,} / {b:,}" for a, b in PAIRS), *OTHERS]
    found: dict[str, list[tuple[int, float]]] = {name: [] for name in names}
    for window in WINDOWS:
        for kind in KINDS:
            for seed in seeds:
                told = costs(kind, seed, window, policies)
                for name, one in zip(names, told, strict=True):
                    found[name].append((window, one / told[0] - 1))
    yield "| protect / minimum | mean | worst | " + " | ".join(f"{one:,}" for one in WINDOWS) + " |"
    yield "|---|---|---|" + "---|" * len(WINDOWS)
    for name, rows in found.items():
        every = [one for _, one in rows]
        cells = [sum(every) / len(every), max(every)]
        for window in WINDOWS:
            there = [one for at, one in rows if at == window]
            cells.append(sum(there) / len(there))
        yield f"| {name} | " + " | ".join(f"{100 * one:+.1f} %" for one in cells) + " |"


if __name__ == "__main__":
    for line in table():
        sys.stdout.write(line + "\n")

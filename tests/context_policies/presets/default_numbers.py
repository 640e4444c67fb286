"""What pairs of ``prune.protect_tokens`` and ``prune.minimum_tokens`` cost over made sessions, beside the earlier default's.

``python -m tests.context_policies.presets.default_numbers`` prints the table of docs/policies.md: five kinds of sessions, five
windows, two seeds, at the prices of one model. No model is asked; a summary has the size that presets assume, and the
call for it costs what the engine sends then: the history as one text, with long results cut, which no cache holds.
"""

import random
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from itertools import product
from statistics import mean

from tests.context_policies.made_timeline import Call, TimelineMaker

from palimpsest.context.compaction.summary_request import SYSTEM, TEMPLATE, TEMPLATE_RULES
from palimpsest.context_policies.prompt_cache.ruler import PriceProfile
from palimpsest.context_policies.registry import get
from palimpsest.context_policies.replay.simulation import Simulation
from palimpsest.model.tokenizer import counter
from palimpsest.review.session_review import SessionReview
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.timeline import Timeline, Transition

PRICE = PriceProfile(input=3, output=15, read=0.30, write=3.75, name="claude-sonnet-4-5")
WINDOWS = (32_000, 64_000, 128_000, 200_000, 1_000_000)
SEEDS = (1, 2)
REQUESTS = 120
OUTPUT_LIMIT = 8_192
PROTECTED = (40_000, 20_000, 10_000, 5_000)
LEAST = (20_000, 40_000, 60_000, 90_000, 120_000)
Author = Callable[[TimelineMaker, random.Random], None]
DEFAULT = Policy()
TEXT = (
    "the row of each file was read and then kept in a new list for data that is not there but can "
    "import return value self name index path test error count line table from with where print"
)


def _words(rng: random.Random, low: int, high: int) -> str:
    """Return a text of so many characters at most, about four of them to a token, as in English and in code."""
    chars = rng.randint(low, high)
    return " ".join(rng.choices(TEXT.split(), k=chars // 5 + 1))[:chars]


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
        replace(request, window=window, output_limit=OUTPUT_LIMIT, caching=True)
        for request in timeline.requests
    )
    return replace(timeline, requests=sent)


def policy_of(protect: int, least: int, scaled: str = "square") -> str:
    """Return the name of the default with these numbers: tokens that stay, and tokens that go at least."""
    numbers = {"protect_tokens": protect, "minimum_tokens": least, "minimum_scaled": scaled}
    return " ".join(["palimpsest", *(f"prune.{name}={value}" for name, value in numbers.items())])


POLICIES = {
    "40,000 / 20,000, `share`: the default before": policy_of(40_000, 20_000, "share"),
    **{
        f"{protected:,} / {least:,}": policy_of(protected, least)
        for protected, least in product(PROTECTED, LEAST)
    },
    "10,000 / 60,000, `share`": policy_of(10_000, 60_000, "share"),
    "10,000 / 90,000, `share`": policy_of(10_000, 90_000, "share"),
    "`opencode-1.18`": "opencode-1.18",
    "nothing cleared: `prune.rule=none`": "palimpsest prune.rule=none",
    "everything shown: `raw`": "raw",
}
"""By the words of the table. The first is what the others are compared with, the last is no management at all."""


def costs(kind: str, seed: int, window: int, policies: Sequence[str]) -> list[float]:
    """Return what a session costs under each policy, the calls for summaries with it, in US dollars."""
    review = SessionReview(made(kind, seed, window), get, lambda _model: None)
    replays = (
        review.replays.simulation(review.policy(policy), review.ruler, 0) for policy in policies
    )
    return [
        sum(size.cost(PRICE) for size in replay.sizes) + summary_calls(replay) for replay in replays
    ]


def summary_calls(replay: Simulation) -> float:
    """Return what the calls for the summaries of a replay cost, as the default writes them, in US dollars."""
    timeline = replay.timeline
    weights = timeline.weights(DEFAULT.estimator)
    asked = counter(DEFAULT.estimator)(SYSTEM + TEMPLATE + TEMPLATE_RULES)
    shown = {item.index: (weights[item.index], item.chars) for item in timeline.items}
    found = 0.0
    for moves in _by_request(timeline.transitions):
        gone = [transition for transition in moves if transition.state == "summarised"]
        written = sum(transition.tokens or 0 for transition in gone)
        if written:
            read = asked + sum(
                _serialized(timeline, transition.item, *shown[transition.item])
                for transition in gone
            )
            found += (read * PRICE.input + written * PRICE.output) / 1_000_000
        shown |= {
            transition.item: (transition.tokens or 0, transition.chars) for transition in moves
        }
    return found


def _serialized(timeline: Timeline, item: int, tokens: float, chars: int) -> float:
    """Return the tokens of an item in the text that is to be summarised: of a result, its beginning."""
    most = DEFAULT.compact.result_chars
    return (
        tokens * min(1, most / max(chars, 1)) if timeline.items[item].kind == "output" else tokens
    )


def _by_request(moves: Sequence[Transition]) -> Iterator[list[Transition]]:
    by_request: dict[int, list[Transition]] = {}
    for transition in moves:
        by_request.setdefault(transition.request, []).append(transition)
    yield from (by_request[request] for request in sorted(by_request))


def _cell(cell: tuple[int, str, int]) -> list[float]:
    window, kind, seed = cell
    return costs(kind, seed, window, [*POLICIES.values()])


def measured() -> dict[tuple[int, str, int], list[float]]:
    """Return what each policy costs, by window, kind of session and seed; it takes ten minutes."""
    cells = [*product(WINDOWS, KINDS, SEEDS)]
    with ProcessPoolExecutor(2) as workers:
        return dict(zip(cells, workers.map(_cell, cells), strict=True))


def table(found: dict[tuple[int, str, int], list[float]]) -> Iterator[str]:
    """Yield the lines of the table, in Markdown."""
    heads = (
        "stay / go at least",
        "mean",
        "worst",
        "beside `raw`",
        *(f"{tokens:,}" for tokens in WINDOWS),
    )
    yield f"| {' | '.join(heads)} |"
    yield "|---" * len(heads) + "|"
    for index, name in enumerate(POLICIES):
        more = {cell: costs[index] / costs[0] - 1 for cell, costs in found.items()}
        numbers = [mean([*more.values()]), max(more.values())]
        numbers.append(max(costs[index] / costs[-1] - 1 for costs in found.values()))
        numbers += [mean([more[key] for key in more if key[0] == window]) for window in WINDOWS]
        yield f"| {name} | " + " | ".join(f"{100 * share:+.1f} %" for share in numbers) + " |"


if __name__ == "__main__":
    for line in table(measured()):
        sys.stdout.write(line + "\n")

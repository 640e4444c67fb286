"""The window of the model at each request of a recording: the recorded one, or the one that has to be taken.

A recording may have several, by its models or by one model that was given a longer window. What is taken is stated in
a sentence, and a prompt that was reported above it proves a larger one.
"""

from collections.abc import Sequence
from typing import NamedTuple

from palimpsest.review.comparison.offline_prices import offline_window
from palimpsest.review.policies.registry import get
from palimpsest.transcript.timeline import Timeline, TimelineRequest

LONG_WINDOW = 1_000_000
"""The window that is taken where a prompt proves a larger one than is known."""


class RecordedAgent(NamedTuple):
    """The rules that an agent may have, the newest first, and what its recordings tell."""

    presets: tuple[str, ...]
    tells_cause: bool
    """A recorded compaction says whether a person asked for it."""
    by_model: bool = False
    """The agent knows its models' own windows; else it takes the preset's for all."""
    window_share: float = 1.0
    """The recorded window as a share of the model's own."""


class TakenWindows(NamedTuple):
    """The windows that are taken of the requests of a recording."""

    of: Sequence[int]
    stated: tuple[str, ...]


class _Kind(NamedTuple):
    """What the recording tells of the window of a request; a model may have two of them in one session."""

    model: str
    window: int
    """0 where it tells none of the model."""


def taken_windows(
    timeline: Timeline, agent: RecordedAgent, preset: str
) -> tuple[TakenWindows, ...]:
    """Return the windows of the models of a recording, and others that could have been; the likelier first."""
    own = _window_of(get(preset))
    kept = _recorded_windows(timeline)
    kinds = tuple(dict.fromkeys(kept))
    if not own:
        return (TakenWindows([0] * len(kept), ()),)
    rows = {
        kind: _of_model(
            kind,
            [one for one, its in zip(timeline.requests, kept, strict=True) if its == kind],
            agent,
            preset,
        )
        for kind in kinds
    }
    options = max(map(len, rows.values()))
    return tuple(
        TakenWindows(
            [rows[kind][min(place, len(rows[kind]) - 1)][0] for kind in kept],
            tuple(
                sentence
                for row in rows.values()
                for sentence in row[min(place, len(row) - 1)][1:]
                if sentence
            ),
        )
        for place in range(options)
    )


def _recorded_windows(timeline: Timeline) -> list[_Kind]:
    """Return what is recorded of the window of each request: its own, else the newest of its model before it, else after it."""
    found: list[_Kind] = []
    known: dict[str, int] = {}
    for one in reversed(timeline.requests):
        known[one.model] = one.window or known.get(one.model, 0)
    for one in timeline.requests:
        known[one.model] = one.window or known[one.model]
        found.append(_Kind(one.model, known[one.model]))
    return found


def _of_model(
    kind: _Kind, those: Sequence[TimelineRequest], agent: RecordedAgent, preset: str
) -> list[tuple[int, str, str]]:
    """Return the windows that a model may have had: tokens, and why they are taken in up to two sentences."""
    own = _window_of(get(preset))
    model = kind.model
    recorded = round(kind.window / agent.window_share)
    most = max((one.reported or 0 for one in those), default=0)
    listed = offline_window(model) if agent.by_model else 0
    name = model or "the model"
    taken = "The window of {} is not recorded: {:,} tokens are taken, {}."
    known = {recorded: ""} if recorded else {}
    if not recorded and listed:
        known[listed] = taken.format(name, listed, "as a list of models says")
    if not recorded and own not in known:
        known[own] = taken.format(name, own, f"as {preset} does")
    found = [(window, why, "") for window, why in known.items() if window >= most]
    if found:
        return found
    larger = max(LONG_WINDOW, offline_window(model), most)
    smaller = max(known)
    return [
        (
            larger,
            known[smaller] and f"The window of {name} is not recorded.",
            f"A prompt of {most:,} reported tokens proves a window of more than {smaller:,}: {larger:,} are taken.",
        )
    ]


def _window_of(policy: object) -> int:
    """Return the window that a preset compares with; 0 where its threshold is none of tokens."""
    found = getattr(policy, "window", 0) if getattr(policy, "counted", "") else 0
    return int(found)

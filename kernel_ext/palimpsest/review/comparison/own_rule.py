"""Whether the rule of the agent that was recorded acts where the agent compacted by itself.

The preset of the agent looks at each recorded request as it was, with the window that the recording tells or that has to
be taken; where its threshold is passed, it is compared with the recorded compactions. What the recording does
not tell is stated and marked, and nothing is fitted in silence.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from palimpsest.review.comparison.taken_windows import RecordedAgent, TakenWindows, taken_windows
from palimpsest.review.policies.measured import NOT_REPORTED
from palimpsest.review.policies.policy import (
    ContextPolicy,
    Decided,
    PolicyView,
    Probe,
    SessionFacts,
    When,
)
from palimpsest.review.policies.recorded_policy import Recorded, RecordedPolicy
from palimpsest.review.policies.registry import get
from palimpsest.review.policies.summarising import Summarise
from palimpsest.review.replay.fit import fit_ruler
from palimpsest.review.replay.growing_replay import GrowingReplay
from palimpsest.review.replay.ruler import Ruler
from palimpsest.transcript.timeline import Timeline, TimelineRequest

BESIDE = 1
"""Requests by which the rule may act earlier or later than the agent did."""

AGENTS: Mapping[str, RecordedAgent] = {
    "claude-code": RecordedAgent(("claude_code.auto",), tells_cause=True),
    "cline": RecordedAgent(("cline.compact",), tells_cause=True, by_model=True),
    "codex": RecordedAgent(("codex.compact",), tells_cause=False, window_share=0.95),
    "gemini-cli": RecordedAgent(("gemini.compress",), tells_cause=False, by_model=True),
    "inspect": RecordedAgent(("inspect.compaction_summary",), tells_cause=False, by_model=True),
    "opencode": RecordedAgent(("opencode.compact",), tells_cause=True, by_model=True),
    "openhands": RecordedAgent(("openhands.llm_v1", "openhands.llm"), tells_cause=True),
    "pi": RecordedAgent(("pi.compact",), tells_cause=False, by_model=True),
}
"""By the name of the format. Codex records 95 per cent of the model's window (``effective_context_window_percent``)."""


@dataclass(frozen=True, slots=True)
class OwnRule:
    """How the recorded agent's own rule fits its recorded compactions; requests are numbered from 0."""

    preset: str
    """The rule, with the numbers that it was given."""
    window: int
    """Tokens of the window that it was given; 0 where its threshold is no number of tokens."""
    threshold: float
    unit: str
    measured: str
    """What was compared with the threshold, such as ``reported tokens of the request``."""
    of: int
    """Recorded automatic compactions."""
    at: tuple[int, ...]
    """The requests of those of them at which the rule acts, or at most one request beside."""
    missed: tuple[int, ...]
    """The requests of the others."""
    extra: tuple[int, ...]
    """The first requests of those runs in which the rule acts and the agent did not."""
    by_hand: tuple[int, ...]
    """The requests of compactions that a person asked for."""
    unclear: tuple[int, ...]
    """Those below the threshold of which the recording does not tell who asked for them."""
    stated: tuple[str, ...]
    """What was taken since the recording does not tell it, and what it must have been; a sentence each."""
    cleared: tuple[int, ...] = ()
    """Of a session of ours: the requests before which old results were cleared or shortened as the rule does."""
    uncleared: tuple[int, ...] = ()
    """Those of them at which the rule leaves a result that was recorded as cleared."""

    @property
    def found(self) -> int:
        """How many of the automatic compactions the rule acts at."""
        return len(self.at)

    @property
    def holds(self) -> bool:
        """The rule acts at all automatic compactions and clearings, and nowhere else."""
        return not self.missed and not self.extra and not self.uncleared

    @property
    def words(self) -> str:
        """The result as the end of a sentence: ``this agent's own rule found 1 of 1 compactions, at request 62``."""
        clearings = len(self.cleared) + len(self.uncleared)
        told = "this agent's own rule"
        if self.of or not clearings:
            told += _found(self.at, self.of, "compaction")
        if clearings:
            told += " and" if self.of else ""
            told += _found(self.cleared, clearings, "clearing")
        if self.extra:
            told += f", and acts where the agent did not, at request {_numbers(self.extra)}"
        return told


def own_rule(timeline: Timeline, ruler: Ruler | None = None) -> OwnRule | None:
    """Return how the agent's own rule fits a recording; None where there is no preset of the agent, or no request."""
    agent = AGENTS.get(timeline.origin)
    if agent is None or not timeline.requests:
        return None
    counted = ruler or fit_ruler(timeline)
    coming = with_coming(timeline)
    tried = [
        _compared(coming, agent, preset, windows, counted)
        for preset in agent.presets
        for windows in taken_windows(coming, agent, preset)
    ]
    # Where a list of models and the preset say different windows, the recorded compactions decide.
    return max(tried, key=lambda one: one.found)


def with_coming(timeline: Timeline) -> Timeline:
    """Return the recording with a request that was not sent any more, where the newest compaction is before that."""
    count, last = len(timeline.requests), timeline.requests[-1]
    if all(one.request < count for one in timeline.events):
        return timeline
    items = len(timeline.items)
    coming = TimelineRequest(count, "", last.turn, items, (items, items), model=last.model)
    return replace(timeline, requests=(*timeline.requests, coming), earlier={})


class _WatchedRecording(RecordedPolicy):
    """The recording, in which a rule looks at every request before the agent changed it, and decides nothing."""

    def __init__(self, timeline: Timeline, rule: ContextPolicy, first: int = 0) -> None:
        super().__init__(first)
        self.estimator = rule.estimator
        self._rule = rule
        self._facts = SessionFacts(timeline, 0, 0)
        self.when: When = rule.when
        self.probes: dict[int, Probe | None] = {}
        """By request: what the rule looked at before it, at the end of the turn before where that passed its threshold."""

    def going_on(self, timeline: Timeline, first: int) -> "_WatchedRecording":
        """Return one that knows what this one looked at before a request."""
        made = _WatchedRecording(timeline, self._rule, first)
        made.probes = {**self.probes}
        return made

    def step(self, state: Recorded, view: PolicyView) -> Decided:
        """Ask the rule, then repeat what was decided before this request."""
        rule, start = self._rule, self._rule.start(self._facts)
        if isinstance(rule, Summarise):  # what it would replace is a walk through all items
            probe: Probe | None = rule.probe(start, view)
        else:
            probe = rule.step(start, view).probe
        before = _first_condition(self.probes.get(view.request.index))
        if before is None or not before.passed:
            self.probes[view.request.index] = probe
        if view.turn != view.request.turn:
            return Decided(state)
        return super().step(state, view)


def _compared(
    timeline: Timeline, agent: RecordedAgent, preset: str, windows: TakenWindows, ruler: Ruler
) -> OwnRule:
    """Return the rule's acts beside the recorded compactions."""
    rules = {
        window: get(preset, window=window) if window else get(preset) for window in {*windows.of}
    }
    looked = _looked_at(timeline, windows.of, rules, ruler)
    passed = {at for at, one in enumerate(looked) if one is not None and one.passed}
    by_hand, automatic = compactions_of(timeline)
    checked = [at for at in automatic if _at(looked, at) is not None]
    near = matched(checked, passed.difference({*by_hand}.difference(automatic)))
    unclear = tuple(
        at for at in automatic if at not in near and (not agent.tells_cause or at not in checked)
    )
    counted = tuple(at for at in automatic if at not in unclear)
    extra = beginnings(passed.difference(*map(beside, (*by_hand, *automatic))))
    known = [one for one in looked if one is not None]
    found = OwnRule(
        preset=rules[max(rules)].name,
        window=max(rules),
        threshold=max((one.threshold for one in known), default=0.0),
        unit=known[-1].unit if known else "tokens",
        measured=next((one.signal for one in reversed(known)), ""),
        of=len(counted),
        at=tuple(at for at in counted if at in near),
        missed=tuple(at for at in counted if at not in near),
        extra=extra,
        by_hand=by_hand,
        unclear=unclear,
        stated=windows.stated,
    )
    more = [*_of_unclear(found, looked), *_must_have_been(found, looked, (*by_hand, *automatic))]
    return replace(found, stated=(*windows.stated, *more))


def _looked_at(
    timeline: Timeline,
    windows: Sequence[int],
    rules: Mapping[int, ContextPolicy],
    ruler: Ruler,
) -> list[Probe | None]:
    """Return what the rule looked at before each request, with its threshold at the window of the request's model."""
    probes = {}
    for window, rule in rules.items():
        name = f"own rule {rule.name} {window}"
        growing: GrowingReplay | None = timeline.earlier.get(name)
        if growing is None or growing.ruler != ruler:
            growing = GrowingReplay(ruler, _WatchedRecording(timeline, rule))
            timeline.earlier[name] = growing
        replay = growing.replay(timeline)
        replay.advance(len(timeline.requests))
        assert isinstance(replay.policy, _WatchedRecording)
        probes[window] = replay.policy.probes
    return [
        _first_condition(probes[windows[one.index]].get(one.index)) for one in timeline.requests
    ]


def _first_condition(probe: Probe | None) -> Probe | None:
    """Return the threshold of a rule, whatever held it back after that was passed.

    None where it has none, and where it counts reported tokens and none were reported yet.
    """
    while probe is not None and probe.after is not None:
        probe = probe.after
    if probe is None or not probe.threshold or probe.signal == NOT_REPORTED:
        return None
    return probe


def compactions_of(
    timeline: Timeline, *, failed: bool = True
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the requests before which a person had the session compacted, and those before which the agent did.

    Before one request both may have happened. Without ``failed`` only those count that replaced something.
    """
    found = {
        (one.request, one.cause == "by hand")
        for one in timeline.events
        if one.kind == "compact" or (failed and one.kind.startswith("compact"))
    }
    by_hand = tuple(sorted(at for at, asked in found if asked))
    return by_hand, tuple(sorted(at for at, asked in found if not asked))


def matched(compactions: Sequence[int], acts: Iterable[int]) -> frozenset[int]:
    """Return the compactions at which a rule acts, or at most one request beside; one act is of one compaction."""
    left = {*acts}
    found = set()
    for distance in ((0,), (-BESIDE, BESIDE)):
        for at in compactions:
            near = next((at + one for one in distance if at + one in left), None)
            if at not in found and near is not None:
                found.add(at)
                left.discard(near)
    return frozenset(found)


def beside(request: int) -> range:
    """Return the requests that count as one and the same."""
    return range(request - BESIDE, request + BESIDE + 1)


def beginnings(requests: Iterable[int]) -> tuple[int, ...]:
    """Return the first requests of runs."""
    those = {*requests}
    return tuple(sorted(one for one in those if one - 1 not in those))


def _of_unclear(found: OwnRule, looked: Sequence[Probe | None]) -> Iterator[str]:
    for at in found.unclear:
        seen = _at(looked, at)
        if seen is None:
            yield f"Nothing was reported before the compaction before request {at + 1}, so that it cannot be checked."
            continue
        value = seen.value
        yield (
            f"What began the compaction before request {at + 1} is not recorded; at {value:,.0f} {found.unit} it is below "
            f"the threshold of {seen.threshold:,.0f}: it was asked for, or the settings were others."
        )


def _must_have_been(
    found: OwnRule, looked: Sequence[Probe | None], compactions: Iterable[int]
) -> Iterator[str]:
    """Yield what the threshold of a session must have been whose compactions the rule does not find."""
    if found.holds:
        return
    around = {one for at in compactions for one in beside(at)}
    highest = _most(looked, [one for one in range(len(looked)) if one not in around])
    told = f"the rule's is {found.threshold:,.0f} {found.unit}, and its settings are not recorded."
    lowest = min((_most(looked, beside(at)) for at in (*found.at, *found.missed)), default=None)
    if lowest is None:
        yield f"Up to {highest:,.0f} {found.unit} it did not compact, so its threshold was higher or switched off; {told}"
    elif highest < lowest:
        yield f"Its threshold must have been from {highest:,.0f} to below {lowest:,.0f} {found.unit}; {told}"
    else:
        yield f"No threshold fits all of its compactions and no other request; {told}"


def _at(looked: Sequence[Probe | None], request: int) -> Probe | None:
    return looked[request] if request < len(looked) else None


def _most(looked: Sequence[Probe | None], requests: Iterable[int]) -> float:
    """Return the highest value that the rule looked at before some requests."""
    those = (looked[one] for one in requests if 0 <= one < len(looked))
    return max((one.value for one in those if one is not None), default=0.0)


def _found(at: Sequence[int], of: int, what: str) -> str:
    """Return how many of the recorded acts of a kind a rule found."""
    if not of:
        return f" had no automatic {what} to find"
    told = f" found {len(at)} of {of} {what}s"
    return told + (f", at request{'' if len(at) == 1 else 's'} {_numbers(at)}" if at else "")


def _numbers(requests: Sequence[int]) -> str:
    return ", ".join(f"{one + 1:,}" for one in requests)

"""The whole review of one session: its tables, its breaks and wastes, and policies side by side.

Border: what replays policies, rebuilds requests or reads contents is imported where it is asked for, since most who open
a recording ask for its figures.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from palimpsest.context_policies.interface.policy import ContextPolicy
from palimpsest.context_policies.interface.recorded_policy import RECORDED, RecordedPolicy
from palimpsest.context_policies.own_policies.policy_function import PolicyFunction
from palimpsest.context_policies.prompt_cache.cache_lifetime import HOUR_SECONDS
from palimpsest.context_policies.prompt_cache.ruler import PriceProfile, Ruler, with_writes_kept
from palimpsest.render.content.phrases import counted_noun
from palimpsest.render.reports.table import Basis, ReportTable
from palimpsest.render.safety.escaping import one_line
from palimpsest.review.prices.given_prices import GivenPrices, given_prices, lifetime_seconds
from palimpsest.review.prices.offline_prices import ListedLimits, listed_limits
from palimpsest.review.prices.price_file import PriceWords, price_words
from palimpsest.review.prices.prices import NAMELESS_MODEL, PriceOf, profile_of, with_models_of
from palimpsest.review.request_contents.sent_requests import SentRequests
from palimpsest.review.session_notes.noted_session import NotedSession
from palimpsest.review.tables.cache_breaks import CacheBreaks, breaks_at_price
from palimpsest.review.tables.recording_sentences import problem_sentences
from palimpsest.review.tables.references import References
from palimpsest.review.tables.session_tables import (
    adding_up_table,
    decisions_table,
    items_table,
    requests_table,
)
from palimpsest.review.tables.subagents import (
    SubagentRun,
    Subagents,
    SubagentTimelinesOf,
    no_subagents,
    requests_with_subagents,
    subagent_runs,
    subagents_of,
)
from palimpsest.review.tables.wastes import MAX_WASTES, Wastes, largest_wastes
from palimpsest.store.interface import Problem
from palimpsest.store.session_notes import NoteFiles, no_notes
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.timeline import Timeline
from palimpsest.transcript.visible_text import visible_line

if TYPE_CHECKING:
    from palimpsest.context_policies.calibration.proof import Proof
    from palimpsest.context_policies.replay.simulation import Simulation
    from palimpsest.context_policies.replay.simulation_cache import SimulationCache
    from palimpsest.review.comparison.own_rule import OwnRule
    from palimpsest.review.comparison.policy_comparison import PolicyComparison
    from palimpsest.review.comparison.sweep import PolicySweep
    from palimpsest.review.request_contents.compaction_losses import (
        CompactionLosses,
        SummarySession,
    )
    from palimpsest.review.request_contents.request_difference import RequestDifference
    from palimpsest.review.request_contents.shown_request import ShownRequest
    from palimpsest.review.tables.cache_use import CacheUse

PolicyLike = str | ContextPolicy | PolicyFunction | None
"""A policy by its name, itself, or as the function that decides; None for ``raw``, which shows every item whole."""
SweptPolicy = str | ContextPolicy | PolicyFunction
"""A policy with numbers, of which ``sweep`` varies one: by its name, itself, or as the function that decides."""
PriceLike = PriceWords | PriceProfile | None
"""A model's id, ``units``, words of ``given_prices``, a price file, or a profile; None: the review's own prices."""
MAX_TITLE_CHARS = 60
"""Maximum characters of a title in a review's one line."""
GetPolicy = Callable[..., ContextPolicy]
"""A function that returns a preset by its name, with some numbers changed."""


def policy_named(policy: SweptPolicy, /, **numbers: Any) -> ContextPolicy:
    """Return a policy as ``palimpsest.policies.get`` does, whose presets are imported when one is asked for."""
    from palimpsest.context_policies.registry import get

    return get(policy, **numbers)


KeepReview = Callable[[Timeline, References | None], None]
"""A function that stores the values derived from a session; it is called again when further ones are known."""


def session_ruler(timeline: Timeline, separate_tokens: Callable[[], int]) -> Ruler:
    """Return the ruler of a session, fitted to the reported usage where there is some.

    Where no usage was reported, ``separate_tokens`` returns the tokens of the recording's separate system prompt and tools,
    the only known tokens of a request besides its messages.
    """
    from palimpsest.context_policies.calibration.fit import fit_ruler

    fitted_ruler = fit_ruler(timeline)
    if fitted_ruler.is_fitted or any(item.kind in ("system", "tools") for item in timeline.items):
        return fitted_ruler
    return replace(fitted_ruler, unseen_tokens=separate_tokens() or fitted_ruler.unseen_tokens)


def list_of_policies(policies: Sequence[PolicyLike] | PolicyLike) -> list[PolicyLike]:
    """Return one or several policies as a list."""
    if isinstance(policies, Sequence) and not isinstance(policies, str):
        return [*policies]
    return [policies]


class SessionReview(NotedSession):
    """Reviews one session.

    Responsibilities: hold the session's timeline, fit its ruler once, find its names once, and pass them to the reports.
    No request is sent and no code is run; values derived from the log are passed to ``keep_review``, if it is given.
    """

    def __init__(
        self,
        timeline: Timeline,
        get_policy: GetPolicy,
        price_of: PriceOf,
        sent_requests: SentRequests | None = None,
        subagent_timelines_of: SubagentTimelinesOf = no_subagents,
        *,
        references: References | None = None,
        references_of: Callable[[Timeline], References] = References.of,
        keep_review: KeepReview | None = None,
        ruler: Ruler | None = None,
        problems: Sequence[Problem] = (),
        price: PriceWords | None = None,
        lifetime: str | float | None = None,
        note_files: NoteFiles | None = None,
    ) -> None:
        """``references_of`` finds the names at their first use, where ``references`` are not known.

        ``price`` and ``lifetime`` are the defaults of the methods; raises UserError where they are wrong.
        """
        self.timeline = timeline
        known_sentences = {problem.sentence for problem in problems}
        import_problems = (
            Problem("", text) for text in timeline.unread if text not in known_sentences
        )
        self.problems = (*problems, *import_problems)
        """Places of the recording that could not be read when it was opened or imported."""
        self._subagent_timelines_of = subagent_timelines_of
        self._get_policy = get_policy
        self._price_of = price_of
        self.note_files = note_files or no_notes()
        self.sent = sent_requests
        """The stored requests; None where there is no log."""
        self._references = references
        self._references_of = references_of
        self._keep = keep_review
        self._ruler = ruler
        self._price_text = price_words(price, lifetime)

    def __repr__(self) -> str:
        timeline = self.timeline
        requests = counted_noun(len(timeline.requests), "request")
        title = f" {visible_line(timeline.title, MAX_TITLE_CHARS)!r}" if timeline.title else ""
        return (
            f"<{type(self).__name__} {timeline.session}{title} of {visible_line(timeline.origin)}: {requests}, "
            f"{counted_noun(len(timeline.items), 'item')}>"
        )

    @cached_property
    def replays(self) -> "SimulationCache":
        """The cache of the newest replays, so that the same policy is not replayed again."""
        from palimpsest.context_policies.replay.simulation_cache import SimulationCache

        return SimulationCache(self.timeline)

    @cached_property
    def references(self) -> References:
        """The names in the session and the answers that use them."""
        if self._references is None:
            self._references = self._references_of(self.timeline)
            self._store_known_values()
        return self._references

    @cached_property
    def ruler(self) -> Ruler:
        """The ruler that counts tokens: the given ruler, else one fitted to the reported usage."""
        ruler = self._ruler
        if ruler is None:
            ruler = _session_ruler_with(self.timeline, self.sent)
            self._store_known_values()
        return _with_lifetime(ruler, self._given_prices(None).lifetime)

    def ruler_at(self, price: PriceLike = None, lifetime: str | float | None = None) -> Ruler:
        """Return the ruler with the lifetime of the cache that ``price`` or ``lifetime`` gives."""
        return _with_lifetime(self.ruler, self._lifetime_seconds(price, lifetime))

    def _store_known_values(self) -> None:
        if self._keep is not None:
            self._keep(self.timeline, self._references)

    def price(self, price: PriceLike = None) -> PriceProfile:
        """Return the prices: of the recorded models, as given, or units where none is known.

        >>> session.price("units").unit
        'units'
        """
        if isinstance(price, PriceProfile):
            return price
        price_text = self._price_text if price is None else price_words(price)
        if price_text not in self._profiles:
            profile = profile_of(self.timeline, price_text, self._price_of)
            if profile.unit != "USD":
                profile = self._subagent_prices(profile, price_text)
            self._profiles[price_text] = profile
        return self._profiles[price_text]

    def _subagent_prices(self, units: PriceProfile, price_text: str | None) -> PriceProfile:
        """Return the prices of a subagent for a session without prices, so that dollars and units are not mixed."""
        if given_prices(price_text or "").for_all or not self.timeline.requests:
            return units
        for subagent in self._subagent_timelines_of(self.timeline.session):
            subagent_profile = profile_of(subagent, price_text, self._price_of)
            if subagent_profile.unit == "USD":
                own_models = (request.model or NAMELESS_MODEL for request in self.timeline.requests)
                unknown = tuple(dict.fromkeys((*own_models, *subagent_profile.unpriced_models)))
                return replace(subagent_profile, unpriced_models=unknown, matches_recorded=False)
        return units

    def replay_price(
        self, price: PriceLike = None, lifetime: str | float | None = None
    ) -> PriceProfile:
        """Return the prices of a replay; with a given lifetime of the cache, its writes are priced for that lifetime."""
        seconds = self._lifetime_seconds(price, lifetime)
        profile = self.price(price)
        return (
            profile
            if seconds is None
            else with_writes_kept(profile, hourly=seconds >= HOUR_SECONDS)
        )

    def _lifetime_seconds(self, price: PriceLike, lifetime: str | float | None) -> float | None:
        """Return the lifetime in seconds: that of the call, that in its price, or the review's default; None without any."""
        if lifetime is not None:
            return lifetime_seconds(lifetime)
        return self._given_prices(price).lifetime or self._given_prices(None).lifetime

    def _given_prices(self, price: PriceLike) -> GivenPrices:
        if isinstance(price, PriceProfile):
            return GivenPrices()
        return given_prices((self._price_text if price is None else price_words(price)) or "")

    def listed_limits(self) -> ListedLimits:
        """Return the models' limits from a list, where the recording has none."""
        return listed_limits(self.timeline)

    @cached_property
    def _profiles(self) -> dict[str | None, PriceProfile]:
        """The price profiles computed so far, by their words."""
        return {}

    def proof(self, price: PriceLike = None, *, engine: bool = True) -> "Proof":
        """Return how well a replay reproduces the recording.

        Without ``engine`` the result leaves out how the recorded policy fits a Palimpsest session: that replays the whole
        session, which is too slow for a view that follows a session request by request.

        >>> session.proof().requests
        0
        """
        from palimpsest.context_policies.calibration.proof import proof_of
        from palimpsest.review.comparison.own_rule import own_rule

        rule_text = (
            self._own_rule_phrase if engine else _rule_phrase(own_rule(self.timeline, self.ruler))
        )
        return proof_of(self.timeline, self.ruler_at(price), self.replay_price(price), rule_text)

    @cached_property
    def _own_rule_phrase(self) -> str:
        """A phrase on the recorded compactions that the agent's own rule predicts; empty where it is not known."""
        return _rule_phrase(self.own_rule())

    # Tables

    @property
    def requests(self) -> ReportTable:
        """One row for each request."""
        table = requests_table(self.timeline, self.ruler, self.price())
        return replace(table, notes=(*table.notes, *problem_sentences(self.problems)))

    @property
    def adding_up(self) -> ReportTable:
        """One row for each request with reported usage: unseen tokens, scaled items, and the remainder."""
        return adding_up_table(self.timeline, self.ruler)

    @property
    def items(self) -> ReportTable:
        """One row for each item."""
        return items_table(self.timeline, self.ruler)

    @property
    def decisions(self) -> ReportTable:
        """One row for each change in how requests show an item."""
        return decisions_table(self.timeline, self.ruler)

    @property
    def subagents(self) -> Subagents:
        """One row for each subagent: its start, usage and result; with the totals without and with subagents."""
        return self.subagents_at()

    def subagents_at(self, price: PriceLike = None) -> Subagents:
        """Return the subagents, with their costs at a price."""
        runs = self.subagent_runs(price)
        return subagents_of(self.timeline, self.ruler, self.price(price), runs)

    def subagent_runs(self, price: PriceLike = None) -> tuple[SubagentRun, ...]:
        """Return the subagents alone, without the totals of the session."""
        profile, user_prices = self.price(price), self._given_prices(price)

        def ruler_and_prices(child: Timeline) -> tuple[Ruler, PriceProfile]:
            sent_requests = None if self.sent is None else self.sent.of_session(child.session)
            ruler = _session_ruler_with(child, sent_requests)
            return ruler, with_models_of(profile, child, self._price_of, user_prices)

        return subagent_runs(
            self.timeline, self._subagent_timelines_of, self.ruler, ruler_and_prices
        )

    def subagent_reviews(self) -> Iterator["SessionReview"]:
        """Yield a review of each subagent of the session, also of those that its subagents started."""
        for run in self.subagent_runs():
            subagent_id = run.timeline.session
            yield SessionReview(
                run.timeline,
                self._get_policy,
                self._price_of,
                None if self.sent is None else self.sent.of_session(subagent_id),
                self._subagent_timelines_of,
                price=self._price_text,
                note_files=self.note_files,
            )

    @property
    def requests_with_subagents(self) -> ReportTable:
        """One row for each request of the session and its subagents, in the order of sending."""
        return requests_with_subagents(self.timeline, self.subagents)

    def breaks(self, price: PriceLike = None) -> CacheBreaks:
        """Return the requests that lost the cache, with causes and costs.

        >>> len(session.breaks())
        0
        """
        return breaks_at_price(self.timeline, self.price(price))

    def cache_use(self, price: PriceLike = None) -> "CacheUse":
        """Return how the cache served the requests: fresh tokens, reads by pause, whether an hour's cache would pay.

        >>> session.cache_use().fresh
        0
        """
        from palimpsest.review.tables.cache_use import cache_use

        return cache_use(self.timeline, self.ruler, self.price(price))

    def wastes(
        self,
        price: PriceLike = None,
        most: int = MAX_WASTES,
        *,
        runs: Sequence[SubagentRun] | None = None,
    ) -> Wastes:
        """Return the largest wastes as sentences; ``runs`` are the subagents at that price, where they are known.

        >>> len(session.wastes(price="units")) <= 10
        True
        """
        profile = self.price(price)
        if runs is None:
            runs = self.subagent_runs(price)
        return largest_wastes(self.timeline, self.ruler, profile, self.references, most, runs)

    def why(self, item: int | str, request: int, policy: PolicyLike = RECORDED) -> str:
        """Return in a sentence or two why a request showed an item as it did, or would show it under another policy.

        ``item`` is its number in ``items``, from 1, or the id of a part or message; ``request`` its number, from 1.
        Raises UserError for an unknown item, request or policy.

        >>> session.why(1, 1)[-1]
        '.'
        """
        from palimpsest.review.tables.explanation import explanation

        try:
            index = self._item_index(item)
            timeline, policy_text = self.timeline, ""
            if policy != RECORDED:
                simulation = self._replay_under(policy)
                timeline = simulation.timeline
                policy_text = f"Under {one_line(simulation.policy_name)}: "
            uses, factor = [*self.references.used_names(index)], self.ruler.factor
            sentence = explanation(timeline, index, request - 1, factor=factor, using_requests=uses)
        except IndexError as error:
            raise UserError(str(error)) from error
        return f"{policy_text}{sentence}"

    def link(
        self,
        request: int | None = None,
        item: int | None = None,
        *,
        price: PriceWords | None = None,
        lifetime: str | float | None = None,
        **place: Any,
    ) -> str:
        """Return the link to the session, a request or an item, both from 1, or to any place of its inspector.

        ``price``, ``lifetime`` and ``place`` are as in ``inspect``. Raises UserError for what is no price or no place.

        >>> session.link(1, tab="cost", price="units").partition("/")[2]
        '1?tab=cost&price=units'
        """
        from palimpsest.review.tables.inspector_place import link_of_fields

        fields = {"request": request, "item": item, **place}
        return link_of_fields(self.timeline.session, fields, price, lifetime)

    def _item_index(self, item: int | str) -> int:
        if isinstance(item, int):
            return item - 1
        for candidate in self.timeline.items:
            part = candidate.id.removeprefix(f"{candidate.message}/")
            if item in (candidate.id, candidate.message, part):
                return candidate.index
        raise UserError(
            f"The session has no item {item!r:.80}; `items` lists them with their numbers."
        )

    def _item_number(self, item: int | str) -> int:
        return self._item_index(item) + 1

    def _broken_requests(self) -> Sequence[int]:
        return [cache_break.request for cache_break in self.breaks()]

    # Contents

    def request(
        self, request: int, policy: PolicyLike = RECORDED, *, summary: str | None = None
    ) -> "ShownRequest":
        """Return a request with its contents, from 1: as sent, or as under another policy.

        ``summary`` is the text in place of a summary that the policy would have requested: ``recorded``,
        ``stub(1500)`` or ``extract(2000)``. Raises UserError for an unknown request or policy.

        >>> shown = session.request(1)
        >>> shown.basis, shown.blocks[0].role
        ('exact', 'system')
        """
        from palimpsest.review.request_contents.shown_items import checked_request
        from palimpsest.review.request_contents.shown_request import request_at

        checked_request(self.timeline, request - 1)
        return request_at(self._replay_under(policy, summary), request - 1, self.sent)

    def difference(
        self, first: int, second: int, policy: PolicyLike = RECORDED, *, price: PriceLike = None
    ) -> "RequestDifference":
        """Return the items added, removed and changed between two requests, from 1, and the cost of these changes.

        The usage that the second request reports is a fact where it is sent right after the first; all else is an estimate.

        >>> session.difference(1, 1).changes
        ()
        """
        from palimpsest.review.request_contents.request_difference import (
            ReportedLoss,
            request_difference,
        )
        from palimpsest.review.request_contents.shown_items import checked_request

        for number in (first, second):
            checked_request(self.timeline, number - 1)
        profile = self.price(price)
        simulation = self._replay_under(policy)
        is_fact = simulation.facts_until is None or second - 1 < simulation.facts_until
        losses = (
            ReportedLoss(cache_break.loss, cache_break.cost, cache_break.words)
            for cache_break in (self.breaks(profile) if is_fact and second == first + 1 else ())
            if cache_break.request == second - 1
        )
        return request_difference(simulation, first - 1, second - 1, profile, next(losses, None))

    def compactions(
        self, policy: PolicyLike = RECORDED, *, summary: str | None = None, price: PriceLike = None
    ) -> "CompactionLosses":
        """Return the compactions, recorded or of a policy, with the names that each lost and that were needed later.

        ``summary`` is as in ``request``; ``price`` is that at which fetching the lost results again is estimated.

        >>> len(session.compactions())
        0
        """
        from palimpsest.review.request_contents.compaction_losses import (
            CompactionLosses,
            compaction_losses,
        )

        if not self.timeline.requests:
            return CompactionLosses(self.timeline.title or self.timeline.session, RECORDED, ())
        simulation, uses = self._replay_under(policy, summary), self.references.uses_by_name
        return compaction_losses(simulation, uses, self.price(price), self._summary_writers(price))

    def _summary_writers(self, price: PriceLike) -> "dict[str, SummarySession]":
        """Return the sessions that wrote summaries, with their tokens and cost."""
        from palimpsest.review.request_contents.compaction_losses import (
            SummarySession,
            writer_ids_by_summary,
        )

        writer_ids = frozenset(writer_ids_by_summary(self.timeline).values())
        runs = self.subagent_runs(price) if writer_ids else ()
        writers = {}
        for run in runs:
            session_id, totals = run.timeline.session, run.totals
            if session_id in writer_ids:
                counts = totals.requests, totals.input, totals.output, totals.cost
                basis: Basis = "fact" if totals.cost_is_fact else "estimate"
                writers[session_id] = SummarySession(session_id, *counts, basis)
        return writers

    def _replay_under(self, policy: PolicyLike, summary: str | None = None) -> "Simulation":
        from palimpsest.context_policies.replay.moved_summaries import SummaryChoice, with_summaries

        choice = None if summary is None else SummaryChoice.parse(summary)
        chosen_policy = with_summaries(self.policy(policy), choice)
        return self.replays.simulation(chosen_policy, self.ruler, 0)

    def own_rule(self) -> "OwnRule | None":
        """Return how the recorded agent's own rule fits its automatic compactions.

        For a Palimpsest session it is the policy recorded with each request, and its clearings count, too. None where there
        is no preset of the agent, or no request.

        >>> session.own_rule() is None
        True
        """
        from palimpsest.review.comparison.own_rule import own_rule

        policies = {} if self.sent is None else self.sent.policies
        if policies:
            from palimpsest.review.comparison.own_engine_rule import own_engine_rule

            replay = partial(self.replays.simulation, ruler=self.ruler, window=0)
            return own_engine_rule(self.timeline, self.ruler, policies, replay)
        return own_rule(self.timeline, self.ruler)

    # Policies

    def policy(self, policy: PolicyLike, **numbers: Any) -> ContextPolicy | None:
        """Return the policy that a name or a value stands for, with the given numbers instead of its defaults.

        None stands for ``raw``, which shows every item whole. Raises UserError for an unknown name, and for what is no policy.
        """
        from palimpsest.context_policies.replay.simulation import RAW_NAME

        if policy is None or (isinstance(policy, str) and policy == RAW_NAME):
            return None
        if isinstance(policy, str) and policy == RECORDED:
            return RecordedPolicy()
        return self._get_policy(policy, **numbers)

    def compare(
        self,
        policies: Sequence[PolicyLike] | PolicyLike,
        *,
        price: PriceLike = None,
        lifetime: str | float | None = None,
        window: int = 0,
        ruler: Ruler | None = None,
        summary: str | None = None,
    ) -> "PolicyComparison":
        """Return policies side by side: the size, cache, cost and losses of each.

        ``price`` is a model's id, ``units``, prices such as ``MODEL=in/out/read/write`` or a price file; ``lifetime`` are
        the seconds for which the cache keeps a prefix, or words such as ``1h``.

        ``summary`` is the text in place of summaries that the policies would have requested, the same for all:
        ``recorded``, ``stub(1500)`` or ``extract(2000)``; without it a placeholder of the policy's size.

        Raises UserError for an unknown policy, a price that is not known, and a session without requests.

        >>> table = session.compare(["raw", "sweagent.last_n n=3"], price="units")
        >>> table.figures[1].fired
        0
        """
        from palimpsest.context_policies.replay.moved_summaries import SummaryChoice, with_summaries
        from palimpsest.review.comparison.policy_comparison import compare_policies

        if not self.timeline.requests:
            raise UserError("The session has no request yet, so there is nothing to compare.")
        choice = None if summary is None else SummaryChoice.parse(summary)
        comparison = compare_policies(
            self.timeline,
            [with_summaries(self.policy(entry), choice) for entry in list_of_policies(policies)],
            ruler or self.ruler_at(price, lifetime),
            self.replay_price(price, lifetime),
            window=window,
            references=self.references,
            summaries=choice,
            cache=self.replays,
            own_rule=self._own_rule_phrase,
        )
        self._store_known_values()
        return comparison

    def sweep(
        self,
        policy: SweptPolicy,
        values: Sequence[Any] | None = None,
        /,
        *,
        price: PriceLike = None,
        lifetime: str | float | None = None,
        window: int | Sequence[int] = 0,
        ruler: Ruler | None = None,
        summary: str | None = None,
        **numbers: Sequence[Any],
    ) -> "PolicySweep":
        """Return a table that compares several values of one number of a policy.

        ``sweep("opencode.prune.protect", [10_000, 20_000])`` and ``sweep("opencode.prune", protect=[...])`` are
        the same; a policy of one's own may be given itself. A list of windows is a number of the policy, like the others.

        >>> session.sweep("sweagent.last_n.n", [2, 5], price="units").values
        (2, 5)
        """
        from palimpsest.review.comparison.sweep import PolicySweep

        if not isinstance(window, int):
            numbers, window = {**numbers, "window": window}, 0
        swept_policy, number, swept_values = _sweep_arguments(policy, values, numbers)
        comparison = self.compare(
            [self._get_policy(swept_policy, **{number: value}) for value in swept_values],
            price=price,
            lifetime=lifetime,
            window=window,
            ruler=ruler,
            summary=summary,
        )
        if not isinstance(swept_policy, str):
            swept_policy = self._get_policy(swept_policy).name
        return PolicySweep(swept_policy, number, swept_values, comparison)


def _rule_phrase(rule: "OwnRule | None") -> str:
    return "" if rule is None else rule.sentence_end


def _session_ruler_with(timeline: Timeline, sent_requests: SentRequests | None) -> Ruler:
    def recorded_separate_tokens() -> int:
        from palimpsest.review.request_contents.request_blocks import separate_tokens

        requests = sent_requests
        return 0 if requests is None else separate_tokens(requests.system, requests.tools_text)

    return session_ruler(timeline, recorded_separate_tokens)


def _with_lifetime(ruler: Ruler, seconds: float | None) -> Ruler:
    """Return a ruler whose cache keeps a prefix for the given seconds; unchanged for None."""
    if seconds is None:
        return ruler
    sentence = f"The cache is taken to keep a prefix for {seconds:,.0f} s, as given."
    return ruler.with_lifetime(seconds, sentence)


def _sweep_arguments(
    policy: SweptPolicy, values: Sequence[Any] | None, numbers: Mapping[str, Sequence[Any]]
) -> tuple[SweptPolicy, str, tuple[Any, ...]]:
    """Return the policy, its number and the values, from either form of the call."""
    if isinstance(policy, str) and values is not None and not numbers:
        from palimpsest.context_policies.registry import split_policy_number

        policy_name, number = split_policy_number(policy)
        if not policy_name:
            policy_name, _, number = policy.rpartition(".")
        if policy_name:
            return policy_name, number, tuple(values)
    if values is None and len(numbers) == 1:
        number, number_values = next(iter(numbers.items()))
        return policy, number, tuple(number_values)
    raise UserError(
        "A sweep takes one number of one policy: sweep('opencode.prune', protect=[10_000, 20_000]). Write another "
        "number with the policy: sweep('opencode.prune minimum=5_000', protect=[10_000, 20_000])."
    )

"""Write a held request as text: its size, its cost, what is new in it, and what would be decided.

Border: pure. Labels come from models and tools, so they are shown on one line, without control characters.
"""

from collections.abc import Iterator, Sequence

from palimpsest.render.content.decision_reasons import decision_sentence, reason
from palimpsest.render.content.phrases import count, counted_noun, money
from palimpsest.render.safety.escaping import one_line
from palimpsest.transcript.context_values.decisions import Decision
from palimpsest.transcript.context_values.proposed_request import CacheForecast, ProposedRequest
from palimpsest.transcript.context_values.request_items import RequestItem
from palimpsest.transcript.ids import short_id

MAX_LINES = 8
"""Maximum new items, and decisions, that are listed; further ones are counted."""
MAX_SENTENCE_CHARS = 300
MAX_SUMMARY_CHARS = 900
PRUNES_AFTER = (
    "Its policy prunes when the turn has ended; in step mode, with the next request that is let go."
)
REFUSED_BEFORE = "The provider refused the request before as too long, or no summary came of it: results are cut first."
PURPOSES = {
    "step": "",
    "compaction": "for a summary",
    "title": "for a title",
    "turn-summary": "for a turn summary",
    "subagent": "",
}


def held_request_text(proposal: ProposedRequest, *, items: bool = False) -> str:
    """Return a held request as lines of plain text; with ``items``, every item that it holds."""
    return "\n".join(_proposal_lines(proposal, items=items))


def headline(proposal: ProposedRequest) -> str:
    """Return one sentence: which request is held, its size, its cost, and what of it is cached."""
    parts = [f"Request {proposal.number}", PURPOSES[proposal.purpose]]
    if proposal.subagent:
        parts.append(f"of the subagent {one_line(proposal.agent, 40)}")
    size = f"{count(proposal.tokens)} tokens"
    cost = f", {money(proposal.cost)}" if proposal.cost is not None else ", of unknown price"
    return f"{' '.join(sentence for sentence in parts if sentence)} is held: {size}{cost}{_cached_phrase(proposal)}."


def clock(seconds: float) -> str:
    """Return seconds as minutes and seconds, such as 3:12."""
    whole_seconds = max(0, int(seconds))
    return f"{whole_seconds // 60}:{whole_seconds % 60:02d}"


def _cached_phrase(proposal: ProposedRequest) -> str:
    cache = proposal.cache
    if not cache.tokens:
        return ""
    cold = ""
    if proposal.cost_cold is not None and proposal.cost_cold != proposal.cost:
        cold = f"; {money(proposal.cost_cold)} without it"
    time_left = _cache_time_left(cache, proposal.now)
    return f" ({count(cache.tokens)} read from cache, {time_left}{cold})"


def _cache_time_left(cache: CacheForecast, now: int) -> str:
    """Return how long the provider keeps a prompt from now on, in words."""
    if cache.cools_at is None or cache.cold_at is None:
        return "whose lifetime is not known"
    if now >= cache.cools_at:
        return f"which may be cold, and is in {clock((cache.cold_at - now) / 1000)}"
    time_left = clock((cache.cools_at - now) / 1000)
    if cache.cold_at > cache.cools_at:
        return f"which cools in {time_left} to {clock((cache.cold_at - now) / 1000)}"
    return f"which cools in {time_left}"


def _proposal_lines(proposal: ProposedRequest, *, items: bool) -> Iterator[str]:
    yield headline(proposal)
    yield f"  model {one_line(proposal.model, 80)}, policy {one_line(proposal.policy, 60)}"
    yield from (f"  {note}" for note in notes(proposal))
    yield f"  {difference_sentence(proposal)}"
    yield from _new_summary(proposal)
    shown_items = proposal.items if items else tuple(item for item in proposal.items if item.new)
    yield from _item_lines(shown_items, limit=None if items else MAX_LINES)
    if proposal.decisions:
        yield f"  It would make {counted_noun(len(proposal.decisions), 'decision')}:"
        yield from _decision_lines(proposal.decisions)


def _new_summary(proposal: ProposedRequest) -> Iterator[str]:
    """Yield sentences on what a summary, first used by this request, keeps and loses, and on how to undo it."""
    report, older_summary = proposal.new_summary, proposal.older_summary
    if report is not None and report.message_id is not None:
        yield "  It would be the first to use a new summary:"
        yield f"    {one_line(decision_sentence(report), MAX_SUMMARY_CHARS)}"
    if older_summary is not None:
        is_for_it = report is not None or proposal.purpose == "compaction"
        yield f"  The summary that you put aside{' for it' if is_for_it else ''}:"
        yield f"    {one_line(decision_sentence(older_summary), MAX_SUMMARY_CHARS)}"
    choices = ["older uses the summary that was put aside"] if older_summary is not None else []
    if report is not None and report.message_id is not None:
        choices.append("another asks for another summary")
        choices.append(f"restore {short_id(report.message_id)} keeps the older context instead")
    if choices:
        yield f"    {'; '.join(choices)}."


def notes(proposal: ProposedRequest) -> tuple[str, ...]:
    """Return further sentences to read before the request is released."""
    is_too_large = not proposal.fits and not proposal.summary_first
    too_large = f"It does not fit: {count(proposal.budget)} tokens do, so it is not sent."
    problem = one_line(proposal.policy_problem or "", MAX_SENTENCE_CHARS)
    candidates = (
        ("A summary is requested first; that request is held, too.", proposal.summary_first),
        (too_large, is_too_large),
        (REFUSED_BEFORE, proposal.again),
        (problem, proposal.policy_problem),
        ("It is the last step of its turn: no tool is offered.", proposal.last),
        ("A hook may change its messages when it is sent.", proposal.hooked),
        ("A title or turn summary is requested with it.", proposal.beside),
        (PRUNES_AFTER, proposal.prunes_after),
    )
    return tuple(sentence for sentence, applies in candidates if applies)


def difference_sentence(proposal: ProposedRequest) -> str:
    """Return a sentence on the difference from the request before."""
    new_count = sum(item.new for item in proposal.items)
    if proposal.tokens_before is None:
        return f"It is the first request to this model, of {counted_noun(new_count, 'item')}."
    change = proposal.tokens - proposal.tokens_before
    comparative = "more" if change >= 0 else "fewer"
    subject = "nothing new"
    if new_count:
        subject = f"{counted_noun(new_count, 'item')} new: {count(proposal.new_tokens)} tokens"
    return f"{count(abs(change))} tokens {comparative} than the request before, {subject}."


def _item_lines(items: Sequence[RequestItem], limit: int | None) -> Iterator[str]:
    shown_items = items if limit is None else items[-limit:]
    for item in shown_items:
        name = f"  {item.part_id}" if item.part_id else ""
        more = f" ({item.remarks})" if item.remarks else ""
        label = one_line(f"{item.name} {item.words}", 60)
        yield f"    {item.kind:<12} {count(item.tokens):>8}  {label}{more}{name}"
    if len(items) > len(shown_items):
        yield f"    and {count(len(items) - len(shown_items))} more"


def _decision_lines(decisions: Sequence[Decision]) -> Iterator[str]:
    for decision in decisions[:MAX_LINES]:
        yield f"    - {one_line(decision_sentence(decision) or reason(decision), MAX_SENTENCE_CHARS)}"
    if len(decisions) > MAX_LINES:
        yield f"    and {count(len(decisions) - MAX_LINES)} more"

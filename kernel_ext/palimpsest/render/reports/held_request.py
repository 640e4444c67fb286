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

MAX_LISTED = 8
"""Maximum new items, and decisions, that are listed; further ones are counted."""
MAX_NAME_CHARS = 40
MAX_MODEL_CHARS = 80
MAX_POLICY_CHARS = 60
MAX_ITEM_CHARS = 60
MAX_SENTENCE_CHARS = 300
MAX_SUMMARY_CHARS = 900
PRUNES_AFTER_SENTENCE = (
    "Its policy prunes when the turn has ended; in step mode, with the next request that is let go."
)
REFUSED_BEFORE_SENTENCE = "The provider refused the request before as too long, or no summary came of it: results are cut first."
PURPOSE_PHRASES = {
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
    phrases = [f"Request {proposal.number}", PURPOSE_PHRASES[proposal.purpose]]
    if proposal.subagent:
        phrases.append(f"of the subagent {one_line(proposal.agent, MAX_NAME_CHARS)}")
    size = f"{count(proposal.tokens)} tokens"
    cost = f", {money(proposal.cost)}" if proposal.cost is not None else ", of unknown price"
    return f"{' '.join(phrase for phrase in phrases if phrase)} is held: {size}{cost}{_cached_phrase(proposal)}."


def clock(seconds: float) -> str:
    """Return seconds as minutes and seconds, such as 3:12."""
    whole_seconds = max(0, int(seconds))
    return f"{whole_seconds // 60}:{whole_seconds % 60:02d}"


def _cached_phrase(proposal: ProposedRequest) -> str:
    cache = proposal.cache
    if not cache.tokens:
        return ""
    cost_without_cache = ""
    if proposal.cost_cold is not None and proposal.cost_cold != proposal.cost:
        cost_without_cache = f"; {money(proposal.cost_cold)} without it"
    time_left = _cache_time_left(cache, proposal.now)
    return f" ({count(cache.tokens)} read from cache, {time_left}{cost_without_cache})"


def _cache_time_left(cache: CacheForecast, now_ms: int) -> str:
    """Return how long the provider keeps a prompt from now on, in words; ``now_ms`` is since 1970."""
    if cache.cools_at is None or cache.cold_at is None:
        return "whose lifetime is not known"
    if now_ms >= cache.cools_at:
        return f"which may be cold, and is in {clock((cache.cold_at - now_ms) / 1000)}"
    time_left = clock((cache.cools_at - now_ms) / 1000)
    if cache.cold_at > cache.cools_at:
        return f"which cools in {time_left} to {clock((cache.cold_at - now_ms) / 1000)}"
    return f"which cools in {time_left}"


def _proposal_lines(proposal: ProposedRequest, *, items: bool) -> Iterator[str]:
    yield headline(proposal)
    yield f"  model {one_line(proposal.model, MAX_MODEL_CHARS)}, policy {one_line(proposal.policy, MAX_POLICY_CHARS)}"
    yield from (f"  {note}" for note in notes(proposal))
    yield f"  {difference_sentence(proposal)}"
    yield from _new_summary_lines(proposal)
    shown_items = proposal.items if items else tuple(item for item in proposal.items if item.new)
    yield from _item_lines(shown_items, max_items=None if items else MAX_LISTED)
    if proposal.decisions:
        yield f"  It would make {counted_noun(len(proposal.decisions), 'decision')}:"
        yield from _decision_lines(proposal.decisions)


def _new_summary_lines(proposal: ProposedRequest) -> Iterator[str]:
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
    conditional_sentences = (
        ("A summary is requested first; that request is held, too.", proposal.summary_first),
        (too_large, is_too_large),
        (REFUSED_BEFORE_SENTENCE, proposal.again),
        (problem, proposal.policy_problem),
        ("It is the last step of its turn: no tool is offered.", proposal.last),
        ("A hook may change its messages when it is sent.", proposal.hooked),
        ("A title or turn summary is requested with it.", proposal.beside),
        (PRUNES_AFTER_SENTENCE, proposal.prunes_after),
    )
    return tuple(sentence for sentence, applies in conditional_sentences if applies)


def difference_sentence(proposal: ProposedRequest) -> str:
    """Return a sentence on the difference from the request before."""
    new_count = sum(item.new for item in proposal.items)
    if proposal.tokens_before is None:
        return f"It is the first request to this model, of {counted_noun(new_count, 'item')}."
    change = proposal.tokens - proposal.tokens_before
    comparative = "more" if change >= 0 else "fewer"
    news = "nothing new"
    if new_count:
        news = f"{counted_noun(new_count, 'item')} new: {count(proposal.new_tokens)} tokens"
    return f"{count(abs(change))} tokens {comparative} than the request before, {news}."


def _item_lines(items: Sequence[RequestItem], max_items: int | None) -> Iterator[str]:
    shown_items = items if max_items is None else items[-max_items:]
    for item in shown_items:
        part_id_text = f"  {item.part_id}" if item.part_id else ""
        remarks = f" ({item.remarks})" if item.remarks else ""
        label = one_line(f"{item.name} {item.words}", MAX_ITEM_CHARS)
        yield f"    {item.kind:<12} {count(item.tokens):>8}  {label}{remarks}{part_id_text}"
    if len(items) > len(shown_items):
        yield f"    and {count(len(items) - len(shown_items))} more"


def _decision_lines(decisions: Sequence[Decision]) -> Iterator[str]:
    for decision in decisions[:MAX_LISTED]:
        yield f"    - {one_line(decision_sentence(decision) or reason(decision), MAX_SENTENCE_CHARS)}"
    if len(decisions) > MAX_LISTED:
        yield f"    and {count(len(decisions) - MAX_LISTED)} more"

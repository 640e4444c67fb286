"""What an agent knows, before it sends a request, of the tokens that the provider will count in it.

An agent knows the usage of its last answer and estimates what came after it. In a replay that usage is the recorded one
while the requests are the recorded ones; after the first that differs it is what the ruler makes of them.
"""

from dataclasses import dataclass

from palimpsest.review.policies.policy import PolicyView, Since
from palimpsest.review.replay.replay_view import TokenScale
from palimpsest.review.replay.ruler import Ruler
from palimpsest.transcript.timeline import TimelineRequest

MOST_SCALE = 2.0
"""The most by which an estimate of what came since is scaled to the provider's count: early in a session the reported
tokens are many times the estimate, since most of them are of the system prompt. Real sessions have 1.2 to 2.6."""


@dataclass(frozen=True, slots=True)
class _Answered:
    """A request that was answered with a usage."""

    prompt: float
    """Its tokens, as reported or by the ruler."""
    output: float
    first: int
    """The first item that it could not show: where its answer begins."""
    end: int
    """The item behind its answer."""
    held: float
    """Tokens of the items that it held, by the ruler's estimator."""


class ReportedTokens:
    """Follows the usage of the requests of a replay.

    Responsibilities: keep what each answered request took; add to the newest one what came since.
    """

    def __init__(self, scale: TokenScale, measure: TokenScale, ruler: Ruler) -> None:
        """``scale`` counts as the policy does, ``measure`` as the ruler."""
        self._scale = scale
        self._measure = measure
        self._ruler = ruler
        self.known: list[_Answered] = []

    def go_on_from(self, other: "ReportedTokens") -> None:
        """Know what was answered in a timeline that begins alike."""
        self.known = [*other.known]

    def sent(self, request: TimelineRequest, total: float, *, recorded: bool) -> None:
        """Note a request that was sent, its tokens by the ruler, and whether it was the recorded one."""
        if request.reported is not None:
            prompt = request.reported if recorded else total
            self._note(request, prompt, self._measure.total)

    def answered(self, request: TimelineRequest) -> None:
        """Note the usage of a request that showed all that is shown now of what was there."""
        if request.reported is not None:
            later = sum(self._measure.shown[request.items : self._measure.count])
            self._note(request, request.reported, self._measure.total - later)

    def _note(self, request: TimelineRequest, prompt: float, held: float) -> None:
        usage = request.usage
        output = 0 if usage is None else usage.output + usage.reasoning
        self.known.append(_Answered(prompt, output, request.items, request.answer[1], held))

    def total(self, view: PolicyView, *, answer: bool, since: Since) -> int | None:
        """Return the tokens of the request that comes next; None while none was reported."""
        last = next((one for one in reversed(self.known) if not _is_gone(view, one)), None)
        if last is None:
            return None
        measure = self._measure
        later = sum(measure.shown[last.first : view.count])
        # What its items lost or won after it was sent, which its usage does not know.
        moved = measure.total - later - last.held
        prompt = max(last.prompt + self._ruler.factor * moved, 0.0)
        found = prompt + (last.output if answer else 0)
        if since == "nothing":
            return round(found)
        behind = last.end if answer else last.first
        # A summary that was written since stands for what the usage counted.
        came: float = sum(
            self._scale.shown[one]
            for one in range(behind, view.count)
            if not (view.item(one).kind == "summary" or view.item(one).continues)
        )
        if since == "counted":
            before = self._scale.total - sum(self._scale.shown[last.first : view.count])
            came *= min(max(prompt / before, 1.0), MOST_SCALE) if before > 0 else 1.0
        return round(found + came)


def _is_gone(view: PolicyView, sent: _Answered) -> bool:
    """Return whether the answer of a request was taken back, so that an agent no longer sees its usage."""
    if sent.end <= sent.first:
        return False
    return all(view.state(one) == "reverted" for one in range(sent.first, sent.end))

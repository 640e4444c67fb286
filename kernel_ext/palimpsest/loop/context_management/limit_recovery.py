"""Send a refused request again within a limit that its provider named: once for each limit in a step, and told in one line.

Border: what a refusal names is read in ``model/errors/limit_refusals.py``, and what is left out is decided in
``context/reduction/picture_limits.py`` and where tools are offered. Both are journaled, so that the next requests keep the
limit without a refusal. A refusal of another kind, or one that names what cannot be reduced, stays what it was.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field

from palimpsest.context.reduction.picture_limits import (
    SentPicture,
    limit_words,
    sent_pictures,
)
from palimpsest.context.request_assembly.fit import KEEPS_LIMITS
from palimpsest.loop.context_management.fit_driver import FitDriver
from palimpsest.loop.model_requests.request_builder import Assembled
from palimpsest.loop.run_inputs.run_context import RequestServices, StepSetup
from palimpsest.model.errors.limit_refusals import LimitKind, NamedLimit, named_limit
from palimpsest.model.errors.response_body import read_body
from palimpsest.transcript.context_values.decisions import (
    LEFT_OUT,
    TOOLS_RULE,
    Decision,
    pictures_of,
)
from palimpsest.transcript.errors import ApiError, ContextOverflowError, ErrorValue, UnknownError
from palimpsest.transcript.messages import UserMessage
from palimpsest.transcript.provider_profile.request_limits import RequestLimits
from palimpsest.transcript.session_record.events import DecisionMade

PICTURES_TOLD = (
    "{model}'s provider refused the request: it takes {limit}. {done}, and it was sent again; the session keeps them "
    "as they are."
)
TOOLS_TOLD = "{model}'s provider refused the request: it takes {most:,} tools at most. It was sent again with that many."
PICTURES_SHARE = 0.5
"""Share of a request's bytes from which on its pictures are what makes it too large, and not its texts."""


@dataclass
class LimitRecovery:
    """Mends the refused requests of one step.

    Responsibilities: read what a refusal names, once for each kind of limit; have the request built anew within it.
    """

    requests: RequestServices
    setup: StepSetup
    user: UserMessage
    room: FitDriver
    tried: set[LimitKind] = field(default_factory=set)

    async def mended(self, error: ErrorValue, refused: Assembled) -> tuple[Assembled, str] | None:
        """Return a request within the limit that an error names, and a sentence about it; None where there is none."""
        named = _named(error)
        opaque = refused.record.opaque is not None
        if named is None or named.kind in self.tried or opaque:
            return None
        if self.setup.policy.overflow.refusals != KEEPS_LIMITS:
            return None
        self.tried.add(named.kind)
        if named.kind == "tools":
            return await self._with_fewer_tools(named, refused)
        return self._with_less_of_pictures(named, refused)

    def _with_less_of_pictures(
        self, named: NamedLimit, refused: Assembled
    ) -> tuple[Assembled, str] | None:
        requests, info = self.requests, self.setup.info
        pictures = tuple(sent_pictures(requests.log.view(), refused.projection.messages, info))
        learned = learned_from(named, pictures, _bytes(refused)) if pictures else None
        if learned is None:
            return None
        known = len(requests.log.state.decisions)
        made = self.room.within(self.setup, refused, learned)
        if made is None:
            return None
        done = _done(requests.log.state.decisions[known:])
        limit = limit_words(named.kind, learned)
        return made, PICTURES_TOLD.format(model=info.ref.id, limit=limit, done=done)

    async def _with_fewer_tools(
        self, named: NamedLimit, refused: Assembled
    ) -> tuple[Assembled, str] | None:
        requests, info = self.requests, self.setup.info
        most = named.most(len(self.setup.specs))
        decision = Decision(
            id=requests.log.ids.new("dec"),
            action="keep",
            rule=TOOLS_RULE,
            numbers={"most": most, "model": info.ref.id},
        )
        requests.log.append(DecisionMade(decision=decision, facts=refused.record.facts))
        setup = await requests.setup(self.user)
        if len(setup.specs) >= len(self.setup.specs):
            return None
        self.setup = setup
        return self.room.again(setup, refused), TOOLS_TOLD.format(model=info.ref.id, most=most)


def learned_from(
    named: NamedLimit, pictures: tuple[SentPicture, ...], request_bytes: int
) -> RequestLimits | None:
    """Return a refusal's limit for the pictures that were sent; None where they are not what it is about."""
    together = sum(one.bytes for one in pictures)
    match named.kind:
        case "pictures":
            return RequestLimits(pictures=named.most(len(pictures)))
        case "request_bytes":
            if together < PICTURES_SHARE * request_bytes:
                return None
            # Texts are a part of it, so the pictures alone may well be within what was named.
            return RequestLimits(request_bytes=min(named.most(request_bytes), together))
        case "picture_bytes":
            largest = max(one.bytes for one in pictures)
            return RequestLimits(picture_bytes=named.most(largest))
        case "pixels":
            largest = max(one.pixels for one in pictures)
            return RequestLimits(pixels=_below(named, largest)) if largest else None
        case "side":
            largest = max(one.side for one in pictures)
            return RequestLimits(side=_below(named, largest)) if largest else None
        case "tools":
            return None


def _below(named: NamedLimit, largest: int) -> int:
    """Return the most that is named; where it was kept to the pixel and refused all the same, one less."""
    return min(named.most(largest + 1), largest - 1)


def _named(error: ErrorValue) -> NamedLimit | None:
    match error:
        case ApiError(message=message, status=status, response_body=body):
            pass
        case ContextOverflowError(message=message, response_body=body):
            status = None
        case UnknownError(message=message, explained=None):
            status, body = None, None
        case _:
            return None
    # The server's own words: around them stand its address and our advice.
    said = (read_body(body).message if body else "") or message
    return named_limit(said, status)


def _bytes(refused: Assembled) -> int:
    request = refused.request
    tools = sum(len(json.dumps(one.parameters)) for one in request.tools)
    return tools + len(json.dumps(request.messages))


def _done(decisions: Iterable[Decision]) -> str:
    told = [one for made in decisions for one in pictures_of(made).values()]
    out = sum(LEFT_OUT in one for one in told)
    smaller = len(told) - out
    parts = [
        f"{number:,} picture{'' if number == 1 else 's'} {'was' if number == 1 else 'were'} {what}"
        for number, what in ((smaller, "made smaller for it"), (out, "left out of it"))
        if number
    ]
    return " and ".join(parts)

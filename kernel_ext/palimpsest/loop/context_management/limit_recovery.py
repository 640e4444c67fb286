"""Send a refused request again within a limit that its provider named, once for each limit in a step.

Border: ``model/errors/limit_refusals.py`` parses a refusal, and ``context/reduction/picture_limits.py`` and the list of
offered tools decide what is left out. Both are journaled, so that later requests keep the limit without a refusal. Any
other refusal stays an error.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field

from palimpsest.context.reduction.picture_limits import SentPicture, limit_words, sent_pictures
from palimpsest.context.request_assembly.fit import REFUSALS_WITH_LIMITS
from palimpsest.loop.context_management.fit_driver import FitDriver
from palimpsest.loop.model_requests.request_builder import ReadyRequest
from palimpsest.loop.run_inputs.run_context import RequestServices, StepSetup
from palimpsest.model.errors.limit_refusals import LimitKind, NamedLimit, named_limit
from palimpsest.model.errors.response_body import server_message
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

PICTURES_NOTICE = (
    "{model}'s provider refused the request: it takes {limit}. {done}, and it was sent again; the session keeps them "
    "as they are."
)
TOOLS_NOTICE = "{model}'s provider refused the request: it takes {most:,} tools at most. It was sent again with that many."
MIN_PICTURES_SHARE = 0.5
"""Minimum share of a request's bytes from which on its pictures, and not its texts, make it too large."""


@dataclass
class LimitRecovery:
    """Repairs the refused requests of one step: takes each kind of limit once, and has the request rebuilt within it."""

    services: RequestServices
    setup: StepSetup
    user: UserMessage
    fit_driver: FitDriver
    tried_limits: set[LimitKind] = field(default_factory=set)

    async def within_named_limit(
        self, error: ErrorValue, refused_request: ReadyRequest
    ) -> tuple[ReadyRequest, str] | None:
        """Return a request within the limit that an error names, with a sentence for the user; None without such a limit."""
        limit = _named_limit(error)
        is_rewritten_by_hook = refused_request.record.opaque is not None
        if limit is None or limit.kind in self.tried_limits or is_rewritten_by_hook:
            return None
        if self.setup.policy.overflow.refusals != REFUSALS_WITH_LIMITS:
            return None
        self.tried_limits.add(limit.kind)
        if limit.kind == "tools":
            return await self._with_fewer_tools(limit, refused_request)
        return self._with_smaller_pictures(limit, refused_request)

    def _with_smaller_pictures(
        self, provider_limit: NamedLimit, refused_request: ReadyRequest
    ) -> tuple[ReadyRequest, str] | None:
        services, info = self.services, self.setup.info
        messages = refused_request.projection.messages
        pictures = tuple(sent_pictures(services.log.view(), messages, info))
        if not pictures:
            return None
        learned_limits = limits_from_refusal(
            provider_limit, pictures, _request_bytes(refused_request)
        )
        if learned_limits is None:
            return None
        decision_count_before = len(services.log.state.decisions)
        ready_request = self.fit_driver.rebuild_within(self.setup, refused_request, learned_limits)
        if ready_request is None:
            return None
        changes_sentence = _changes_sentence(services.log.state.decisions[decision_count_before:])
        limit_text = limit_words(provider_limit.kind, learned_limits)
        return ready_request, PICTURES_NOTICE.format(
            model=info.ref.id, limit=limit_text, done=changes_sentence
        )

    async def _with_fewer_tools(
        self, limit: NamedLimit, refused_request: ReadyRequest
    ) -> tuple[ReadyRequest, str] | None:
        services, info = self.services, self.setup.info
        max_tools = limit.maximum_below(len(self.setup.specs))
        decision = Decision(
            id=services.log.ids.new("dec"),
            action="keep",
            rule=TOOLS_RULE,
            numbers={"most": max_tools, "model": info.ref.id},
        )
        services.log.append(DecisionMade(decision=decision, facts=refused_request.record.facts))
        setup = await services.resolve_setup(self.user)
        if len(setup.specs) >= len(self.setup.specs):
            return None
        self.setup = setup
        notice = TOOLS_NOTICE.format(model=info.ref.id, most=max_tools)
        return self.fit_driver.rebuild(setup, refused_request), notice


def limits_from_refusal(
    limit: NamedLimit, pictures: tuple[SentPicture, ...], request_bytes: int
) -> RequestLimits | None:
    """Return a refusal's limit for the sent pictures; None where it is not about pictures."""
    pictures_bytes = sum(picture.bytes for picture in pictures)
    match limit.kind:
        case "pictures":
            return RequestLimits(pictures=limit.maximum_below(len(pictures)))
        case "request_bytes":
            if pictures_bytes < MIN_PICTURES_SHARE * request_bytes:
                return None
            # Texts are a part of the request, so the pictures alone may be within the named limit.
            return RequestLimits(
                request_bytes=min(limit.maximum_below(request_bytes), pictures_bytes)
            )
        case "picture_bytes":
            largest = max(picture.bytes for picture in pictures)
            return RequestLimits(picture_bytes=limit.maximum_below(largest))
        case "pixels":
            largest = max(picture.pixels for picture in pictures)
            return RequestLimits(pixels=_smaller_limit(limit, largest)) if largest else None
        case "side":
            largest = max(picture.longer_side for picture in pictures)
            return RequestLimits(side=_smaller_limit(limit, largest)) if largest else None
        case "tools":
            return None


def _smaller_limit(limit: NamedLimit, largest_pixels: int) -> int:
    """Return the named limit, or a pixel less than a picture that kept it and was refused."""
    return min(limit.maximum_below(largest_pixels + 1), largest_pixels - 1)


def _named_limit(error: ErrorValue) -> NamedLimit | None:
    match error:
        case ApiError(message=message, status=status, response_body=body):
            pass
        case ContextOverflowError(message=message, response_body=body):
            status = None
        case UnknownError(message=message, explained=None):
            status, body = None, None
        case _:
            return None
    return named_limit(server_message(body, message), status)


def _request_bytes(refused_request: ReadyRequest) -> int:
    request = refused_request.request
    tools = sum(len(json.dumps(tool.parameters)) for tool in request.tools)
    return tools + len(json.dumps(request.messages))


def _changes_sentence(decisions: Iterable[Decision]) -> str:
    changes = [picture for decision in decisions for picture in pictures_of(decision).values()]
    left_out_count = sum(LEFT_OUT in picture for picture in changes)
    smaller_count = len(changes) - left_out_count
    phrases = [
        f"{count:,} picture{'' if count == 1 else 's'} {'was' if count == 1 else 'were'} {change}"
        for count, change in (
            (smaller_count, "made smaller for it"),
            (left_out_count, "left out of it"),
        )
        if count
    ]
    return " and ".join(phrases)

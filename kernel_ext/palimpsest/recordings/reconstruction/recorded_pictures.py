"""Recorded facts about pictures that were sent smaller: their stored versions, and the limits named by a refusal.

Border: a replay does not shrink pictures itself, since another version of the imaging library gives other bytes.
"""

from collections.abc import Callable, Iterable
from dataclasses import fields

from palimpsest.context.reduction.picture_limits import (
    LEARNED_KEY,
    SentPicture,
    Shrink,
    ShrunkPicture,
)
from palimpsest.transcript.context_values.decisions import Decision, pictures_of
from palimpsest.transcript.provider_profile.request_limits import NO_LIMITS, RequestLimits


def recorded_pictures(decisions: Iterable[Decision], read_blob: Callable[[str], bytes]) -> Shrink:
    """Return a function from a picture to the version that was sent; raises NotFound where its content is gone."""
    version_by_picture = {
        (decision.part_id, index): version
        for decision in decisions
        for index, version in pictures_of(decision).items()
    }

    def shrink(picture: SentPicture, _side: int, _max_bytes: int | None) -> ShrunkPicture | None:
        version = version_by_picture.get((picture.part_id, str(picture.index_in_part)), {})
        url, mime, width_and_height = version.get("url"), version.get("mime"), version.get("to")
        if not (
            isinstance(url, str)
            and isinstance(mime, str)
            and isinstance(width_and_height, list | tuple)
        ):
            return None
        content = read_blob(url.removeprefix("blob:"))
        url_chars = len(f"data:{mime};base64,") + 4 * -(-len(content) // 3)
        width, height = (int(side) for side in width_and_height[:2])
        return ShrunkPicture(url, mime, (width, height), url_chars)

    return shrink


def refused_limits(decisions: Iterable[Decision]) -> RequestLimits:
    """Return the limits in a provider's refusal that led to these decisions; no limits without a refusal."""
    limit_names = {field.name for field in fields(RequestLimits)}
    for decision in decisions:
        limits = decision.numbers.get(LEARNED_KEY)
        if isinstance(limits, dict):
            numbers = {
                str(name): limit
                for name, limit in limits.items()
                if name in limit_names and isinstance(limit, int)
            }
            return RequestLimits(**numbers)
    return NO_LIMITS

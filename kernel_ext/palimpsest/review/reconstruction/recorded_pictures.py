"""What a log tells of pictures that were sent smaller: their stored versions, and the limits that a refusal named.

Border: a replay makes no picture smaller itself, since another version of the imaging library makes other bytes.
"""

from collections.abc import Callable, Iterable
from dataclasses import fields

from palimpsest.context.reduction.picture_limits import LEARNED, SentPicture, Shrink, ShrunkPicture
from palimpsest.transcript.context_values.decisions import Decision, pictures_of
from palimpsest.transcript.provider_profile.request_limits import NO_LIMITS, RequestLimits


def recorded_pictures(decisions: Iterable[Decision], read: Callable[[str], bytes]) -> Shrink:
    """Return a function that gives the version of a picture that was sent; it raises NotFound where its content is gone."""
    known = {
        (one.part_id, place): told for one in decisions for place, told in pictures_of(one).items()
    }

    def shrink(picture: SentPicture, _side: int, _most_bytes: int | None) -> ShrunkPicture | None:
        told = known.get((picture.part_id, str(picture.place)), {})
        url, mime, size = told.get("url"), told.get("mime"), told.get("to")
        if not (isinstance(url, str) and isinstance(mime, str) and isinstance(size, list | tuple)):
            return None
        content = read(url.removeprefix("blob:"))
        length = len(f"data:{mime};base64,") + 4 * -(-len(content) // 3)
        width, height = (int(one) for one in size[:2])
        return ShrunkPicture(url, mime, (width, height), length)

    return shrink


def refused_limits(decisions: Iterable[Decision]) -> RequestLimits:
    """Return the limits that the refusal named which these decisions answer; none where nothing was refused."""
    names = {field.name for field in fields(RequestLimits)}
    for one in decisions:
        told = one.numbers.get(LEARNED)
        if isinstance(told, dict):
            numbers = {str(k): v for k, v in told.items() if k in names and isinstance(v, int)}
            return RequestLimits(**numbers)
    return NO_LIMITS

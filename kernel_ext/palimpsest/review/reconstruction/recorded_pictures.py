"""What a log tells of pictures that were sent smaller: their stored versions, and the limits that a refusal named.

Border: a replay makes no picture smaller itself, since another version of the imaging library makes other bytes.
"""

from collections.abc import Callable, Iterable
from dataclasses import fields

from palimpsest.context.reduction.picture_limits import LEARNED, SentPicture, ShrunkPicture
from palimpsest.transcript.context_values.decisions import Decision, pictures_of
from palimpsest.transcript.provider_profile.request_limits import NO_LIMITS, RequestLimits


class RecordedPictures:
    """The smaller versions that some recorded decisions name."""

    def __init__(self, decisions: Iterable[Decision], read: Callable[[str], bytes]) -> None:
        self._told = {
            (one.part_id, place): told
            for one in decisions
            for place, told in pictures_of(one).items()
        }
        self._read = read

    def shrink(
        self, picture: SentPicture, _side: int, _most_bytes: int | None
    ) -> ShrunkPicture | None:
        """Return the version that was sent; None where none was. Raises NotFound where its content is gone."""
        told = self._told.get((picture.part_id, str(picture.place)), {})
        url, mime, size = told.get("url"), told.get("mime"), told.get("to")
        if (
            not isinstance(url, str)
            or not isinstance(mime, str)
            or not isinstance(size, list | tuple)
        ):
            return None
        content = self._read(url.removeprefix("blob:"))
        length = len(f"data:{mime};base64,") + 4 * -(-len(content) // 3)
        width, height = (int(one) for one in size[:2])
        return ShrunkPicture(url, mime, (width, height), length)


def refused_limits(decisions: Iterable[Decision]) -> RequestLimits:
    """Return the limits that the refusal named which these decisions answer; none where nothing was refused."""
    names = {field.name for field in fields(RequestLimits)}
    for one in decisions:
        told = one.numbers.get(LEARNED)
        if isinstance(told, dict):
            numbers = {str(k): v for k, v in told.items() if k in names and isinstance(v, int)}
            return RequestLimits(**numbers)
    return NO_LIMITS

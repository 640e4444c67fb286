"""Make pictures smaller, or leave the oldest out, where a request would exceed its provider's limits.

Border: pure but for ``shrink``, which is passed in; it decides, and the loop journals. A decision about a picture adds to
the other decisions about its part. It holds for all later requests, so that a prompt cache breaks once and not with each
request; therefore more is left out at once than the next request needs. The log keeps all pictures. A limit that a
provider names in a refusal also holds for all later requests to that model.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from palimpsest.context.budget.request_tokens import MEDIA_TOKENS
from palimpsest.context.reduction.picture_sizes import size_of_url
from palimpsest.context.visible_messages import View
from palimpsest.transcript.context_values.decisions import (
    LEFT_OUT,
    PICTURES,
    PICTURES_RULE,
    Decision,
    EffectiveDecisions,
    pinned_part_ids,
)
from palimpsest.transcript.context_values.neutral_messages import MediaBlock, NeutralMessages
from palimpsest.transcript.messages import Messages
from palimpsest.transcript.provider_profile.profile import limits_of, profile, stricter_limits
from palimpsest.transcript.provider_profile.provider_table import PDF
from palimpsest.transcript.provider_profile.request_limits import NO_LIMITS, RequestLimits
from palimpsest.transcript.values import ModelInfo

FILLED_SHARE = 0.75
"""Share of a limit on number or bytes that pictures fill after some were left out; also the share of a request's
bytes for its pictures, since texts and tools need the rest."""
SIDE_SHARE = 0.95
"""Share of a limit on pixels to which a picture is made smaller: one provider was seen to refuse the limit itself."""
WHOLE_TEXT = {"head_chars": 2_147_483_647, "tail_chars": 0, "suffix": ""}
"""The text's numbers in a decision about pictures alone, with which older versions keep the whole text."""
LEARNED_KEY = "learned"
"""Key in the numbers of a decision: the limits that the provider named."""
PICTURE_LEFT_OUT_NOTE = (
    "[picture left out: {name}{size}. This model's provider takes {limit}. {look}]"
)
DOCUMENT_LEFT_OUT_NOTE = "[document left out: {name}. This model's provider takes {limit}. {look}]"
LOOK_ADVICE = "The person still sees it. Make it again, smaller, or read its file to look at it."
LIMIT_WORDS = {
    "pictures": "at most {number:,} pictures in a request",
    "side": "pictures of at most {number:,} pixels a side",
    "many_side": "pictures of at most {number:,} pixels a side where there are more than {many:,}",
    "pixels": "pictures of at most {number:,} pixels",
    "picture_bytes": "pictures of at most {number:,} bytes",
}
OTHER_LIMIT_WORDS = "requests of at most {number:,} bytes"


@dataclass(frozen=True, slots=True)
class SentPicture:
    """A picture or document of a request, and its position."""

    part_id: str
    message_id: str
    index_in_part: int
    """Its index among the pictures and documents of its part in the log."""
    mime: str
    url: str
    name: str
    size: tuple[int, int] | None
    """Width and height in pixels; None where unknown."""
    pinned_or_restored: bool = False
    """Whether the user pinned or restored the picture, so that it is left out last."""

    @property
    def bytes(self) -> int:
        """Its length as Base64."""
        return len(self.url)

    @property
    def longer_side(self) -> int:
        """Pixels of its longer side; 0 where unknown."""
        return max(self.size) if self.size is not None else 0

    @property
    def pixels(self) -> int:
        """Width times height; 0 where unknown."""
        return self.size[0] * self.size[1] if self.size is not None else 0


@dataclass(frozen=True, slots=True)
class ShrunkPicture:
    """A smaller version of a picture, stored."""

    url: str
    """``blob:<sha256>``."""
    mime: str
    size: tuple[int, int]
    bytes: int
    """Its length as Base64."""


Shrink = Callable[[SentPicture, int, int | None], ShrunkPicture | None]
"""Returns a version of a picture within a longer side in pixels and a length in Base64 bytes; None where there is none."""


def cannot_shrink(_picture: SentPicture, _side: int, _bytes: int | None) -> None:
    """Return None, for callers that cannot make pictures smaller."""


@dataclass(frozen=True, slots=True)
class _Form:
    """The changed form in which a picture is sent."""

    limit: str
    """The name of the limit, a field of ``RequestLimits``."""
    shrunk_picture: ShrunkPicture | None = None
    """None leaves it out."""


def keep_picture_limits(
    view: View,
    messages: NeutralMessages,
    model: ModelInfo,
    new_id: Callable[[], str],
    shrink: Shrink = cannot_shrink,
    learned: RequestLimits = NO_LIMITS,
) -> tuple[Decision, ...]:
    """Return decisions that bring a request's pictures within its provider's limits; none where they are within.

    ``messages`` are those of the request; ``learned`` are the limits in the provider's newest refusal.
    """
    known_limits = stricter_limits(limits_of(model), learned_limits(view.decisions, model), learned)
    if not model.vision or not known_limits.has_picture_limits:
        return ()
    pictures = tuple(sent_pictures(view, messages, model))
    sent_forms = _sent_forms(pictures, known_limits, shrink) if pictures else {}
    return tuple(_decisions(view, pictures, sent_forms, known_limits, learned, model, new_id))


def is_whole_text(decision: Decision) -> bool:
    """Return whether a decision about pictures leaves their part's text whole."""
    return all(decision.numbers.get(name) == value for name, value in WHOLE_TEXT.items())


def learned_limits(decisions: Iterable[Decision], model: ModelInfo) -> RequestLimits:
    """Return the limits that the model's provider named in refusals of this session."""
    limits = NO_LIMITS
    names = {field.name for field in fields(RequestLimits)}
    for decision in decisions:
        learned = decision.numbers.get(LEARNED_KEY) if decision.rule == PICTURES_RULE else None
        if isinstance(learned, Mapping) and decision.numbers.get("model") == model.ref.id:
            numbers = {
                str(name): number
                for name, number in learned.items()
                if name in names and isinstance(number, int) and number > 0
            }
            limits = stricter_limits(limits, RequestLimits(**numbers))
    return limits


def sent_pictures(view: View, messages: NeutralMessages, model: ModelInfo) -> Iterator[SentPicture]:
    """Yield the pictures and documents of a request, oldest first."""
    model_profile = profile(model.ref)
    accepted_types = model_profile.pictures | model_profile.documents
    blocks = [
        (message.message_id, block)
        for message in messages
        for outer_block in message.blocks
        for block in (outer_block.media if outer_block.type == "result" else (outer_block,))
        if isinstance(block, MediaBlock) and block.part_id and block.url.startswith("data:")
    ]
    if not blocks:
        return
    effective = EffectiveDecisions(view.decisions)
    message_ids = _message_ids(view.messages, {str(block.part_id) for _, block in blocks})
    protected_ids = pinned_part_ids(view.messages, view.decisions) | effective.restored_ids
    last_index_by_part: dict[str, int] = {}
    for message_id, block in blocks:
        part_id = str(block.part_id)
        left_out = effective.pictures(part_id)
        index_in_part = last_index_by_part.get(part_id, -1) + 1
        while LEFT_OUT in left_out.get(str(index_in_part), {}):
            index_in_part += 1
        last_index_by_part[part_id] = index_in_part
        own_message_id = message_ids.get(part_id) or message_id
        if own_message_id is None or block.mime not in accepted_types:
            continue
        yield SentPicture(
            part_id=part_id,
            message_id=own_message_id,
            index_in_part=index_in_part,
            mime=block.mime,
            url=block.url,
            name=block.filename or ("document" if block.mime == PDF else "picture"),
            size=size_of_url(block.url),
            pinned_or_restored=part_id in protected_ids or own_message_id in protected_ids,
        )


def _message_ids(messages: Messages, part_ids: set[str]) -> dict[str, str]:
    return {
        part.id: message.id for message in messages for part in message.parts if part.id in part_ids
    }


def _sent_forms(
    pictures: Sequence[SentPicture], limits: RequestLimits, shrink: Shrink
) -> dict[int, _Form]:
    """Return the forms of pictures that may not be sent unchanged, by their index in the request."""
    left_out_forms = dict.fromkeys(
        _excess_indices(pictures, range(len(pictures)), limits.pictures), _Form("pictures")
    )
    remaining_indices = [index for index in range(len(pictures)) if index not in left_out_forms]
    sent_forms = left_out_forms | _forms_of_large(pictures, remaining_indices, limits, shrink)
    remaining_indices = [index for index in remaining_indices if _is_sent(sent_forms.get(index))]
    return sent_forms | _forms_by_weight(pictures, remaining_indices, sent_forms, limits, shrink)


def _is_sent(sent_form: _Form | None) -> bool:
    return sent_form is None or sent_form.shrunk_picture is not None


def _oldest_first(pictures: Sequence[SentPicture], indices: Iterable[int]) -> list[int]:
    """Return indices in the order in which pictures are left out."""
    return sorted(indices, key=lambda index: (pictures[index].pinned_or_restored, index))


def _excess_indices(
    pictures: Sequence[SentPicture], indices: Sequence[int], max_count: int | None
) -> list[int]:
    if max_count is None or len(indices) <= max_count:
        return []
    keep_count = max(1, math.floor(max_count * FILLED_SHARE)) if max_count else 0
    return _oldest_first(pictures, indices)[: len(indices) - keep_count]


def _forms_of_large(
    pictures: Sequence[SentPicture],
    remaining_indices: Sequence[int],
    limits: RequestLimits,
    shrink: Shrink,
) -> dict[int, _Form]:
    """Return the forms of pictures that are too large alone, or for a request with many."""
    sent_forms: dict[int, _Form] = {}
    for index in remaining_indices:
        limit_name, max_side = _stricter_side(pictures[index], limits)
        sent_form = _smaller_form(pictures[index], limit_name, max_side, limits, shrink)
        if sent_form is not None:
            sent_forms[index] = sent_form
    remaining_indices = [index for index in remaining_indices if _is_sent(sent_forms.get(index))]
    if limits.many is None or limits.many_side is None or len(remaining_indices) <= limits.many:
        return sent_forms
    unshrinkable = []
    for index in remaining_indices:
        if _sent_side(pictures[index], sent_forms.get(index)) <= limits.many_side:
            continue
        sent_form = _smaller_form(pictures[index], "many_side", limits.many_side, limits, shrink)
        if sent_form is not None and sent_form.shrunk_picture is not None:
            sent_forms[index] = sent_form
        else:
            unshrinkable.append(index)
    # Pictures that cannot be made smaller may stay where only few are sent.
    keep_count = max(1, math.floor(limits.many * FILLED_SHARE))
    sent_count = len(remaining_indices)
    if sent_count - len(unshrinkable) <= limits.many:
        unshrinkable = _oldest_first(pictures, unshrinkable)
    for index in unshrinkable:
        if sent_count <= keep_count:
            break
        sent_forms[index] = _Form("many_side")
        sent_count -= 1
    return sent_forms


def _stricter_side(picture: SentPicture, limits: RequestLimits) -> tuple[str, int | None]:
    """Return the longest side of a picture under the limits on side and pixels, and the name of the stricter limit."""
    max_side = limits.side
    if limits.pixels is None or picture.pixels <= limits.pixels:
        return "side", max_side
    by_pixels = math.floor(picture.longer_side * math.sqrt(limits.pixels / picture.pixels))
    return ("pixels", by_pixels) if max_side is None or by_pixels < max_side else ("side", max_side)


def _sent_side(picture: SentPicture, sent_form: _Form | None) -> int:
    shrunk = sent_form.shrunk_picture if sent_form is not None else None
    return picture.longer_side if shrunk is None else max(shrunk.size)


def _sent_bytes(picture: SentPicture, sent_form: _Form | None) -> int:
    shrunk = sent_form.shrunk_picture if sent_form is not None else None
    return picture.bytes if shrunk is None else shrunk.bytes


def _smaller_form(
    picture: SentPicture,
    limit_name: str,
    max_side: int | None,
    limits: RequestLimits,
    shrink: Shrink,
) -> _Form | None:
    """Return the form of a picture that is too large alone; None where it may be sent unchanged."""
    is_too_large = max_side is not None and picture.longer_side > max_side
    is_heavy = limits.picture_bytes is not None and picture.bytes > limits.picture_bytes
    if not is_too_large and not is_heavy:
        return None
    max_sent_side = picture.longer_side
    if is_too_large and max_side is not None:
        max_sent_side = max(1, math.floor(max_side * SIDE_SHARE))
    shrunk = _shrunk_within(picture, max_sent_side, limits.picture_bytes, shrink)
    return _Form(limit_name if is_too_large else "picture_bytes", shrunk)


def _shrunk_within(
    picture: SentPicture, max_side: int, max_bytes: int | None, shrink: Shrink
) -> ShrunkPicture | None:
    """Return a smaller version of a picture within a side and a size; None where there is none."""
    shrunk = None if picture.mime == PDF else shrink(picture, max_side, max_bytes)
    is_too_heavy = shrunk is not None and max_bytes is not None and shrunk.bytes > max_bytes
    return None if is_too_heavy else shrunk


def _forms_by_weight(
    pictures: Sequence[SentPicture],
    remaining_indices: Sequence[int],
    sent_forms: Mapping[int, _Form],
    limits: RequestLimits,
    shrink: Shrink,
) -> dict[int, _Form]:
    """Return forms that leave out the oldest until the rest has few enough bytes, and make the last picture smaller."""
    if limits.request_bytes is None:
        return {}
    max_bytes = math.floor(limits.request_bytes * FILLED_SHARE)
    bytes_by_index = {
        index: _sent_bytes(pictures[index], sent_forms.get(index)) for index in remaining_indices
    }
    total_bytes = sum(bytes_by_index.values())
    if total_bytes <= max_bytes:
        return {}
    form_by_index: dict[int, _Form] = {}
    indices_to_leave_out = _oldest_first(pictures, remaining_indices)
    for index in indices_to_leave_out[:-1]:
        if total_bytes <= max_bytes * FILLED_SHARE:
            break
        form_by_index[index] = _Form("request_bytes")
        total_bytes -= bytes_by_index[index]
    if total_bytes > max_bytes:
        last_picture = pictures[indices_to_leave_out[-1]]
        shrunk = _shrunk_within(last_picture, last_picture.longer_side, max_bytes, shrink)
        form_by_index[indices_to_leave_out[-1]] = _Form("request_bytes", shrunk)
    return form_by_index


def _decisions(
    view: View,
    pictures: Sequence[SentPicture],
    sent_forms: Mapping[int, _Form],
    limits: RequestLimits,
    learned: RequestLimits,
    model: ModelInfo,
    new_id: Callable[[], str],
) -> Iterator[Decision]:
    effective = EffectiveDecisions(view.decisions)
    changes_by_part: dict[str, list[tuple[SentPicture, _Form]]] = {}
    for index in sorted(sent_forms):
        changes_by_part.setdefault(pictures[index].part_id, []).append(
            (pictures[index], sent_forms[index])
        )
    for part_id, changed_pictures in changes_by_part.items():
        recorded_forms = {
            str(picture.index_in_part): _recorded_form(picture, sent_form, limits)
            for picture, sent_form in changed_pictures
        }
        message_id, limit = changed_pictures[0][0].message_id, changed_pictures[0][1].limit
        reduction = effective.reduction(part_id, message_id)
        text = WHOLE_TEXT
        if reduction is not None and reduction.action == "truncate":
            text = dict(reduction.numbers)
        numbers: dict[str, Any] = text | {
            PICTURES: recorded_forms,
            "limit": limit,
            "most": getattr(limits, limit),
            "model": model.ref.id,
        }
        if learned != NO_LIMITS:
            numbers[LEARNED_KEY] = {
                name: value for name, value in asdict(learned).items() if value is not None
            }
        else:
            numbers.pop(LEARNED_KEY, None)
        still_sent_count = sum(LEFT_OUT not in picture for picture in recorded_forms.values())
        yield Decision(
            id=new_id(),
            action="truncate",
            rule=PICTURES_RULE,
            message_id=message_id,
            part_id=part_id,
            numbers=numbers,
            tokens_before=MEDIA_TOKENS * len(changed_pictures),
            tokens_after=MEDIA_TOKENS * still_sent_count,
        )


def _recorded_form(picture: SentPicture, sent_form: _Form, limits: RequestLimits) -> dict[str, Any]:
    """Return the record of a picture in a decision: its smaller version, or the text that replaces it."""
    fields: dict[str, Any] = {"name": picture.name}
    if picture.size is not None:
        fields["size"] = list(picture.size)
    if sent_form.shrunk_picture is not None:
        shrunk = sent_form.shrunk_picture
        return fields | {"url": shrunk.url, "mime": shrunk.mime, "to": list(shrunk.size)}
    note = DOCUMENT_LEFT_OUT_NOTE if picture.mime == PDF else PICTURE_LEFT_OUT_NOTE
    size = f", {picture.size[0]:,} x {picture.size[1]:,} pixels" if picture.size else ""
    limit = limit_words(sent_form.limit, limits)
    text = note.format(name=picture.name, size=size, limit=limit, look=LOOK_ADVICE)
    return fields | {LEFT_OUT: text}


def limit_words(name: str, limits: RequestLimits) -> str:
    """Return the words for a limit, to follow "takes"."""
    words = LIMIT_WORDS.get(name, OTHER_LIMIT_WORDS)
    return words.format(number=getattr(limits, name), many=limits.many)

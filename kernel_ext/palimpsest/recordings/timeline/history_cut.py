"""Compute the messages that a request left out under a policy that cuts the history at other summaries than usual.

Two presets of other agents also cut the history at a failed summary, or keep no tail after a summary. The function that
folds the live history computes which messages the requests leave out; it is given messages without their contents.
"""

from collections.abc import Collection, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from palimpsest.context.visible_messages import fold
from palimpsest.store.interface import Store
from palimpsest.transcript.context_values.decisions import StepRequest
from palimpsest.transcript.context_values.policies import CompactPolicy
from palimpsest.transcript.errors import NotFound
from palimpsest.transcript.messages import AssistantMessage, Message, MessageInfo
from palimpsest.transcript.parts import CompactionPart

if TYPE_CHECKING:
    from palimpsest.recordings.reconstruction.requests import RecordedBlobs


class HistoryCut:
    """Computes the messages that requests leave out, again only after another summary, undo or policy."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._newest_key_and_ids: tuple[object, frozenset[str]] = (None, frozenset())

    @cached_property
    def _blobs(self) -> "RecordedBlobs":
        """Reads the policies that requests name; only requests of Palimpsest name one, so it is made when needed."""
        from palimpsest.recordings.reconstruction.requests import RecordedBlobs

        return RecordedBlobs(self._store)

    def left_out_ids(
        self,
        request: StepRequest,
        info_by_id: Mapping[str, MessageInfo],
        marker_by_message: Mapping[str, CompactionPart],
        undone_ids: Collection[str],
    ) -> frozenset[str] | None:
        """Return the ids that a request leaves out; None where the policy cuts the history at successful summaries only."""
        if not marker_by_message:
            return None
        policy = self.compact_policy(request)
        if policy.cut == "good":
            return None
        answers = (info for info in info_by_id.values() if isinstance(info, AssistantMessage))
        summaries = [answer for answer in answers if answer.summary]
        cut_key = (
            policy.cut,
            len(marker_by_message),
            tuple((summary.id, summary.finish) for summary in summaries),
            *undone_ids,
        )
        if self._newest_key_and_ids[0] != cut_key:
            undone_marker_ids = {s.parent_id for s in summaries if s.id in undone_ids}
            messages = tuple(
                Message(
                    info=info,
                    parts=(marker_by_message[message_id],)
                    if message_id in marker_by_message
                    else (),
                )
                for message_id, info in info_by_id.items()
                if message_id not in undone_ids and message_id not in undone_marker_ids
            )
            kept_ids = {message.id for message in fold(messages, policy)}
            self._newest_key_and_ids = (cut_key, frozenset(info_by_id) - kept_ids)
        return self._newest_key_and_ids[1]

    def compact_policy(self, request: StepRequest) -> CompactPolicy:
        """Return the compaction policy of a request; the default policy where it can no longer be read."""
        try:
            return self._blobs.policy(request).compact
        except (NotFound, OSError, ValueError):
            return CompactPolicy()

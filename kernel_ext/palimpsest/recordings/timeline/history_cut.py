"""The messages that a request left out under a policy that cuts the history at other summaries than the usual ones.

Two presets of other agents also cut the history at a failed summary, or keep no tail after a summary. The function that
folds the live history computes which messages their requests leave out, from messages without their contents.
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
        self._newest_result: tuple[object, frozenset[str]] = (None, frozenset())

    @cached_property
    def _blobs(self) -> "RecordedBlobs":
        """The policies that requests name, which only a Palimpsest session has."""
        from palimpsest.recordings.reconstruction.requests import RecordedBlobs

        return RecordedBlobs(self._store)

    def left_out(
        self,
        request: StepRequest,
        infos: Mapping[str, MessageInfo],
        markers: Mapping[str, CompactionPart],
        undone_compactions: Collection[str],
    ) -> frozenset[str] | None:
        """Return the messages that a request leaves out; None where the policy cuts at successful summaries only."""
        if not markers:
            return None
        policy = self.compact_policy(request)
        if policy.cut == "good":
            return None
        answers = (info for info in infos.values() if isinstance(info, AssistantMessage))
        summaries = [answer for answer in answers if answer.summary]
        key = (
            policy.cut,
            len(markers),
            tuple((summary.id, summary.finish) for summary in summaries),
            *undone_compactions,
        )
        if self._newest_result[0] != key:
            undone_markers = {
                summary.parent_id for summary in summaries if summary.id in undone_compactions
            }
            messages = tuple(
                Message(info=info, parts=(markers[name],) if name in markers else ())
                for name, info in infos.items()
                if name not in undone_compactions and name not in undone_markers
            )
            kept_ids = {message.id for message in fold(messages, policy)}
            self._newest_result = (key, frozenset(infos) - kept_ids)
        return self._newest_result[1]

    def compact_policy(self, request: StepRequest) -> CompactPolicy:
        """Return the compaction policy of a request; the default policy where it can no longer be read."""
        try:
            return self._blobs.policy(request).compact
        except (NotFound, OSError, ValueError):
            return CompactPolicy()

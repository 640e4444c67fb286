"""The messages that a request left out under a policy that cuts the history at other summaries than ours.

Two presets of other agents cut the history also at a summary that failed, or keep no tail after one. The function that
folds the live history computes what their requests leave out, from messages without their contents.
"""

from collections.abc import Collection, Mapping

from palimpsest.context.visible_messages import fold
from palimpsest.recordings.reconstruction.requests import RecordedBlobs
from palimpsest.store.interface import Store
from palimpsest.transcript.context_values.decisions import StepRequest
from palimpsest.transcript.context_values.policies import CompactPolicy
from palimpsest.transcript.errors import NotFound
from palimpsest.transcript.messages import AssistantMessage, Message, MessageInfo
from palimpsest.transcript.parts import CompactionPart


class HistoryCut:
    """Computes the messages that requests leave out, again only after another summary, undo or policy."""

    def __init__(self, store: Store) -> None:
        self._blobs = RecordedBlobs(store)
        self._known: tuple[object, frozenset[str]] = (None, frozenset())

    def left_out(
        self,
        request: StepRequest,
        infos: Mapping[str, MessageInfo],
        markers: Mapping[str, CompactionPart],
        undone: Collection[str],
    ) -> frozenset[str] | None:
        """Return the messages that a request leaves out; None where good summaries alone decide it."""
        if not markers:
            return None
        policy = self.compact_policy(request)
        if policy.cut == "good":
            return None
        summaries = [
            info for info in infos.values() if isinstance(info, AssistantMessage) and info.summary
        ]
        key = (
            policy.cut,
            len(markers),
            tuple((summary.id, summary.finish) for summary in summaries),
            *undone,
        )
        if self._known[0] != key:
            undone_markers = {summary.parent_id for summary in summaries if summary.id in undone}
            light = tuple(
                Message(info=info, parts=(markers[name],) if name in markers else ())
                for name, info in infos.items()
                if name not in undone and name not in undone_markers
            )
            kept_ids = {message.id for message in fold(light, policy)}
            self._known = (key, frozenset(infos) - kept_ids)
        return self._known[1]

    def compact_policy(self, request: StepRequest) -> CompactPolicy:
        """Return the compaction policy of a request; ours where it cannot be read any more."""
        try:
            return self._blobs.policy(request).compact
        except (NotFound, OSError, ValueError):
            return CompactPolicy()

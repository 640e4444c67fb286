"""The review of a recorded session, with what another policy would have sent."""

from typing import TYPE_CHECKING

from palimpsest.context_policies.interface.policy import ContextPolicy
from palimpsest.context_policies.summary_size import SUMMARY_TOKENS
from palimpsest.review.session_review import SessionReview
from palimpsest.transcript.context_values.policies import Policy

if TYPE_CHECKING:
    from palimpsest.context_policies.whatif.whatif_result import WhatIf


class RecordingReview(SessionReview):
    """Reviews one session of a recording."""

    def whatif(
        self,
        policy: str | Policy | ContextPolicy | None = None,
        *,
        summary_tokens: int = SUMMARY_TOKENS,
        window: int = 0,
    ) -> "WhatIf":
        """Return what would have been sent under another policy, step by step; no model is called.

        ``policy`` is one of ``palimpsest.policies`` by its name or as a value; None compares the session with
        itself. ``window`` is assumed in tokens; 0 takes the recorded one. Raises UserError for an unknown policy.

        >>> session.whatif("opencode-1.18").other.policy is not None
        True
        """
        from palimpsest.context_policies.whatif.light_whatif import light_whatif

        return light_whatif(self, policy, summary_tokens=summary_tokens, window=window)

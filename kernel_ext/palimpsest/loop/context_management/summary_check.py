"""Judge a summary before it counts, and journal what it lost; the rule is ``context/compaction/quality_check.py``."""

from palimpsest.context.compaction.quality_check import UselessSummary, judged
from palimpsest.context.compaction.quality_check import size as size_of
from palimpsest.loop.model_requests.current_view import view_of
from palimpsest.loop.run_inputs.run_context import Setup, Stage
from palimpsest.transcript.messages import AssistantMessage, Messages
from palimpsest.transcript.session_record.events import DecisionMade


def judge(
    stage: Stage, setup: Setup, message: AssistantMessage, before: int
) -> UselessSummary | None:
    """Return what makes a summary useless; a good one gets its report."""
    name = stage.ids.new("dec")
    view = view_of(stage)
    found = judged(view, message, setup.policy, setup.info, setup.count, before, name)
    if isinstance(found, UselessSummary):
        return found
    stage.write(DecisionMade(decision=found))
    return None


def size(stage: Stage, setup: Setup, messages: Messages) -> int:
    """Return the tokens that these messages take in a request, without system prompt and tools."""
    return size_of(view_of(stage, messages), setup.policy, setup.info, setup.count)

"""Judge a summary before it counts, and say what it lost.

A summary that says too little, or that saves too little, cuts nothing. A good one gets a report of
what stood in the words it covers and stands neither in it nor in what stays (DESIGN.md 4).
"""

from palimpsest.context.compact import summary_text
from palimpsest.context.fold import marker
from palimpsest.context.projection import project
from palimpsest.context.retention import report
from palimpsest.context.serialize import serialize
from palimpsest.context.summary import RULE, seen_at
from palimpsest.loop.seen import view_of
from palimpsest.loop.stage import Setup, Stage
from palimpsest.transcript.decisions import Decision
from palimpsest.transcript.errors import ErrorValue, UnknownError
from palimpsest.transcript.events import DecisionMade
from palimpsest.transcript.messages import AssistantMessage, Messages

USELESS = (
    "The summary was too short to be of use ({chars} characters), so nothing was cut. Try again, name "
    "another model, or begin a new session with %agent --new."
)
SAVES_LITTLE = (
    "The summary saved too little ({before:,} tokens before, {after:,} after), so nothing was cut. "
    "Begin a new session with %agent --new, or choose a model with a larger window with --model."
)


def judge(
    stage: Stage, setup: Setup, message: AssistantMessage, marker_id: str, before: int
) -> ErrorValue | None:
    """Say what makes a summary useless; a good one gets its report."""
    compact = setup.policy.compact
    written = stage.log.state.message(message.id)
    text = summary_text(written) if written is not None else ""
    if compact.judge and len(text) < compact.min_summary_chars:
        return UnknownError(message=USELESS.format(chars=len(text)), explained=True)
    done = message.model_copy(update={"finish": "stop", "error": None})
    hypothetical = tuple(
        one.model_copy(update={"info": done}) if one.id == message.id else one
        for one in stage.log.state.messages()
    )
    after = size(stage, setup, hypothetical)
    if compact.judge and after > compact.max_share_after * before:
        return UnknownError(message=SAVES_LITTLE.format(before=before, after=after), explained=True)
    view = view_of(stage)
    seen = seen_at(view, marker_id, setup.policy)
    tail = marker(seen[-1])
    ids = [one.id for one in seen]
    cut = ids.index(tail.tail_start_id) if tail and tail.tail_start_id in ids else len(seen) - 1
    lost = report(
        serialize(seen[:cut], compact.result_chars),
        text + serialize(seen[cut:], compact.result_chars),
    )
    stage.write(
        DecisionMade(
            decision=Decision(
                id=stage.ids.new("dec"),
                action="summarise",
                rule=RULE,
                message_id=message.id,
                numbers={"retention": lost},
                tokens_before=before,
                tokens_after=after,
            )
        )
    )
    return None


def size(stage: Stage, setup: Setup, messages: Messages) -> int:
    """Return the tokens that these messages take in a request, without system prompt and tools."""
    projection = project(
        view_of(stage, messages),
        system=(),
        tools=(),
        model=setup.info,
        policy=setup.policy,
        count=setup.count,
    )
    return projection.total

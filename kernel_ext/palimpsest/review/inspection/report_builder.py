"""Build the report of a context window, item by item: the request is projected as the live loop does it.

Nothing is sent and nothing is written. The items add up exactly to the request's calibrated estimate:
rounding differences are assigned to the items where they arise.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from palimpsest.context.budget.request_tokens import (
    MESSAGE_TOKENS,
    Count,
    block_tokens,
    tools_tokens,
)
from palimpsest.context.engine_text.system_prompt import INSTRUCTIONS, shared_among_sections
from palimpsest.context.policy_overrides import policy_differences
from palimpsest.context.request_assembly.projection import Projection, kind_of
from palimpsest.context.request_kinds.request_inputs import (
    RequestInputs,
    project_inputs,
    recorded_inputs,
)
from palimpsest.context.visible_messages import View
from palimpsest.model.wire.schema_repair import is_repaired
from palimpsest.render.safety.escaping import one_line
from palimpsest.review.inspection.context_report import ContextReport
from palimpsest.review.inspection.decision_times import TYPES, decision_times
from palimpsest.review.inspection.hook_requests import hook_request_report
from palimpsest.review.inspection.reductions import (
    Scrub,
    decisions_to_date,
    named,
    reductions,
    way_of,
)
from palimpsest.review.inspection.window_contents import DecisionTime, ReportItem, Shown
from palimpsest.store.interface import Store
from palimpsest.store.session_state.state import State
from palimpsest.tools.mcp.values import LONGEST_DESCRIPTION
from palimpsest.transcript.context_values.decisions import (
    StepRequest,
    effective_reductions,
    pinned_parts,
)
from palimpsest.transcript.context_values.neutral_messages import (
    Block,
    CallBlock,
    NeutralMessage,
    ResultBlock,
    TextBlock,
)
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.errors import ConfigError, NotFound
from palimpsest.transcript.messages import AssistantMessage, summaries
from palimpsest.transcript.parts import NotebookPart, Part, ToolPart
from palimpsest.transcript.provider_calls import is_provider_call, native_of
from palimpsest.transcript.session_record.events import Record, StepRequested
from palimpsest.transcript.values import ToolSpec

ROOT = re.compile(r"^  Project root: (.+)$", re.MULTILINE)
"""Finds the project root in a system prompt, so that its files are named by their relative paths."""
SPEAKERS = {"user": "prompt", "assistant": "answer", "reasoning": "thoughts", "output": "output"}


def build_context_report(
    basis: RequestInputs,
    records: Callable[[Sequence[str]], Iterable[Record]],
    scrub: Scrub = str,
    hidden_variables: int = 0,
) -> ContextReport:
    """Return the report of a request; ``records`` of some types are read where it has decisions to date."""
    wanted = decisions_to_date(basis)
    dated: dict[str, DecisionTime] = decision_times(records(TYPES), wanted) if wanted else {}
    return ContextReport(
        session_id=basis.session_id,
        request_id=basis.request_id,
        model=basis.model.ref.id,
        policy=_policy_text(basis.policy),
        window=basis.facts.window,
        window_assumed=basis.model.window_assumed,
        reserve=basis.facts.reserve,
        estimator=basis.facts.estimator,
        calibration=basis.facts.calibration,
        reported=_reported(basis),
        items=_items(basis, scrub),
        gone=() if basis.marker_id else reductions(basis, dated, scrub),
        hidden_cells=sum(part.hidden for part in _notes(basis)),
        omitted_cells=sum(len(part.omitted) for part in _notes(basis)),
        hidden_variables=hidden_variables,
        tools_left_out=tuple(scrub(one) for one in basis.tools_left_out),
    )


def build_recorded_report(
    store: Store,
    session_id: str,
    request_id: str,
    counter: Callable[[str], Count],
    scrub: Scrub = str,
) -> ContextReport:
    """Return the report of a recorded request; raises NotFound."""
    state = State()
    past: list[Record] = []
    for record in store.read(session_id):
        state.apply(record)
        past.append(record)
        if isinstance(record.event, StepRequested) and record.event.request.id == request_id:
            basis = _recorded(store, session_id, state, record.event.request, counter)
            ledger = build_context_report(basis, lambda _types: past, scrub)
            return hook_request_report(ledger, record.event.request, store.get_blob, scrub)
    raise NotFound(f"There is no request {request_id!r} in session {session_id!r}.")


def _recorded(
    store: Store,
    session_id: str,
    state: State,
    request: StepRequest,
    counter: Callable[[str], Count],
) -> RequestInputs:
    messages = state.messages()
    view = View.of(messages, state.decisions, store.get_blob)
    return recorded_inputs(request, view, store.get_blob, counter, session_id, state.session)


def _notes(basis: RequestInputs) -> list[NotebookPart]:
    """Return the notes about the user's cells that the request may show."""
    messages = basis.view.folded(basis.policy.compact)
    return [part for one in messages for part in one.parts if isinstance(part, NotebookPart)]


def _policy_text(policy: Policy) -> str:
    """Return a policy's name, and how many of its numbers were changed."""
    try:
        number = len(policy_differences(policy))
    except ConfigError:  # a preset of another version
        return policy.name
    changed = f"{number} number{'' if number == 1 else 's'} changed"
    return f"{policy.name}, {changed}" if number else policy.name


def _reported(basis: RequestInputs) -> int | None:
    """Return the prompt tokens that the provider reported for the newest answered request."""
    for message in reversed(basis.view.messages):
        if isinstance(message.info, AssistantMessage) and not message.info.summary:
            usage = message.info.tokens
            if usage.prompt and not usage.estimated:
                return usage.prompt
    return None


@dataclass(frozen=True, slots=True)
class _Source:
    """Information of the session about the parts of a request."""

    parts: dict[str, Part]
    summaries: frozenset[str]
    shown: dict[str, Shown]
    pinned: frozenset[str]
    scrub: Scrub

    @classmethod
    def of(cls, basis: RequestInputs, scrub: Scrub) -> "_Source":
        messages = basis.view.messages
        effective = effective_reductions(basis.view.decisions)
        ways: dict[str, Shown] = {
            "truncate": "truncated",
            "clear": "cleared",
            "shrink": "pictures smaller",
            "omit": "pictures left out",
        }
        return cls(
            parts={part.id: part for message in messages for part in message.parts},
            summaries=frozenset(summaries(messages)),
            shown={
                name: ways[way] for name, one in effective.items() if (way := way_of(one)) in ways
            },
            pinned=pinned_parts(messages, basis.view.decisions),
            scrub=scrub,
        )


def _items(basis: RequestInputs, scrub: Scrub) -> tuple[ReportItem, ...]:
    projection = project_inputs(basis)
    source = _Source.of(basis, scrub)
    raw = list(_raw(basis, projection, source))
    return tuple(
        replace(item, tokens=tokens)
        for item, tokens in zip(
            raw, _calibrated([item.tokens for item in raw], basis.facts.calibration), strict=True
        )
    )


def _calibrated(tokens: Sequence[int], ratio: float) -> Iterator[int]:
    """Multiply counts by a ratio so that the results add up to the rounded product of the sum."""
    before = total = 0
    for number in tokens:
        total += number
        now = round(total * ratio)
        yield now - before
        before = now


def _raw(basis: RequestInputs, projection: Projection, source: _Source) -> Iterator[ReportItem]:
    """Yield the items with their estimates, as they are sent."""
    system = [message for message in projection.messages if message.role == "system"]
    for message in system:
        yield from _system(message, basis.count, source.scrub)
    if projection.tools_tokens:
        for tool in basis.tools:
            words = one_line(source.scrub(tool.description))
            tokens = tools_tokens((tool,), basis.count)
            yield ReportItem("tools", tool.name, words, tokens, remark=_tool_remark(tool))
    for message in projection.messages:
        if message.role != "system":
            yield from _message(message, basis.count, source)


def _tool_remark(tool: ToolSpec) -> str:
    """Return what a model is shown otherwise than the tool's server wrote it."""
    said = [
        "schema repaired" if is_repaired(tool) else "",
        "description cut" if len(tool.description) >= LONGEST_DESCRIPTION else "",
    ]
    return ", ".join(filter(None, said))


def _system(message: NeutralMessage, count: Count, scrub: Scrub) -> Iterator[ReportItem]:
    frame = MESSAGE_TOKENS
    for block in message.blocks:
        text = str(getattr(block, "text", ""))
        root = ROOT.search(text)
        for section, tokens in shared_among_sections(text, block_tokens(block, count)):
            words = _first_line(section.text.removeprefix(f"{INSTRUCTIONS}{section.name}"))
            name = section.name.removeprefix(f"{root[1]}/") if root is not None else section.name
            name, words = one_line(scrub(name)), one_line(scrub(words))
            yield ReportItem(section.kind, name, words, frame + tokens)
            frame = 0


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def _message(message: NeutralMessage, count: Count, source: _Source) -> Iterator[ReportItem]:
    frame = MESSAGE_TOKENS
    for block in message.blocks:
        kind = kind_of(message, block, source.summaries)
        yield _block(message, block, kind, frame + block_tokens(block, count), source)
        frame = 0
    if frame:
        kind = kind_of(message, None, source.summaries)
        yield ReportItem(kind, SPEAKERS.get(kind, kind), "", frame, message.message_id)


def _block(
    message: NeutralMessage, block: Block, kind: str, tokens: int, source: _Source
) -> ReportItem:
    part = source.parts.get(block.part_id or "")
    name, words = SPEAKERS.get(kind, kind), str(getattr(block, "text", ""))
    match block:
        case CallBlock():
            name, words = f"{block.tool} call", _works_on(part, source.scrub)
        case ResultBlock():
            name, words = block.tool, _works_on(part, source.scrub) or block.text
        case TextBlock() if isinstance(part, ToolPart) and is_provider_call(part):
            name, words = f"{part.tool} at the provider", _works_on(part, source.scrub) or words
        case _ if _by_engine(part, kind):
            name = "note"
        case _:
            words = words or str(getattr(block, "filename", "") or getattr(block, "mime", ""))
    shown: Shown = "whole"
    if isinstance(block, ResultBlock) or (isinstance(part, ToolPart) and is_provider_call(part)):
        shown = source.shown.get(block.part_id or "", "whole")
        is_told = isinstance(block, TextBlock) and not native_of(block.metadata)
        shown = "told as text" if shown == "whole" and is_told else shown
    return ReportItem(
        kind=kind,
        name=one_line(source.scrub(name), 60),
        words=one_line(source.scrub(words)),
        tokens=tokens,
        message_id=message.message_id,
        part_id=block.part_id,
        shown=shown,
        pinned=block.part_id in source.pinned,
    )


def _by_engine(part: Part | None, kind: str) -> bool:
    """Return whether a block is the engine's: a synthetic part, or a message that repairs the turn order."""
    if part is None:
        return kind == "user"
    return getattr(part, "synthetic", False) or part.type == "compaction"


def _works_on(part: Part | None, scrub: Scrub) -> str:
    return named(part, scrub)[1] if part is not None else ""

"""Build the report of a context window, item by item: the request is projected as in the live loop.

Nothing is sent and nothing is written. The items add up exactly to the request's calibrated estimate:
rounding differences are assigned to the items where they arise.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from palimpsest.context.budget.request_tokens import Count
from palimpsest.context.policy_overrides import policy_differences
from palimpsest.context.request_kinds.request_inputs import (
    RequestInputs,
    project_inputs,
    recorded_inputs,
)
from palimpsest.context.visible_messages import View
from palimpsest.model.wire.provider_messages import prompt_text
from palimpsest.render.content.phrases import counted_noun
from palimpsest.render.safety.escaping import one_line
from palimpsest.request_items import Scrub, request_items
from palimpsest.review.context_report.context_report import ContextReport
from palimpsest.review.context_report.decision_times import EVENT_TYPES, decision_times
from palimpsest.review.context_report.reductions import ids_of_timed_decisions, reductions
from palimpsest.review.context_report.window_contents import whole_tokens
from palimpsest.store.interface import Store
from palimpsest.store.session_state.state import State
from palimpsest.transcript.context_values.decisions import StepRequest
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.context_values.request_items import RequestItem
from palimpsest.transcript.errors import ConfigError, NotFound
from palimpsest.transcript.messages import AssistantMessage, parts_of
from palimpsest.transcript.parts import NotebookPart
from palimpsest.transcript.session_record.events import Record, StepRequested

KIND_OF_ROLE = {"system": "system", "assistant": "assistant", "tool": "output"}


def build_context_report(
    inputs: RequestInputs,
    read_records: Callable[[Sequence[str]], Iterable[Record]],
    scrub: Scrub = str,
    hidden_variables: int = 0,
) -> ContextReport:
    """Return the report of a request; ``read_records`` returns records of given types, to find the times of decisions."""
    decision_ids = ids_of_timed_decisions(inputs)
    times = decision_times(read_records(EVENT_TYPES), decision_ids) if decision_ids else {}
    request = project_inputs(inputs)
    items = request_items(request, inputs.view, inputs.tools, inputs.count, scrub)
    return ContextReport(
        session_id=inputs.session_id,
        request_id=inputs.request_id,
        model=inputs.model.ref.id,
        policy=_policy_text(inputs.policy),
        window=inputs.facts.window,
        window_assumed=inputs.model.window_assumed,
        reserve=inputs.facts.reserve,
        estimator=inputs.facts.estimator,
        calibration=inputs.facts.calibration,
        reported_tokens=_reported_tokens(inputs),
        items=whole_tokens(items, inputs.facts.calibration),
        reductions=() if inputs.marker_id else reductions(inputs, times, scrub),
        hidden_cells=sum(part.hidden for part in _cell_notes(inputs)),
        omitted_cells=sum(len(part.omitted) for part in _cell_notes(inputs)),
        hidden_variables=hidden_variables,
        tools_left_out=tuple(scrub(name) for name in inputs.tools_left_out),
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
    records: list[Record] = []
    for record in store.read(session_id):
        state.apply(record)
        records.append(record)
        if isinstance(record.event, StepRequested) and record.event.request.id == request_id:
            request, read_blob = record.event.request, store.get_blob
            view = View.of(state.messages(), state.decisions, read_blob)
            inputs = recorded_inputs(request, view, read_blob, counter, session_id, state.session)
            report = build_context_report(inputs, lambda _types: records, scrub)
            return _hook_request_report(report, request, read_blob, scrub)
    raise NotFound(f"There is no request {request_id!r} in session {session_id!r}.")


def _hook_request_report(
    report: ContextReport, request: StepRequest, read_blob: Callable[[str], bytes], scrub: Scrub
) -> ContextReport:
    """Return the report with the messages of the hook that wrote the request; unchanged where no hook wrote it.

    Such messages are stored whole. They are not projected, since it is not recorded how the hook made them.
    """
    if request.opaque is None:
        return report
    messages: list[dict[str, Any]] = json.loads(read_blob(request.opaque.sha256))
    items = []
    for message, context_item in zip(messages, request.items, strict=False):
        role = str(message["role"])
        text = one_line(scrub(prompt_text((message,)).removeprefix(role)))
        kind, tokens = (
            KIND_OF_ROLE.get(role, "user"),
            round(context_item.tokens * report.calibration),
        )
        items.append(RequestItem(kind=kind, name="written by a hook", words=text, tokens=tokens))
    tools = [item for item in report.items if item.kind == "tools"]
    author = request.opaque_by or "A hook"
    return replace(report, items=(*items, *tools), reductions=(), opaque_by=author)


def _cell_notes(inputs: RequestInputs) -> list[NotebookPart]:
    """Return the notes about the user's cells that the request may show."""
    messages = inputs.view.folded_messages(inputs.policy.compact)
    return [part for part in parts_of(messages) if isinstance(part, NotebookPart)]


def _policy_text(policy: Policy) -> str:
    """Return a policy's name, and the number of its changed numbers."""
    try:
        changed_count = len(policy_differences(policy))
    except ConfigError:  # a preset of another version
        return policy.name
    return (
        f"{policy.name}, {counted_noun(changed_count, 'number')} changed"
        if changed_count
        else policy.name
    )


def _reported_tokens(inputs: RequestInputs) -> int | None:
    """Return the prompt tokens that the provider reported for the newest answered request; None where it reported none."""
    for message in reversed(inputs.view.messages):
        if isinstance(message.info, AssistantMessage) and not message.info.summary:
            usage = message.info.tokens
            if usage.prompt and not usage.estimated:
                return usage.prompt
    return None

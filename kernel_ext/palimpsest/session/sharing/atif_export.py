"""Export a session and its subagents as one ATIF trajectory; ``render/formats/atif.py`` writes it.

Border: reads the store. The text that replaced a reduced output is computed here, since only the log shows before
which answer the decision was made.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from palimpsest import __version__
from palimpsest.context.reduction.applied_decisions import CLEARED_TEXT
from palimpsest.context.reduction.truncation import apply_truncation
from palimpsest.render.formats.atif import OutputShown, TrajectoryHead, atif_trajectory
from palimpsest.session.sharing.visible_state import visible_session
from palimpsest.store.exchange.json_export import full_output, full_part, imported_metadata
from palimpsest.store.interface import Store
from palimpsest.store.session_state.state import State
from palimpsest.transcript.context_values.decisions import Decision, undone_compactions
from palimpsest.transcript.errors import NotFound, UserError
from palimpsest.transcript.messages import AssistantMessage, Message
from palimpsest.transcript.parts import ToolCompleted, ToolPart
from palimpsest.transcript.session_record.events import DecisionMade, MessageUpdated
from palimpsest.transcript.session_record.sessions import SessionInfo
from palimpsest.transcript.values import ToolSpec

Json = dict[str, Any]

MAX_LEVELS = 5
"""Maximum nesting of subagents that are written into a trajectory."""


def session_trajectory(store: Store, session_id: str, levels: int = MAX_LEVELS) -> Json:
    """Return a session as a trajectory, with long texts in full. Raises NotFound and UserError."""
    state, session = visible_session(store, session_id)
    children = _child_trajectories(store, state, levels - 1) if levels > 1 else {}
    trajectory = atif_trajectory(
        _trajectory_head(store, state, session),
        _messages(store, state),
        _iso_time,
        _shown_outputs(store, state, session_id),
        undone_compactions(state.decisions),
        children,
    )
    if not trajectory["steps"]:
        raise UserError("The session has no message yet, and a trajectory needs one.")
    return trajectory


def _trajectory_head(store: Store, state: State, session: SessionInfo) -> TrajectoryHead:
    """Return the trajectory's head: system prompt, tools and window of the newest request."""
    request = state.request
    system: list[str] = []
    tools: list[ToolSpec] | None = None
    if request is not None:
        with suppress(NotFound, ValueError):
            system = json.loads(store.get_blob(request.system.sha256))
        with suppress(NotFound, ValueError):
            specs = json.loads(store.get_blob(request.tools.sha256))
            tools = [ToolSpec.model_validate(spec) for spec in specs]
    imported = imported_metadata(state)
    return TrajectoryHead(
        session_id=session.id,
        title=session.title,
        version=session.version or __version__,
        model=session.model.id if session.model is not None else None,
        window=request.model.window if request is not None else imported.get("window"),
        system="\n\n".join(system) if system else None,
        tools=tools,
    )


def _messages(store: Store, state: State) -> Iterator[Message]:
    for message in state.messages():
        parts = tuple(full_part(store, part) for part in message.parts)
        yield message.model_copy(update={"parts": parts})


def _iso_time(milliseconds: int) -> str | None:
    """Return a time as ISO 8601; None for a time outside the range of dates."""
    try:
        moment = datetime.fromtimestamp(milliseconds / 1_000, tz=UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return moment.isoformat(timespec="milliseconds")


def _shown_outputs(store: Store, state: State, session_id: str) -> Mapping[str, list[OutputShown]]:
    """Return the reduced and restored outputs that each answer was the first to see, by the answer's id."""
    outputs: defaultdict[str, list[OutputShown]] = defaultdict(list)
    decisions: list[Decision] = []
    answer_ids: set[str] = set()
    for record in store.read(session_id, only=("decision", "message.updated")):
        event = record.event
        if isinstance(event, DecisionMade):
            decisions.append(event.decision)
        elif isinstance(event, MessageUpdated) and isinstance(event.info, AssistantMessage):
            if event.info.id in answer_ids:
                continue
            answer_ids.add(event.info.id)
            outputs[event.info.id] += _changed_outputs(store, state, decisions)
            decisions = []
    return outputs


def _changed_outputs(
    store: Store, state: State, decisions: list[Decision]
) -> Iterator[OutputShown]:
    for decision in decisions:
        if decision.message_id is None or decision.part_id is None:
            continue
        part = state.part(decision.message_id, decision.part_id)
        if not isinstance(part, ToolPart) or not isinstance(part.state, ToolCompleted):
            continue
        full_state = full_output(store, part).state
        output = full_state.output if isinstance(full_state, ToolCompleted) else ""
        match decision.action:
            case "restore":
                yield OutputShown(part.call_id, output, decision.rule, is_restored=True)
            case "clear" | "truncate" | "drop":
                with suppress(KeyError, ValueError, TypeError):  # a log may hold any numbers
                    yield OutputShown(part.call_id, _placeholder(decision, output), decision.rule)
            case _:
                pass


def _placeholder(decision: Decision, output: str) -> str:
    """Return the placeholder that replaces an output."""
    numbers = decision.numbers
    if isinstance(numbers.get("shown"), str):
        return str(numbers["shown"])
    if decision.action == "drop":
        return ""
    if decision.action == "clear":
        return str(numbers.get("text", CLEARED_TEXT))
    return apply_truncation(output, numbers)


def _is_child(store: Store, session_id: str, parent_id: str) -> bool:
    """Return whether a session is the child of ``parent_id``, since a log may name any session."""
    with suppress(NotFound, ValueError):
        child = store.load(session_id).session
        return child is not None and child.parent_id == parent_id
    return False


def _child_trajectories(store: Store, state: State, levels: int) -> dict[str, Json]:
    """Return the trajectories of the subagents that calls of the session started, by the call's id."""
    trajectories: dict[str, Json] = {}
    for message in state.messages():
        for part in message.parts:
            if isinstance(part, ToolPart) and isinstance(part.state, ToolCompleted):
                child_id = part.state.metadata.get("task")
                if isinstance(child_id, str) and _is_child(
                    store, child_id, message.info.session_id
                ):
                    with suppress(NotFound, UserError):
                        trajectories[part.call_id] = session_trajectory(store, child_id, levels)
    return trajectories

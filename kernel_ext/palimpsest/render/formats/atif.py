"""Render a session as a trajectory of the Agent Trajectory Interchange Format, version 1.7.

A step is a prompt, an answer with its calls and their outputs, or a change of the context. The messages that
a compaction keeps follow its step, marked as copied. Outputs are complete; if the model saw less of one,
a step before the next answer has the text that it saw. Facts without a field in the format are in ``extra``.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from palimpsest.transcript.messages import AssistantMessage, Message, UserMessage
from palimpsest.transcript.parts import (
    Attachment,
    CompactionPart,
    FilePart,
    Part,
    ReasoningPart,
    StepFinishPart,
    TextPart,
    ToolCompleted,
    ToolFailed,
    ToolPart,
)
from palimpsest.transcript.values import ToolSpec, Usage

Json = dict[str, Any]

SCHEMA_VERSION = "ATIF-v1.7"
AGENT_NAME = "palimpsest"
IMAGE_TYPES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
"""Types of images for which the format has a part; other files are listed in ``extra``."""
COMPACTED_MESSAGE = "Earlier messages were replaced by a summary."
REDUCED_MESSAGE = "Less is shown of earlier tool outputs."


@dataclass(frozen=True, slots=True)
class OutputShown:
    """The text that the model sees of a call's output, from a given answer on."""

    call_id: str
    shown_text: str
    rule: str = ""
    is_restored: bool = False
    """Whether it is shown completely again."""


@dataclass(frozen=True, slots=True)
class TrajectoryHead:
    """The fields of a trajectory about the session."""

    session_id: str
    title: str = ""
    agent: str = AGENT_NAME
    version: str = ""
    model: str | None = None
    window: int | None = None
    """Context window in tokens."""
    system: str | None = None
    tools: Sequence[ToolSpec] | None = None


def atif_trajectory(
    head: TrajectoryHead,
    messages: Iterable[Message],
    time_text: Callable[[int], str | None],
    shown_outputs: Mapping[str, Sequence[OutputShown]] | None = None,
    undone_ids: frozenset[str] = frozenset(),
    children: Mapping[str, Json] | None = None,
) -> Json:
    """Return the JSON of a session.

    ``time_text`` converts milliseconds since 1970 to an ISO 8601 time. ``shown_outputs`` has the reductions by the id of the answer
    before which they were made, and ``undone_ids`` the ids of summaries whose compaction was undone. ``children`` are the
    trajectories of subagents by the id of the call that began each.
    """
    writer = _TrajectoryWriter(head, time_text, shown_outputs or {}, undone_ids, children or {})
    for message in messages:
        writer.add_message(message)
    return writer.trajectory()


@dataclass(eq=False)
class _TrajectoryWriter:
    """Collects steps and their sums."""

    _head: TrajectoryHead
    _format_time: Callable[[int], str | None]
    _shown_outputs: Mapping[str, Sequence[OutputShown]]
    _undone_ids: frozenset[str]
    _children: Mapping[str, Json]
    _steps: list[Json] = field(default_factory=list)
    _step_positions: dict[str, int] = field(default_factory=dict)
    """The position of the step of each message."""
    _marker: tuple[Message, CompactionPart] | None = None
    _metric_sums: Json = field(
        default_factory=lambda: {"prompt_tokens": 0, "completion_tokens": 0, "cached_tokens": 0}
    )
    _cost: float | None = None

    def __post_init__(self) -> None:
        if self._head.system is not None:
            self._add_step("system", self._head.system)

    def _add_step(self, source: str, message: Any, **fields: Any) -> None:
        values = {name: value for name, value in fields.items() if value not in (None, [], {})}
        number = len(self._steps) + 1
        self._steps.append({"step_id": number, "source": source, "message": message, **values})

    def _time_text(self, milliseconds: int | None) -> str | None:
        return None if milliseconds is None else self._format_time(milliseconds)

    def add_message(self, message: Message) -> None:
        """Add the steps of a message."""
        info = message.info
        if isinstance(info, UserMessage):
            marker = next(
                (part for part in message.parts if isinstance(part, CompactionPart)), None
            )
            if marker is not None:
                self._marker = message, marker
            else:
                self._add_user_step(message, info)
        elif info.summary:
            self._add_compaction_step(message, info)
        else:
            self._add_agent_step(message, info)

    def _add_user_step(self, message: Message, info: UserMessage) -> None:
        self._step_positions[message.id] = len(self._steps)
        extra: Json = {"by_program": True} if info.by_engine else {}
        extra |= _attachment_fields(message.parts)
        content = _joined_content(map(_part_content, message.parts))
        self._add_step("user", content, timestamp=self._time_text(info.time.created), extra=extra)

    def _add_agent_step(self, message: Message, info: AssistantMessage) -> None:
        self._add_pruning_step(self._shown_outputs.get(message.id, ()))
        self._step_positions[message.id] = len(self._steps)
        reasoning = [part.text for part in message.parts if isinstance(part, ReasoningPart)]
        calls = [part for part in message.parts if isinstance(part, ToolPart)]
        extra = {
            "finish": info.finish,
            "completed": self._time_text(info.time.completed),
            "error": None if info.error is None else info.error.message,
        }
        results = [result for result in map(self._result_of_call, calls) if result is not None]
        self._add_step(
            "agent",
            _joined_content(map(_part_content, message.parts)),
            timestamp=self._time_text(info.time.created),
            model_name=info.model.id,
            reasoning_effort=info.model.variant,
            reasoning_content="".join(reasoning) or None,
            tool_calls=[
                {"tool_call_id": c.call_id, "function_name": c.tool, "arguments": c.state.input}
                for c in calls
            ],
            observation={"results": results} if results else None,
            metrics=self._count_metrics(message),
            llm_call_count=1,
            extra={name: value for name, value in extra.items() if value}
            | _attachment_fields(message.parts),
        )

    def _add_compaction_step(self, message: Message, info: AssistantMessage) -> None:
        summary = "".join(part.text for part in message.parts if isinstance(part, TextPart))
        metrics = self._count_metrics(message)
        if self._marker is None or info.error is not None or message.id in self._undone_ids:
            return
        (marker_message, marker_part), self._marker = self._marker, None
        kept_steps = self._kept_steps(marker_part.tail_start_id)
        management = {"type": "compaction", "boundary": "replace", "auto": marker_part.auto}
        imported = (marker_message.info.model_extra or {}).get("imported")
        imported_numbers = imported if isinstance(imported, dict) else {}
        for name in ("tokens_before", "tokens_after"):
            if isinstance(imported_numbers.get(name), int):
                management[name] = imported_numbers[name]
        extra: Json = {"context_management": management, "model_name": info.model.id}
        self._add_step(
            "system",
            COMPACTED_MESSAGE,
            timestamp=self._time_text(marker_message.info.time.created),
            observation={"results": [{"content": summary}]},
            extra=extra | ({"metrics": metrics} if metrics else {}),
        )
        for step in kept_steps:
            copied_step = {**step, "is_copied_context": True}
            for name in ("metrics", "step_id"):
                copied_step.pop(name, None)
            self._add_step(**copied_step)

    def _kept_steps(self, first_message_id: str | None) -> list[Json]:
        """Return the steps from a message on, which a compaction keeps in the context."""
        position = self._step_positions.get(first_message_id or "")
        if position is None:
            return []
        return [
            step
            for step in self._steps[position:]
            if step["source"] != "system" and not step.get("is_copied_context")
        ]

    def _add_pruning_step(self, shown_outputs: Sequence[OutputShown]) -> None:
        if not shown_outputs:
            return
        outputs = [
            {
                "tool_call_id": output.call_id,
                "shown": output.shown_text,
                **({"rule": output.rule} if output.rule else {}),
                **({"restored": True} if output.is_restored else {}),
            }
            for output in shown_outputs
        ]
        management = {"type": "pruning", "boundary": "truncate", "outputs": outputs}
        self._add_step("system", REDUCED_MESSAGE, extra={"context_management": management})

    def _result_of_call(self, part: ToolPart) -> Json | None:
        """Return the result of a call; None for a call that has not ended."""
        state = part.state
        if not isinstance(state, ToolCompleted | ToolFailed):
            return None
        files = state.attachments if isinstance(state, ToolCompleted) else ()
        output = state.output if isinstance(state, ToolCompleted) else state.error
        extra: Json = {"is_error": True} if isinstance(state, ToolFailed) else {}
        extra |= {
            "started": self._time_text(state.time.start),
            "ended": self._time_text(state.time.end),
        }
        other_files = [_other_file(file) for file in files if _image_part(file) is None]
        extra |= {"attachments": other_files} if other_files else {}
        child = self._children.get(part.call_id)
        reference = {"trajectory_id": child["trajectory_id"]} if child is not None else None
        return {
            "source_call_id": part.call_id,
            "content": _joined_content([output or None, *map(_image_part, files)]),
            **({"subagent_trajectory_ref": [reference]} if reference else {}),
            "extra": _without_none(extra),
        }

    def _count_metrics(self, message: Message) -> Json | None:
        """Return the metrics of a request, and add them to the sums; None without known usage."""
        finish = next((part for part in message.parts if isinstance(part, StepFinishPart)), None)
        if finish is None:
            return None
        metrics = _metric_fields(finish.tokens, finish.cost)
        for name in self._metric_sums:
            self._metric_sums[name] += metrics[name]
        if finish.cost is not None:
            self._cost = (self._cost or 0.0) + finish.cost
        return metrics

    def trajectory(self) -> Json:
        """Return the complete document."""
        head = self._head
        agent: Json = {"name": head.agent, "version": head.version, "model_name": head.model}
        if head.tools is not None:
            agent["tool_definitions"] = [_tool_definition(tool) for tool in head.tools]
        if head.window:
            agent["extra"] = {"context_window": head.window}
        final_metrics: Json = {f"total_{name}": value for name, value in self._metric_sums.items()}
        final_metrics |= {"total_cost_usd": self._cost, "total_steps": len(self._steps)}
        document: Json = {
            "schema_version": SCHEMA_VERSION,
            "session_id": head.session_id,
            "trajectory_id": head.session_id,
            "agent": _without_none(agent),
            "steps": self._steps,
            "final_metrics": _without_none(final_metrics),
        }
        if head.title:
            document["extra"] = {"title": head.title}
        if self._children:
            unique_children = {child["trajectory_id"]: child for child in self._children.values()}
            document["subagent_trajectories"] = list(unique_children.values())
        return document


def _without_none(fields: Json) -> Json:
    return {name: value for name, value in fields.items() if value is not None}


def _part_content(part: Part) -> str | Json | None:
    """Return a part as content of a step: text, an image, or None where it has neither."""
    match part:
        case TextPart():
            return None if part.ignored else part.text or None
        case FilePart():
            return _image_part(part)
        case ToolPart() | ReasoningPart():
            return None
        case _:
            return part.words_for_model("user") or None


def _joined_content(contents: Iterable[str | Json | None]) -> str | list[Json]:
    """Return contents that are not None in the format: a single text as a string, else a list of parts."""
    present_contents = [content for content in contents if content is not None]
    if not present_contents:
        return ""
    if len(present_contents) == 1 and isinstance(present_contents[0], str):
        return present_contents[0]
    return [
        {"type": "text", "text": item} if isinstance(item, str) else item
        for item in present_contents
    ]


def _image_part(file: FilePart | Attachment) -> Json | None:
    if file.mime not in IMAGE_TYPES:
        return None
    return {"type": "image", "source": {"media_type": file.mime, "path": file.url}}


def _other_file(file: FilePart | Attachment) -> Json:
    return _without_none({"media_type": file.mime, "path": file.url, "name": file.filename})


def _attachment_fields(parts: Iterable[Part]) -> Json:
    files = [part for part in parts if isinstance(part, FilePart) and part.mime not in IMAGE_TYPES]
    return {"attachments": [_other_file(file) for file in files]} if files else {}


def _metric_fields(usage: Usage, cost: float | None) -> Json:
    metrics: Json = {
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.output + usage.reasoning,
        "cached_tokens": usage.cache_read,
    }
    if cost is not None:
        metrics["cost_usd"] = cost
    other_counts = {
        "reasoning_tokens": usage.reasoning,
        "cache_creation_input_tokens": usage.cache_write,
    }
    nonzero_counts = {name: value for name, value in other_counts.items() if value}
    return metrics | ({"extra": nonzero_counts} if nonzero_counts else {})


def _tool_definition(tool: ToolSpec) -> Json:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}

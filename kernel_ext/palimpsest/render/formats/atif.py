"""Render a session as a trajectory of the Agent Trajectory Interchange Format, version 1.7.

A step is a prompt, an answer with its calls and their outputs, or a change of the context. What a model is
shown after a compaction follows its step: the messages that it kept, marked as copied. Outputs are whole;
where less of one was shown, a step before the next answer says what stood in its place. Facts that the
format has no field for are in ``extra``.
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

VERSION = "ATIF-v1.7"
AGENT = "palimpsest"
IMAGES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
"""Images that the format has a part for; other files are listed in ``extra``."""
COMPACTED = "Earlier messages were replaced by a summary."
REDUCED = "Less is shown of earlier tool outputs."


@dataclass(frozen=True, slots=True)
class OutputShown:
    """How the output of a call is shown from an answer on."""

    call: str
    shown: str
    rule: str = ""
    restored: bool = False
    """It is shown whole again."""


@dataclass(frozen=True, slots=True)
class TrajectoryHead:
    """What a trajectory says of a session as a whole."""

    session_id: str
    title: str = ""
    agent: str = AGENT
    version: str = ""
    model: str | None = None
    window: int | None = None
    """Context window in tokens."""
    system: str | None = None
    tools: Sequence[ToolSpec] | None = None


def atif_trajectory(
    head: TrajectoryHead,
    messages: Iterable[Message],
    when: Callable[[int], str | None],
    shown: Mapping[str, Sequence[OutputShown]] | None = None,
    undone: frozenset[str] = frozenset(),
    children: Mapping[str, Json] | None = None,
) -> Json:
    """Return the JSON of a session.

    ``when`` returns milliseconds since 1970 as an ISO 8601 time. ``shown`` has the reductions by the id of the answer before which they were made, and ``undone`` the ids
    of summaries whose compaction was undone. ``children`` are the trajectories of subagents by the id of
    the call that began them.
    """
    writer = _TrajectoryWriter(head, when, shown or {}, undone, children or {})
    for message in messages:
        writer.add(message)
    return writer.trajectory()


@dataclass(eq=False)
class _TrajectoryWriter:
    """Collects steps and their sums."""

    _head: TrajectoryHead
    _when: Callable[[int], str | None]
    _shown: Mapping[str, Sequence[OutputShown]]
    _undone: frozenset[str]
    _children: Mapping[str, Json]
    _steps: list[Json] = field(default_factory=list)
    _places: dict[str, int] = field(default_factory=dict)
    """Where the step of each message is."""
    _marker: tuple[Message, CompactionPart] | None = None
    _sums: Json = field(
        default_factory=lambda: {"prompt_tokens": 0, "completion_tokens": 0, "cached_tokens": 0}
    )
    _cost: float | None = None

    def __post_init__(self) -> None:
        if self._head.system is not None:
            self._step("system", self._head.system)

    def _step(self, source: str, message: Any, **fields: Any) -> None:
        told = {name: value for name, value in fields.items() if value not in (None, [], {})}
        number = len(self._steps) + 1
        self._steps.append({"step_id": number, "source": source, "message": message, **told})

    def _time(self, milliseconds: int | None) -> str | None:
        return None if milliseconds is None else self._when(milliseconds)

    def add(self, message: Message) -> None:
        """Add a message."""
        info = message.info
        if isinstance(info, UserMessage):
            marker = next((one for one in message.parts if isinstance(one, CompactionPart)), None)
            if marker is not None:
                self._marker = message, marker
            else:
                self._asked(message, info)
        elif info.summary:
            self._summarised(message, info)
        else:
            self._answered(message, info)

    def _asked(self, message: Message, info: UserMessage) -> None:
        self._places[message.id] = len(self._steps)
        extra: Json = {"by_program": True} if info.by_engine else {}
        extra |= _attachments(message.parts)
        said = _content([one for one in map(_spoken, message.parts) if one is not None])
        self._step("user", said, timestamp=self._time(info.time.created), extra=extra)

    def _answered(self, message: Message, info: AssistantMessage) -> None:
        self._reduced(self._shown.get(message.id, ()))
        self._places[message.id] = len(self._steps)
        thought = [one.text for one in message.parts if isinstance(one, ReasoningPart)]
        calls = [one for one in message.parts if isinstance(one, ToolPart)]
        error = None if info.error is None else info.error.message
        extra = {
            "finish": info.finish,
            "completed": self._time(info.time.completed),
            "error": error,
        }
        results = [one for one in map(self._result, calls) if one is not None]
        self._step(
            "agent",
            _content([one for one in map(_spoken, message.parts) if one is not None]),
            timestamp=self._time(info.time.created),
            model_name=info.model.id,
            reasoning_effort=info.model.variant,
            reasoning_content="".join(thought) or None,
            tool_calls=[_call(one) for one in calls],
            observation={"results": results} if results else None,
            metrics=self._counted(message),
            llm_call_count=1,
            extra={name: one for name, one in extra.items() if one} | _attachments(message.parts),
        )

    def _summarised(self, message: Message, info: AssistantMessage) -> None:
        summary = "".join(one.text for one in message.parts if isinstance(one, TextPart))
        metrics = self._counted(message)
        if self._marker is None or info.error is not None or message.id in self._undone:
            return
        (asked, marker), self._marker = self._marker, None
        kept = self._kept(marker.tail_start_id)
        management = {"type": "compaction", "boundary": "replace", "auto": marker.auto}
        said = (asked.info.model_extra or {}).get("imported")
        numbers = said if isinstance(said, dict) else {}
        for name in ("tokens_before", "tokens_after"):
            if isinstance(numbers.get(name), int):
                management[name] = numbers[name]
        extra: Json = {"context_management": management, "model_name": info.model.id}
        self._step(
            "system",
            COMPACTED,
            timestamp=self._time(asked.info.time.created),
            observation={"results": [{"content": summary}]},
            extra=extra | ({"metrics": metrics} if metrics else {}),
        )
        for one in kept:
            copy = {
                name: value for name, value in one.items() if name not in {"metrics", "step_id"}
            }
            self._step(**(copy | {"is_copied_context": True}))

    def _kept(self, first: str | None) -> list[Json]:
        """Return the steps from a message on that a compaction keeps in the context."""
        place = self._places.get(first or "")
        if place is None:
            return []
        return [
            one
            for one in self._steps[place:]
            if one["source"] != "system" and not one.get("is_copied_context")
        ]

    def _reduced(self, shown: Sequence[OutputShown]) -> None:
        if not shown:
            return
        outputs = [
            {
                "tool_call_id": one.call,
                "shown": one.shown,
                **({"rule": one.rule} if one.rule else {}),
                **({"restored": True} if one.restored else {}),
            }
            for one in shown
        ]
        management = {"type": "pruning", "boundary": "truncate", "outputs": outputs}
        self._step("system", REDUCED, extra={"context_management": management})

    def _result(self, part: ToolPart) -> Json | None:
        """Return what a call returned; None for one that is not done."""
        state = part.state
        if not isinstance(state, ToolCompleted | ToolFailed):
            return None
        files = state.attachments if isinstance(state, ToolCompleted) else ()
        output = state.output if isinstance(state, ToolCompleted) else state.error
        spoken: list[str | Json] = [output] if output else []
        spoken += [one for one in map(_image, files) if one is not None]
        extra: Json = {"is_error": True} if isinstance(state, ToolFailed) else {}
        extra |= {"started": self._time(state.time.start), "ended": self._time(state.time.end)}
        others = [_other_file(one) for one in files if _image(one) is None]
        extra |= {"attachments": others} if others else {}
        child = self._children.get(part.call_id)
        reference = {"trajectory_id": child["trajectory_id"]} if child is not None else None
        return {
            "source_call_id": part.call_id,
            "content": _content(spoken),
            **({"subagent_trajectory_ref": [reference]} if reference else {}),
            "extra": {name: one for name, one in extra.items() if one is not None},
        }

    def _counted(self, message: Message) -> Json | None:
        """Return the metrics of a request, and add them to the sums; None where no usage is known."""
        finish = next((one for one in message.parts if isinstance(one, StepFinishPart)), None)
        if finish is None:
            return None
        metrics = _metrics(finish.tokens, finish.cost)
        for name in self._sums:
            self._sums[name] += metrics[name]
        if finish.cost is not None:
            self._cost = (self._cost or 0.0) + finish.cost
        return metrics

    def trajectory(self) -> Json:
        """Return the whole document."""
        head = self._head
        agent: Json = {"name": head.agent, "version": head.version, "model_name": head.model}
        if head.tools is not None:
            agent["tool_definitions"] = [_definition(one) for one in head.tools]
        if head.window:
            agent["extra"] = {"context_window": head.window}
        final: Json = {f"total_{name}": value for name, value in self._sums.items()}
        final |= {"total_cost_usd": self._cost, "total_steps": len(self._steps)}
        made: Json = {
            "schema_version": VERSION,
            "session_id": head.session_id,
            "trajectory_id": head.session_id,
            "agent": _known(agent),
            "steps": self._steps,
            "final_metrics": _known(final),
        }
        if head.title:
            made["extra"] = {"title": head.title}
        if self._children:
            once = {one["trajectory_id"]: one for one in self._children.values()}
            made["subagent_trajectories"] = list(once.values())
        return made


def _known(fields: Json) -> Json:
    return {name: value for name, value in fields.items() if value is not None}


def _spoken(part: Part) -> str | Json | None:
    """Return a part as content of a step: text, an image, or None where it has neither."""
    match part:
        case TextPart():
            return None if part.ignored else part.text or None
        case FilePart():
            return _image(part)
        case ToolPart() | ReasoningPart():
            return None
        case _:
            return part.words_for_model("user") or None


def _content(spoken: Sequence[str | Json]) -> str | list[Json]:
    """Return content as the format has it: one text as a string, anything else as parts."""
    if not spoken:
        return ""
    if len(spoken) == 1 and isinstance(spoken[0], str):
        return spoken[0]
    return [{"type": "text", "text": one} if isinstance(one, str) else one for one in spoken]


def _image(file: FilePart | Attachment) -> Json | None:
    if file.mime not in IMAGES:
        return None
    return {"type": "image", "source": {"media_type": file.mime, "path": file.url}}


def _other_file(file: FilePart | Attachment) -> Json:
    return _known({"media_type": file.mime, "path": file.url, "name": file.filename})


def _attachments(parts: Iterable[Part]) -> Json:
    files = [one for one in parts if isinstance(one, FilePart) and one.mime not in IMAGES]
    return {"attachments": [_other_file(one) for one in files]} if files else {}


def _call(part: ToolPart) -> Json:
    return {
        "tool_call_id": part.call_id,
        "function_name": part.tool,
        "arguments": part.state.input,
    }


def _metrics(usage: Usage, cost: float | None) -> Json:
    extra = {
        "reasoning_tokens": usage.reasoning,
        "cache_creation_input_tokens": usage.cache_write,
    }
    made: Json = {
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.output + usage.reasoning,
        "cached_tokens": usage.cache_read,
    }
    if cost is not None:
        made["cost_usd"] = cost
    told = {name: value for name, value in extra.items() if value}
    return made | ({"extra": told} if told else {})


def _definition(tool: ToolSpec) -> Json:
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
    }
    return {"type": "function", "function": function}

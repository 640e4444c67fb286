"""Read Harbor's Agent Trajectory Interchange Format (ATIF), versions 1.0 to 1.7.

A trajectory may continue in files beside it, and may have subagents, inside it or beside it. Steps that are copied from
before a cut are in the context again and were counted before: they show the messages that a compaction kept, or those
that replaced the others.
"""

import json
from collections.abc import Generator, Iterable, Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any

from palimpsest.recordings.format_parts.atif_files import (
    Trajectory,
    TrajectoryFiles,
    embedded_trajectories,
    is_trajectory,
    named_files,
)
from palimpsest.recordings.format_parts.atif_steps import (
    StepReader,
    joined_text,
    outputs_of,
    parts_of,
    usage_of_metrics,
)
from palimpsest.recordings.message_formats.chat_messages import full_model_name
from palimpsest.recordings.reading.importer import Head, Report
from palimpsest.recordings.reading.json_fields import NO_VALUE, JsonValue, fingerprint
from palimpsest.recordings.reading.recorded import (
    CompactionRead,
    GapRead,
    MessageRead,
    Recorded,
    ReducedRead,
    RemovedRead,
    SessionBegin,
    TotalsRead,
    text_of_parts,
)
from palimpsest.recordings.reading.sources import json_document
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.strings.relative_paths import recorded_name
from palimpsest.transcript.timeline import NO_TOTALS, RecordedTotals

PRUNED_SENTENCE = "Older messages were taken out of the context here; which ones is not recorded."
COPIED_SENTENCE = "These steps were copied from a trajectory that is not in the recording."
SubagentTrajectory = tuple[Trajectory, str | None, str | None]
"""A subagent's trajectory, the id of the session that started it, and the id of the call that did."""
ContextStep = tuple[tuple[str, ...], bytes]
"""A step in the context: the ids of its messages, and the hash of its content."""
STEP_SOURCES = ("user", "agent", "system")


class AtifImporter:
    """Reads a ``trajectory.json``, its continuations, and its subagents."""

    name = "atif"
    title = "ATIF"
    tried_on = "files of the real writer"

    def recognises(self, head: Head) -> bool:
        """Return whether a file is a JSON object with the format's version near its beginning."""
        start = head.start.lstrip()
        return start.startswith(b"{") and b'"ATIF-v' in start and b'"schema_version"' in start

    def files_beside(self, path: Path) -> Iterator[str]:
        """Yield the names of the files in which a trajectory continues, and those of its subagents."""
        try:
            value = json_document(path)
        except (OSError, UserError):
            return
        yield from named_files(value)

    def read(self, path: Path, report: Report) -> Iterator[Recorded]:
        """Yield the trajectory as a session, then each subagent's trajectory as a session of its own."""
        value = json_document(path)
        if not is_trajectory(value):
            raise UserError(f"{str(path)!r} is no trajectory in ATIF.")
        files = TrajectoryFiles(path, report)
        used_ids: set[str] = set()
        waiting_sessions: list[SubagentTrajectory] = [
            (Trajectory(value, path, path.name), None, None)
        ]
        while waiting_sessions:
            trajectory, parent_id, call_id = waiting_sessions.pop(0)
            reader = _SessionReader(trajectory, files, report, used_ids)
            yield from reader.read(parent_id, call_id)
            waiting_sessions += reader.subagent_trajectories()


class _SessionReader:
    """Reads one trajectory with its continuations."""

    def __init__(
        self, first: Trajectory, files: TrajectoryFiles, report: Report, used_ids: set[str]
    ) -> None:
        self._first_document = first
        self._files = files
        self._report = report
        self._steps = StepReader()
        self._subagent_references: list[tuple[JsonValue, str | None]] = []
        """The references to subagents' trajectories, each with the id of the call that started the subagent."""
        self._embedded_trajectories: dict[str, Trajectory] = {}
        """The subagents' trajectories inside the documents, by their ids."""
        self._context: list[ContextStep] = []
        """The steps in the context."""
        self._step_count = 0
        self._session_id = self._unused_id(used_ids)

    def _unused_id(self, used_ids: set[str]) -> str:
        value = self._first_document.value
        recorded_id = value.text("session_id") or value.text("trajectory_id")
        base_id = recorded_id or recorded_name(self._first_document.path.stem)
        if base_id in used_ids:
            base_id = value.text("trajectory_id") or base_id
        session_id, number = base_id, 1
        while session_id in used_ids:
            number += 1
            session_id = f"{base_id}/{number}"
        used_ids.add(session_id)
        return session_id

    def read(self, parent_id: str | None, call_id: str | None) -> Iterator[Recorded]:
        """Yield the session's values; the ids are of the session that started it, and of that session's call."""
        value = self._first_document.value
        agent = value.at("agent")
        steps = value.objects("steps")
        system_prompt = self._system_prompt(steps)
        times = (step.milliseconds("timestamp", round_number=round) for step in steps)
        yield SessionBegin(
            id=self._session_id,
            format=AtifImporter.name,
            format_version=value.text("schema_version"),
            title=value.text("extra", "title"),
            created=next(filter(None, times), None),
            model=full_model_name(agent.get("model_name")),
            window=agent.integer("extra", "context_window"),
            system=system_prompt,
            tools=agent.tool_specs("tool_definitions"),
            parent=parent_id,
            parent_call=call_id,
        )
        totals = NO_TOTALS
        for number, document in enumerate(self._files.chain(self._first_document)):
            document_totals = totals_of(document.value)
            totals = _total_of_both(totals, document_totals) if number else document_totals
            self._embedded_trajectories |= embedded_trajectories(document, self._report)
            yield from self._read_document(
                document, is_first=number == 0, has_system=system_prompt is not None
            )
        if totals != NO_TOTALS:
            yield TotalsRead(totals)

    def subagent_trajectories(self) -> list[SubagentTrajectory]:
        """Return the subagents' trajectories, each with the ids of this session and of the call that started it."""
        trajectories: list[SubagentTrajectory] = []
        for reference, call_id in self._subagent_references:
            trajectory_id, path = reference.text("trajectory_id"), reference.text("trajectory_path")
            trajectory = self._embedded_trajectories.pop(trajectory_id, None)
            if trajectory is None and path:
                trajectory = self._files.file_beside(path, self._first_document.place)
            elif trajectory is None:
                self._report(
                    self._first_document.place, f"The subagent {trajectory_id!r:.80} is not in it."
                )
            if trajectory is not None:
                trajectories.append((trajectory, self._session_id, call_id))
        return trajectories + [
            (file, self._session_id, None) for file in self._embedded_trajectories.values()
        ]

    def _system_prompt(self, steps: list[JsonValue]) -> str | None:
        first_step = steps[0] if steps else NO_VALUE
        if first_step.get("source") != "system" or first_step.at("extra", "context_management"):
            return None
        return joined_text(first_step.get("message"))

    def _read_document(
        self, document: Trajectory, *, is_first: bool, has_system: bool
    ) -> Iterator[Recorded]:
        steps = self._steps_of(document)
        if has_system and steps and steps[0].get("source") == "system":
            steps = steps[1:]
        copied_steps, steps = _split_copied(steps)
        if copied_steps and is_first:
            yield GapRead(COPIED_SENTENCE)
            yield from self._messages_of_copies(copied_steps)
        elif copied_steps:
            yield from self._changes_in_copy(copied_steps)
        while steps:
            step, steps = steps[0], steps[1:]
            steps = yield from self._read_step(step, steps)
            self._subagent_references += self._steps.subagent_references(step)

    def _steps_of(self, document: Trajectory) -> list[JsonValue]:
        valid_steps: list[JsonValue] = []
        for number, step in enumerate(map(JsonValue, document.value.list_at("steps")), 1):
            if step.get("source") in STEP_SOURCES:
                valid_steps.append(step)
            else:
                self._report(f"{document.place}, step {number}", "It is no step and was left out.")
        return valid_steps

    def _read_step(
        self, step: JsonValue, later_steps: list[JsonValue]
    ) -> Generator[Recorded, None, list[JsonValue]]:
        """Yield a step's values, and return the later steps that are still to be read."""
        management = step.at("extra", "context_management")
        boundary = management.get("boundary") if step.get("source") == "system" else None
        if boundary == "replace":
            return (yield from self._compaction_values(step, later_steps))
        if boundary == "truncate":
            yield from self._reductions(management)
        elif step.get("is_copied_context") is True:
            yield from self._messages_of_copies([step])
        else:
            step_id = self._next_step_id()
            entries = list(self._steps.step_values(step, step_id))
            ids = tuple(message.id for message in entries if isinstance(message, MessageRead))
            self._context.append((ids, _content_hash(step)))
            yield from entries
        return later_steps

    def _next_step_id(self) -> str:
        self._step_count += 1
        return f"step-{self._step_count}"

    def _messages_of_copies(self, steps: list[JsonValue]) -> Iterator[Recorded]:
        """Yield copied steps as messages of the program: they are in the context but are no requests."""
        for step in steps:
            step_id = self._next_step_id()
            parts = (*parts_of(step.get("message")), *outputs_of(step))
            self._context.append(((step_id,), _content_hash(step)))
            yield MessageRead(step_id, "user", parts, by_program=True)

    def _compaction_values(
        self, step: JsonValue, later_steps: list[JsonValue]
    ) -> Generator[Recorded, None, list[JsonValue]]:
        """Yield a compaction, whose summary is the step's observation or else the next user message."""
        summary = text_of_parts(outputs_of(step), "")
        if not summary and later_steps and later_steps[0].get("source") == "user":
            summary, later_steps = joined_text(later_steps[0].get("message")), later_steps[1:]
        copied_steps, later_steps = _split_copied(later_steps)
        kept_count = _equal_count(reversed(copied_steps), reversed(self._context))
        management, metrics = (step.at("extra", key) for key in ("context_management", "metrics"))
        step_id = self._next_step_id()
        tail = self._context[len(self._context) - kept_count :]
        tail_ids = (message_id for ids, _ in tail for message_id in ids)
        yield CompactionRead(
            step_id,
            summary,
            keeps_from=next(tail_ids, None),
            created=step.milliseconds("timestamp", round_number=round),
            is_automatic=management.get("auto") is not False,
            tokens_before=management.integer("tokens_before"),
            tokens_after=management.integer("tokens_after"),
            usage=usage_of_metrics(metrics),
            model=full_model_name(step.get("extra", "model_name")),
        )
        self._context = [((step_id,), b""), *tail]
        yield from self._messages_of_copies(copied_steps[: len(copied_steps) - kept_count])
        return later_steps

    def _changes_in_copy(self, copied_steps: list[JsonValue]) -> Iterator[Recorded]:
        """Yield how the copied steps of a continuation differ from the context before it."""
        same_count = _equal_count(copied_steps, self._context)
        kept_count = _equal_count(
            reversed(copied_steps[same_count:]), reversed(self._context[same_count:])
        )
        end = len(self._context) - kept_count
        replaced_ids = tuple(step_id for ids, _ in self._context[same_count:end] for step_id in ids)
        new_steps = copied_steps[same_count : len(copied_steps) - kept_count]
        if new_steps:
            step_id = self._next_step_id()
            texts = [joined_text(step.get("message")) for step in new_steps]
            summary = "\n\n".join(text for text in texts if text)
            yield CompactionRead(step_id, summary, replaced_messages=replaced_ids)
            self._context[same_count:end] = [((step_id,), b"")]
        elif replaced_ids:
            yield RemovedRead(replaced_ids)
            del self._context[same_count:end]

    def _reductions(self, management: JsonValue) -> Iterator[Recorded]:
        """Yield the output reductions that Palimpsest's export records; for other programs, a gap."""
        outputs = management.objects("outputs")
        for output in outputs:
            call_id = self._steps.call_ids.newest_call_id(output.text("tool_call_id"))
            if call_id is not None:
                yield ReducedRead(
                    call_id,
                    output.text("shown"),
                    output.text("rule"),
                    restored=output.get("restored") is True,
                )
        if not outputs:
            yield GapRead(PRUNED_SENTENCE)


def totals_of(value: JsonValue) -> RecordedTotals:
    """Return the totals in a trajectory's ``final_metrics``."""
    metrics = value.at("final_metrics")
    return RecordedTotals(
        cost=metrics.cost("total_cost_usd"),
        # Sums are 0 where steps have no metrics.
        input=metrics.token_field("total_prompt_tokens") or None,
        cached=metrics.token_field("total_cached_tokens") or None,
        output=metrics.token_field("total_completion_tokens") or None,
    )


def _total_of_both(first: RecordedTotals, second: RecordedTotals) -> RecordedTotals:
    """Return the totals of a trajectory and its continuation; a total that either lacks is unknown."""
    pairs: Iterator[tuple[Any, Any]] = zip(first, second, strict=True)
    return RecordedTotals(*(None if None in pair else sum(pair) for pair in pairs))


def _split_copied(steps: list[JsonValue]) -> tuple[list[JsonValue], list[JsonValue]]:
    """Return the copied steps at the beginning, and the others."""
    copied_steps = list(takewhile(lambda step: step.get("is_copied_context") is True, steps))
    return copied_steps, steps[len(copied_steps) :]


def _equal_count(steps: Iterable[JsonValue], context: Iterable[ContextStep]) -> int:
    """Return how many steps, from the first one on, equal those in the context."""
    pairs = zip(steps, context, strict=False)
    are_equal = (_content_hash(step) == content_hash for step, (_, content_hash) in pairs)
    return sum(1 for _ in takewhile(bool, are_equal))


def _content_hash(step: JsonValue) -> bytes:
    """Return the hash of a step's content, by which a copy of it is recognised."""
    fields = [step.get(name) for name in ("source", "message", "tool_calls", "observation")]
    return fingerprint(json.dumps(fields))

"""Read Harbor's Agent Trajectory Interchange Format (ATIF), versions 1.0 to 1.7.

A trajectory may continue in files beside it, and may have subagents, inside it or beside it. Steps that are copied from
before a cut are in the context again and were counted before: they show the messages that a compaction kept, or those
that replaced them.
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
COPIED_FROM_ELSEWHERE = "These steps were copied from a trajectory that is not in the recording."
Child = tuple[Trajectory, str | None, str | None]
"""A subagent's trajectory, the session that started it, and the call of that session which did."""
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
        """Yield the trajectory as a session, then each subagent's trajectory as a child session."""
        value = json_document(path)
        if not is_trajectory(value):
            raise UserError(f"{str(path)!r} is no trajectory in ATIF.")
        files = TrajectoryFiles(path, report)
        used_ids: set[str] = set()
        waiting_sessions: list[Child] = [(Trajectory(value, path, path.name), None, None)]
        while waiting_sessions:
            trajectory, parent, call = waiting_sessions.pop(0)
            reader = _SessionReader(trajectory, files, report, used_ids)
            yield from reader.read(parent, call)
            waiting_sessions += reader.children()


class _SessionReader:
    """Reads one trajectory with its continuations."""

    def __init__(
        self, first: Trajectory, files: TrajectoryFiles, report: Report, used_ids: set[str]
    ) -> None:
        self._first = first
        self._files = files
        self._report = report
        self._steps = StepReader()
        self._delegations: list[tuple[JsonValue, str | None]] = []
        """The references to subagents' trajectories, each with the call that started the subagent."""
        self._embedded: dict[str, Trajectory] = {}
        self._context: list[ContextStep] = []
        """The steps in the context."""
        self._count = 0
        self._name = self._free_name(used_ids)

    def _free_name(self, used_ids: set[str]) -> str:
        value = self._first.value
        recorded_id = value.text("session_id") or value.text("trajectory_id")
        base_id = recorded_id or recorded_name(self._first.path.stem)
        if base_id in used_ids:
            base_id = value.text("trajectory_id") or base_id
        name, number = base_id, 1
        while name in used_ids:
            number += 1
            name = f"{base_id}/{number}"
        used_ids.add(name)
        return name

    def read(self, parent: str | None, call: str | None) -> Iterator[Recorded]:
        """Yield the session."""
        value = self._first.value
        agent = value.at("agent")
        steps = value.objects("steps")
        system = self._system(steps)
        times = (step.milliseconds("timestamp", round_number=round) for step in steps)
        yield SessionBegin(
            id=self._name,
            format=AtifImporter.name,
            format_version=value.text("schema_version"),
            title=value.text("extra", "title"),
            created=next(filter(None, times), None),
            model=full_model_name(agent.get("model_name")),
            window=agent.integer("extra", "context_window"),
            system=system,
            tools=agent.tool_specs("tool_definitions"),
            parent=parent,
            parent_call=call,
        )
        totals = NO_TOTALS
        for number, document in enumerate(self._files.chain(self._first)):
            document_totals = totals_of(document.value)
            totals = _total_of_both(totals, document_totals) if number else document_totals
            self._embedded |= embedded_trajectories(document, self._report)
            yield from self._document(document, is_first=number == 0, has_system=system is not None)
        if totals != NO_TOTALS:
            yield TotalsRead(totals)

    def children(self) -> list[Child]:
        """Return the subagents' trajectories, each with this session and the call that started it."""
        subagents: list[Child] = []
        for reference, call in self._delegations:
            name, path = reference.text("trajectory_id"), reference.text("trajectory_path")
            child = self._embedded.pop(name, None)
            if child is None and path:
                child = self._files.file_beside(path, self._first.place)
            elif child is None:
                self._report(self._first.place, f"The subagent {name!r:.80} is not in it.")
            if child is not None:
                subagents.append((child, self._name, call))
        return subagents + [(file, self._name, None) for file in self._embedded.values()]

    def _system(self, steps: list[JsonValue]) -> str | None:
        first = steps[0] if steps else NO_VALUE
        if first.get("source") != "system" or first.at("extra", "context_management"):
            return None
        return joined_text(first.get("message"))

    def _document(
        self, document: Trajectory, *, is_first: bool, has_system: bool
    ) -> Iterator[Recorded]:
        steps = self._steps_of(document)
        if has_system and steps and steps[0].get("source") == "system":
            steps = steps[1:]
        copied_steps, steps = _split_copied(steps)
        if copied_steps and is_first:
            yield GapRead(COPIED_FROM_ELSEWHERE)
            yield from self._shown_again(copied_steps)
        elif copied_steps:
            yield from self._changes_in_copy(copied_steps)
        while steps:
            step, steps = steps[0], steps[1:]
            steps = yield from self._step(step, steps)
            self._delegations += self._steps.subagents(step)

    def _steps_of(self, document: Trajectory) -> list[JsonValue]:
        checked: list[JsonValue] = []
        for number, step in enumerate(map(JsonValue, document.value.list_at("steps")), 1):
            if step.get("source") in STEP_SOURCES:
                checked.append(step)
            else:
                self._report(f"{document.place}, step {number}", "It is no step and was left out.")
        return checked

    def _step(
        self, step: JsonValue, later_steps: list[JsonValue]
    ) -> Generator[Recorded, None, list[JsonValue]]:
        """Yield a step's values, and return the later steps that are still to be read."""
        management = step.at("extra", "context_management")
        boundary = management.get("boundary") if step.get("source") == "system" else None
        if boundary == "replace":
            return (yield from self._compaction(step, later_steps))
        if boundary == "truncate":
            yield from self._reductions(management)
        elif step.get("is_copied_context") is True:
            yield from self._shown_again([step])
        else:
            name = self._next_name()
            entries = list(self._steps.message(step, name))
            ids = tuple(message.id for message in entries if isinstance(message, MessageRead))
            self._context.append((ids, _content_hash(step)))
            yield from entries
        return later_steps

    def _next_name(self) -> str:
        self._count += 1
        return f"step-{self._count}"

    def _shown_again(self, steps: list[JsonValue]) -> Iterator[Recorded]:
        """Yield copied steps as messages of the program: they are in the context but are no requests."""
        for step in steps:
            name = self._next_name()
            parts = (*parts_of(step.get("message")), *outputs_of(step))
            self._context.append(((name,), _content_hash(step)))
            yield MessageRead(name, "user", parts, by_program=True)

    def _compaction(
        self, step: JsonValue, later_steps: list[JsonValue]
    ) -> Generator[Recorded, None, list[JsonValue]]:
        """Yield a compaction, whose summary is the step's observation or else the next user message."""
        summary = text_of_parts(outputs_of(step), "")
        if not summary and later_steps and later_steps[0].get("source") == "user":
            summary, later_steps = joined_text(later_steps[0].get("message")), later_steps[1:]
        copied_steps, later_steps = _split_copied(later_steps)
        kept_count = _equal_count(reversed(copied_steps), reversed(self._context))
        management, metrics = (step.at("extra", key) for key in ("context_management", "metrics"))
        name = self._next_name()
        tail = self._context[len(self._context) - kept_count :]
        yield CompactionRead(
            name,
            summary,
            keeps_from=tail[0][0][0] if tail else None,
            created=step.milliseconds("timestamp", round_number=round),
            is_automatic=management.get("auto") is not False,
            tokens_before=management.integer("tokens_before"),
            tokens_after=management.integer("tokens_after"),
            usage=usage_of_metrics(metrics),
            model=full_model_name(step.get("extra", "model_name")),
        )
        self._context = [((name,), b""), *tail]
        yield from self._shown_again(copied_steps[: len(copied_steps) - kept_count])
        return later_steps

    def _changes_in_copy(self, copied_steps: list[JsonValue]) -> Iterator[Recorded]:
        """Yield how the copied steps of a continuation differ from the context before it."""
        same_count = _equal_count(copied_steps, self._context)
        kept_count = _equal_count(
            reversed(copied_steps[same_count:]), reversed(self._context[same_count:])
        )
        end = len(self._context) - kept_count
        replaced_names = tuple(entry for ids, _ in self._context[same_count:end] for entry in ids)
        new_steps = copied_steps[same_count : len(copied_steps) - kept_count]
        if new_steps:
            name = self._next_name()
            texts = [joined_text(step.get("message")) for step in new_steps]
            summary = "\n\n".join(text for text in texts if text)
            yield CompactionRead(name, summary, replaced_messages=replaced_names)
            self._context[same_count:end] = [((name,), b"")]
        elif replaced_names:
            yield RemovedRead(replaced_names)
            del self._context[same_count:end]

    def _reductions(self, management: JsonValue) -> Iterator[Recorded]:
        """Yield the output reductions that Palimpsest's export records; for other programs, a gap."""
        outputs = management.objects("outputs")
        for output in outputs:
            call = self._steps.names.newest_call(output.text("tool_call_id"))
            if call is not None:
                yield ReducedRead(
                    call,
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

"""Recognise rollouts of Codex, and read a rollout with those of its subagents, which are separate files."""

from collections.abc import Iterator
from pathlib import Path

from palimpsest.recordings.format_parts.codex_items import FORMAT
from palimpsest.recordings.format_parts.codex_rollout import CodexRollout
from palimpsest.recordings.format_parts.codex_threads import NamedThreads
from palimpsest.recordings.format_parts.codex_tree import RolloutTree
from palimpsest.recordings.printed_streams.codex_exec import is_printed_by_codex, printed_threads
from palimpsest.recordings.reading.importer import Head, Report
from palimpsest.recordings.reading.recorded import Recorded
from palimpsest.recordings.reading.sources import first_object, head_of, report_beside

RECORD_TYPES = frozenset(
    {"session_meta", "response_item", "event_msg", "turn_context", "compacted"}
)
"""Types of records with a payload, of any version."""
MAX_SUBAGENTS = 200
"""Maximum subagents that are read for one recording, including subagents of subagents."""
MAX_LEVELS = 8
"""Maximum levels of subagents that are read."""


class CodexImporter:
    """Reads rollouts of Codex."""

    name = FORMAT
    title = "Codex"
    tried_on = "real sessions"

    def recognises(self, head: Head) -> bool:
        """Return whether a file begins like a rollout of any version, also without its header, or was printed by Codex."""
        line = head.start.split(b"\n", 1)[0]
        if b'"session_meta"' in line and b'"payload"' in line:
            return True
        first_record = first_object(head)
        if "payload" in first_record and first_record.text("type") in RECORD_TYPES:
            return True
        is_oldest = {"id", "timestamp", "instructions"} <= first_record.fields().keys()
        return ("type" not in first_record and is_oldest) or is_printed_by_codex(head)

    def read_alone(self, path: Path, report: Report) -> Iterator[Recorded]:
        """Yield the session of a rollout, or the printed sessions."""
        if is_printed_by_codex(head_of(path)):
            yield from printed_threads(path, report)
        else:
            yield from CodexRollout(path, report).read()

    def read(self, path: Path, report: Report) -> Iterator[Recorded]:
        """Yield the session of a rollout, then its subagents at all levels."""
        if is_printed_by_codex(head_of(path)):
            yield from printed_threads(path, report)
            return
        first = CodexRollout(path, report)
        yield from first.read()
        if first.threads.possible_subagents or first.threads.has_review:
            yield from _subagents(path, first.threads, report)


def _subagents(path: Path, threads: NamedThreads, report: Report) -> Iterator[Recorded]:
    """Yield the sessions that a thread started, level by level; an unreadable session is skipped."""
    tree, seen_ids = RolloutTree(path), {threads.own_thread_id}
    waiting_rollouts = [(threads, report, 1)]
    while waiting_rollouts:
        parent, parent_report, level = waiting_rollouts.pop(0)
        if level > MAX_LEVELS:
            too_deep_sentence = (
                f"Its subagents are deeper than {MAX_LEVELS} levels and were left out."
            )
            parent_report("", too_deep_sentence)
            continue
        for thread_id, file in tree.subagents(parent, parent_report):
            if thread_id in seen_ids:
                continue
            if len(seen_ids) > MAX_SUBAGENTS:
                report("", f"Only the first {MAX_SUBAGENTS} of its subagents were read.")
                return
            seen_ids.add(thread_id)
            subagent_report = report_beside(report, file.name)
            subagent = CodexRollout(file, subagent_report)
            try:
                yield from subagent.read()
            except OSError:
                subagent_report("", "It cannot be read.")
            waiting_rollouts.append((subagent.threads, subagent_report, level + 1))

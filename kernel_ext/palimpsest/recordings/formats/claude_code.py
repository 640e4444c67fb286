"""Read sessions of Claude Code: one record a line, a tree by uuid; subagents are in the same file or beside it.

The newest record's path is the session. Where the user went back, other branches remain, which become separate sessions.
Records with the same message id form one answer, whose usage is in the last record. System prompt and tools are not
recorded.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain
from pathlib import Path
from types import MappingProxyType

from palimpsest.recordings.format_parts.claude_code_blocks import (
    FORMAT,
    PROGRAM_TEXT,
    UnfinishedAnswers,
    answer_of,
    compaction_of,
    model_of,
    result_blocks,
    result_of,
)
from palimpsest.recordings.format_parts.claude_code_index import (
    ClaudeIndex,
    ClaudeNode,
    ClaudePath,
    paths_of,
)
from palimpsest.recordings.message_formats.content_blocks import texts_and_media
from palimpsest.recordings.printed_streams.claude_code_stream import (
    is_printed_by_claude,
    printed_sessions,
)
from palimpsest.recordings.reading.importer import Head, Report
from palimpsest.recordings.reading.json_fields import JsonValue
from palimpsest.recordings.reading.recorded import (
    REQUESTS_NOT_RECORDED,
    CompactionRead,
    GapRead,
    MessageRead,
    Recorded,
    ReducedRead,
    SessionBegin,
    Text,
    TitleRead,
    text_of_parts,
)
from palimpsest.recordings.reading.shared_beginnings import (
    SessionBeginning,
    first_records,
    modified_ns,
    shared_beginning,
)
from palimpsest.recordings.reading.sources import discard_report, head_of, json_lines, report_beside
from palimpsest.store.session_notes import NOTES_ENDING
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.strings.relative_paths import recorded_name

MAX_SESSIONS = 200
"""Maximum branches and subagents that are read for one recording; each requires another pass over its file."""
CLEARED_TEXT = "[Old tool result content cleared]"
SUMMARY_WRITER_FILES = "agent-acompact-*.jsonl"
"""Name pattern of the files with requests that wrote summaries."""
WORKFLOW_FOLDER = "workflows"
"""Name of the folder of the tool Workflow's runs, each in a folder of its own, below that of the subagents."""
_AGENT_FILE = re.compile(r"agent-.*\.jsonl")
_QUEUE_OPERATION = re.compile(rb'\{\s*"type"\s*:\s*"queue-operation"')


class ClaudeCodeImporter:
    """Reads sessions of Claude Code."""

    name = FORMAT
    title = "Claude Code"
    tried_on = "real sessions"

    def recognises(self, head: Head) -> bool:
        """Return whether the records name their parents and their session; a long queue operation may come first."""
        start = head.start
        if is_printed_by_claude(head):
            return True
        has_parent_names = b'"parentUuid":' in start or _QUEUE_OPERATION.match(start) is not None
        return start[:1] == b"{" and has_parent_names and b'"sessionId":' in start

    def files_beside(self, path: Path) -> Iterator[str]:
        """Yield the names of the files beside a session that hold its subagents, as Claude Code 2.0 wrote them."""
        if not is_printed_by_claude(head_of(path)):
            yield from (file.name for file in _agent_files_beside(path, _session_id_of(path)))

    def read(self, path: Path, report: Report) -> Iterator[Recorded]:
        """Yield the session, its other branches, then its subagents."""
        if is_printed_by_claude(head_of(path)):
            yield from printed_sessions(path, report)
            return
        index = _index_of(path, report)
        session_id = _session_id_of(path)
        if not index.threads:
            raise UserError(f"{path.name!r} holds no message of Claude Code.")
        has_main_session = "" in index.threads
        if has_main_session:
            summary_writers = _summary_writers(path, session_id, index)
            begin = SessionBegin(session_id, FORMAT)
            if shared_part := shared_beginning(path, self, index.main_message_ids()):
                begin = replace(
                    begin,
                    branch_of=shared_part.session,
                    branch_at=shared_part.messages[-1],
                    copied_messages=frozenset(shared_part.messages),
                )
            yield from _thread_values(path, index, "", begin, report, summary_writers)
        parent_id = session_id if has_main_session else None
        files = _subagents(path, session_id, report) if has_main_session else ()
        for file, file_index, file_report in chain(((path, index, report),), files):
            for thread_id, thread in file_index.threads.items():
                agent_id = thread.agent_id or thread_id
                if file_index is not index or thread_id:
                    begin = SessionBegin(
                        f"{session_id}/{agent_id}" if has_main_session else f"agent-{agent_id}",
                        FORMAT,
                        parent=parent_id,
                        parent_call=index.call_by_agent.get(agent_id)
                        or index.call_by_run.get(file.parent.name)
                        or index.call_by_prompt.get(thread.prompt_beginning),
                    )
                    yield from _thread_values(file, file_index, thread_id, begin, file_report)

    def session_beginning(self, path: Path) -> SessionBeginning:
        """Return a session's id, and the first answer's id, time and usage."""
        session_id = ""
        for record in first_records(path):
            session_id = session_id or record.text("sessionId")
            if record.get("type") == "assistant":
                message = record.at("message")
                facts = message.get("id"), record.get("timestamp"), message.get("usage")
                return SessionBeginning(session_id, repr(facts))
        return SessionBeginning(session_id, "")

    def message_ids(self, path: Path) -> Collection[str]:
        """Return the ids of the messages of a file's main session."""
        return _index_of(path, discard_report).main_message_ids()


def _summary_writers(path: Path, session_id: str, index: ClaudeIndex) -> dict[str, str]:
    """Return the ids of the sessions that wrote summaries, by the main session's last record before each."""
    writer_ids: dict[str, str] = {}
    for file in sorted(_subagent_folder(path).glob(SUMMARY_WRITER_FILES))[:MAX_SESSIONS]:
        if file.is_symlink() or not file.is_file():
            continue
        agent_id, uuid_before_request = "", ""
        for _, record in json_lines(file, discard_report):
            agent_id = agent_id or record.text("agentId")
            parent_uuid = record.text("parentUuid")
            if parent_uuid and index.message_id_of_record(parent_uuid):
                uuid_before_request = parent_uuid
        if agent_id and uuid_before_request:
            writer_ids[uuid_before_request] = f"{session_id}/{agent_id}"
    return writer_ids


def _subagent_folder(path: Path) -> Path:
    """Return the folder of a session's subagents; where it is a link, a path that does not exist."""
    folder = path.with_suffix("") / "subagents"
    return folder if not folder.is_symlink() else path / "none"


def _subagents(
    path: Path, session_id: str, report: Report
) -> Iterator[tuple[Path, ClaudeIndex, Report]]:
    """Yield the files of a session's subagents, with their index and reports: in the folder of its name, or beside it."""
    folder = _subagent_folder(path)
    files = _agent_files(folder)
    files += [
        file
        for run in sorted(folder.glob(f"{WORKFLOW_FOLDER}/*"))
        if not run.is_symlink() and not run.parent.is_symlink()
        for file in _agent_files(run)
    ]
    files += _agent_files_beside(path, session_id)
    if len(files) > MAX_SESSIONS:
        report("", f"Only the first {MAX_SESSIONS} of its subagents were read.")
    for file in files[:MAX_SESSIONS]:
        if file.is_file() and not file.is_symlink():
            file_report = report_beside(report, file.name)
            yield file, _index_of(file, file_report), file_report


def _agent_files(folder: Path) -> list[Path]:
    """Return the files of subagents in a folder, without people's notes on them."""
    files = sorted(folder.glob("agent-*.jsonl"))
    return [file for file in files if not file.name.endswith(NOTES_ENDING)]


def _agent_files_beside(path: Path, session_id: str) -> list[Path]:
    """Return the files in a session's folder that hold its subagents; none for a subagent's own file."""
    if _AGENT_FILE.fullmatch(path.name):
        return []
    folder = path.parent
    agents = _agent_sessions(folder, modified_ns(folder))
    return [folder / name for name, session_of_agent in agents if session_of_agent == session_id]


@lru_cache(maxsize=4)
def _agent_sessions(folder: Path, _modified_ns: int) -> tuple[tuple[str, str], ...]:
    """Return the names of subagents' files in a folder with the id of each one's session.

    A new ``_modified_ns`` reads the folder again.
    """
    files = [file for file in _agent_files(folder) if not file.is_symlink()]
    return tuple((file.name, _session_id_of(file)) for file in files if file.is_file())


def _index_of(path: Path, report: Report) -> ClaudeIndex:
    index = ClaudeIndex()
    for number, record in json_lines(path, report):
        index.add(number, record)
    return index


def _session_id_of(path: Path) -> str:
    for _, record in json_lines(path, discard_report):
        if isinstance(record.get("sessionId"), str):
            return str(record.get("sessionId"))
    return recorded_name(path.stem)


def _thread_values(
    path: Path,
    index: ClaudeIndex,
    thread_id: str,
    begin: SessionBegin,
    report: Report,
    summary_writers: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[Recorded]:
    """Yield the values of a thread's newest path, then those of its other branches."""
    for number, branch_path in enumerate(paths_of(index.threads[thread_id])):
        if number > MAX_SESSIONS:
            report("", f"Only the newest {MAX_SESSIONS} of its branches were read.")
            return
        yield from _PathReader(path, index, thread_id, branch_path, begin, summary_writers).read()


@dataclass(slots=True)
class _PathReader:
    """Reads the records of one path in their order."""

    _path: Path
    _index: ClaudeIndex
    _thread_id: str
    _branch_path: ClaudePath
    _session_begin: SessionBegin
    _summary_writer_ids: Mapping[str, str]
    """Ids of the sessions that wrote summaries, by the record after which each summary was requested."""
    _model: str = ""
    _effort: str | None = None
    _compaction: CompactionRead | None = None
    _answers: UnfinishedAnswers = field(init=False)

    def __post_init__(self) -> None:
        self._answers = UnfinishedAnswers(self._answer)

    @property
    def _nodes(self) -> Mapping[str, ClaudeNode]:
        return self._index.threads[self._thread_id].nodes

    def read(self) -> Iterator[Recorded]:
        has_begun = False
        for number, record in json_lines(self._path, discard_report):
            thread_id, node_id = self._index.ids_by_line.get(number, ("", ""))
            is_on_path = (
                node_id and thread_id == self._thread_id and node_id in self._branch_path.node_ids
            )
            if not is_on_path:
                title = record.text("aiTitle") or record.text("customTitle")
                is_title = title and record.get("type") in ("ai-title", "custom-title")
                if is_title and has_begun and not self._thread_id:
                    yield from self._answers.in_order(TitleRead(title))
                continue
            if not has_begun:
                has_begun = True
                yield self._path_begin(record)
                yield GapRead(REQUESTS_NOT_RECORDED)
            if number in self._index.gap_lines:
                yield from self._answers.in_order(GapRead("Records before this one are missing."))
            yield from self._read_record(record, node_id, number)
        yield from self._answers.finish()
        if self._compaction is not None:
            yield self._compaction

    def _path_begin(self, record: JsonValue) -> SessionBegin:
        begin, branch_path = self._session_begin, self._branch_path
        if branch_path.first_own_id is not None:
            begin = SessionBegin(
                f"{begin.id}/{branch_path.first_own_id}",
                FORMAT,
                branch_of=begin.id,
                branch_at=branch_path.branches_at,
                copied_messages=branch_path.copied_messages,
            )
        return replace(
            begin,
            format_version=record.text("version"),
            directory=record.text("cwd"),
            created=record.time_ms("timestamp"),
        )

    def _read_record(self, record: JsonValue, node_id: str, number: int) -> Iterator[Recorded]:
        match record.get("type"):
            case "assistant":
                self._answers.add(node_id, record)
            case "user":
                yield from self._answers.in_order(*self._read_user_record(record, node_id))
            case "system":
                yield from self._answers.in_order(*self._read_system_record(record, node_id))
            case "attachment":
                attached = record.at("attachment")
                attachment_type = attached.text("type") or "attachment"
                sentence = f"The text of {attachment_type!r}, which the program added, is not in the recording."
                yield from self._answers.in_order(GapRead(sentence, message=node_id))
            case _:
                pass
        if node_id in self._answers and number >= self._nodes[node_id].last_record:
            yield from self._answers.complete(node_id)

    # Answers

    def _answer(self, node_id: str, records: list[JsonValue]) -> MessageRead:
        self._model = model_of(records[-1].at("message")) or self._model
        return replace(answer_of(node_id, records, self._model), effort=self._effort)

    # User messages, and those that the program wrote

    def _read_user_record(self, record: JsonValue, node_id: str) -> Iterator[Recorded]:
        message = record.at("message")
        content = message.get("content")
        if record.get("isCompactSummary") is True and self._compaction is not None:
            yield replace(self._compaction, summary=text_of_parts(texts_and_media(content)))
            self._compaction = None
            return
        thinking = record.at("thinkingMetadata")
        if thinking:
            is_disabled = thinking.get("disabled") is True
            self._effort = "none" if is_disabled else thinking.text("level") or self._effort
        results = result_blocks(message)
        facts = record.small_facts("toolUseResult") if len(results) == 1 else {}
        for block in results:
            yield from result_of(block, record.time_ms("timestamp"), facts)
        parts = texts_and_media(content)
        if not parts and results:
            return
        if node_id not in self._branch_path.node_ids or self._nodes[node_id].kind != "user":
            node_id = record.text("uuid")  # text beside results
        first_text = next((part.text for part in parts if isinstance(part, Text)), "")
        yield MessageRead(
            id=node_id,
            role="user",
            parts=parts,
            created=record.time_ms("timestamp"),
            model=self._model,
            effort=self._effort,
            by_program=record.get("isMeta") is True
            or record.get("isCompactSummary") is True
            or bool(results)
            or first_text.lstrip().startswith(PROGRAM_TEXT),
        )

    def _read_system_record(self, record: JsonValue, node_id: str) -> Iterator[Recorded]:
        match record.get("subtype"):
            case "compact_boundary":
                if self._compaction is not None:
                    yield self._compaction
                first_kept_uuid = record.text("compactMetadata", "preservedSegment", "headUuid")
                writer_id = self._summary_writer_ids.get(record.text("logicalParentUuid"))
                self._compaction = compaction_of(
                    record, node_id, self._index.message_id_of_record(first_kept_uuid), writer_id
                )
            case "microcompact_boundary":
                for call_id in record.list_at("microcompactMetadata", "compactedToolIds"):
                    if isinstance(call_id, str):
                        yield ReducedRead(call_id, CLEARED_TEXT, rule="microcompact")
            case _:
                pass  # for the screen only

"""Index a Claude Code file: the records that form each message, and the message that each message follows.

Records form a tree by uuid and parentUuid, but a second child is not always another branch: the results of
parallel calls are children of the records of one answer, and reminders are children of both. So records are joined
first.
Only ids are stored, no content.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from palimpsest.recordings.format_parts.claude_code_blocks import result_blocks
from palimpsest.recordings.reading.json_fields import JsonValue

BOUNDARY_SUBTYPE = "compact_boundary"
CONTENT_TYPES = frozenset({"assistant", "user", "system", "attachment"})
MAX_PROMPT_CHARS = 400
"""Maximum characters of a prompt by which a subagent of an older version is matched to its call."""


@dataclass(slots=True)
class ClaudeNode:
    """One message: the records of one answer, one message of the user, or a compaction."""

    message_id: str
    kind: str
    """``user``, ``assistant`` or ``compaction``."""
    parent_id: str | None
    """Id of the message before it."""
    last_record: int
    """Line of the newest record of the message's own kind: tool results do not count for an answer."""


@dataclass(slots=True)
class ClaudeThread:
    """The messages of a session, or of one subagent in the same file."""

    nodes: dict[str, ClaudeNode] = field(default_factory=dict)
    newest_message_id: str | None = None
    """Id of the message to which the file's newest record belongs."""
    prompt_beginning: str = ""
    """The beginning of the first prompt, by which a subagent's call is found in older versions."""
    agent_id: str = ""
    """The subagent's id; empty for the main session."""


class ClaudeIndex:
    """The threads of one file: the message of each record, and the call that started each subagent."""

    def __init__(self) -> None:
        self.threads: dict[str, ClaudeThread] = {}
        """The main session's thread by an empty id, and those of subagents in the same file by theirs."""
        self.ids_by_line: dict[int, tuple[str, str]] = {}
        """The ids of thread and message of each record with content, by the record's line."""
        self.gap_lines: set[int] = set()
        """Lines before which records are missing."""
        self.call_by_agent: dict[str, str] = {}
        """The id of the call that started each subagent, by the subagent's id."""
        self.call_by_run: dict[str, str] = {}
        """The id of the call that started each run of the tool Workflow, by the run's id, the name of its folder."""
        self.call_by_prompt: dict[str, str] = {}
        """The id of the call that gave each task, by the beginning of the task's prompt."""
        self._ids_by_uuid: dict[str, tuple[str, str]] = {}
        """The ids of thread and message of every record, by its uuid."""
        self._message_by_call: dict[str, str] = {}
        """The id of each call's message, by the call's id."""

    def add(self, number: int, record: JsonValue) -> None:
        """Add the record in line ``number``."""
        uuid = record.text("uuid")
        record_type = record.text("type")
        if not uuid or uuid in self._ids_by_uuid:
            return
        thread_id, thread, parent_id = self._thread_of(record, uuid, number)
        message = record.at("message")
        message_id = parent_id
        if record_type == "assistant":
            message_id = message.text("id") or uuid
            thread.nodes.setdefault(
                message_id, ClaudeNode(message_id, record_type, parent_id, number)
            )
            self._add_calls(message_id, message)
        elif record_type == "user":
            message_id = self._add_user_record(thread, record, uuid, parent_id, number)
        elif record_type == "system" and record.get("subtype") == BOUNDARY_SUBTYPE:
            message_id = uuid
            thread.nodes.setdefault(
                message_id, ClaudeNode(message_id, "compaction", parent_id, number)
            )
        elif record_type == "progress":
            self._add_agent_call(record.get("data", "agentId"), record)
        self._ids_by_uuid[uuid] = thread_id, message_id or ""
        if message_id and message_id in thread.nodes:
            thread.newest_message_id = message_id
            if record_type in CONTENT_TYPES:
                self.ids_by_line[number] = thread_id, message_id
            if record_type == thread.nodes[message_id].kind:
                thread.nodes[message_id].last_record = number

    def message_id_of_record(self, uuid: str) -> str:
        """Return the id of a record's message; empty where there is none."""
        return self._ids_by_uuid.get(uuid, ("", ""))[1]

    def main_message_ids(self) -> list[str]:
        """Return the ids of the messages on the newest path of the main session, in order."""
        thread = self.threads.get("")
        return (
            _path_to(thread, thread.newest_message_id)
            if thread and thread.newest_message_id
            else []
        )

    def _thread_of(
        self, record: JsonValue, uuid: str, number: int
    ) -> tuple[str, ClaudeThread, str | None]:
        """Return the id and thread of a record, and the id of the message before it; note a gap before the record."""
        parent_uuid = record.get("parentUuid") or record.get("logicalParentUuid")
        is_sidechain = record.get("isSidechain") is True
        agent_id = record.text("agentId")
        anchor = self._ids_by_uuid.get(parent_uuid) if isinstance(parent_uuid, str) else None
        if anchor is not None and bool(anchor[0]) is is_sidechain:
            return anchor[0], self.threads[anchor[0]], anchor[1] or None
        thread_id = (agent_id or uuid) if is_sidechain else ""
        thread = self.threads.get(thread_id)
        if thread is None:
            thread = self.threads[thread_id] = ClaudeThread(agent_id=agent_id)
        elif parent_uuid is not None:
            self.gap_lines.add(number)
        # The parent is missing, so the record follows the newest message before it.
        return thread_id, thread, thread.newest_message_id if parent_uuid is not None else None

    def _add_user_record(
        self, thread: ClaudeThread, record: JsonValue, uuid: str, parent_id: str | None, number: int
    ) -> str | None:
        message = record.at("message")
        call_ids = [block.text("tool_use_id") for block in result_blocks(message)]
        if call_ids:
            agent_id = record.get("toolUseResult", "agentId")
            if isinstance(agent_id, str):
                self.call_by_agent.setdefault(agent_id, call_ids[0])
            run_id = record.get("toolUseResult", "runId")
            if isinstance(run_id, str):
                self.call_by_run.setdefault(run_id, call_ids[0])
            return next(
                (
                    self._message_by_call[call_id]
                    for call_id in call_ids
                    if call_id in self._message_by_call
                ),
                parent_id,
            )
        if record.get("isCompactSummary") is True and parent_id is not None:
            node = thread.nodes.get(parent_id)
            if node is not None and node.kind == "compaction":
                return parent_id
        if not thread.nodes:
            thread.prompt_beginning = prompt_key(message.get("content"))
        thread.nodes.setdefault(uuid, ClaudeNode(uuid, "user", parent_id, number))
        return uuid

    def _add_calls(self, message_id: str, message: JsonValue) -> None:
        for block in message.objects("content"):
            if block.get("type") == "tool_use":
                call_id = block.text("id")
                self._message_by_call[call_id] = message_id
                prompt = block.get("input", "prompt")
                if isinstance(prompt, str):
                    self.call_by_prompt.setdefault(prompt_key(prompt), call_id)

    def _add_agent_call(self, agent_id: Any, record: JsonValue) -> None:
        call_id = record.get("parentToolUseID")
        if isinstance(agent_id, str) and isinstance(call_id, str):
            self.call_by_agent.setdefault(agent_id, call_id)


def prompt_key(content: Any) -> str:
    """Return a prompt's beginning, by which a subagent is matched to its call."""
    if isinstance(content, str):
        return content[:MAX_PROMPT_CHARS].strip()
    texts = (block.text("text") for block in JsonValue(content).objects())
    return next((text[:MAX_PROMPT_CHARS].strip() for text in texts if text), "")


@dataclass(frozen=True, slots=True)
class ClaudePath:
    """One path through a thread, from its first message to a leaf."""

    first_own_id: str | None
    """Id of the first message that is in no earlier path; None for the newest path."""
    node_ids: frozenset[str]
    """Ids of the path's messages."""
    branches_at: str | None
    """Id of the last message that the path shares with the path from which it branches."""
    copied_messages: frozenset[str] = frozenset()
    """Ids of the messages that earlier paths hold too."""


def paths_of(thread: ClaudeThread) -> Iterator[ClaudePath]:
    """Yield the path of the newest record, then the other paths with an answer, the newest first."""
    parent_ids = {node.parent_id for node in thread.nodes.values()}
    leaf_ids = [message_id for message_id in thread.nodes if message_id not in parent_ids]
    newest_id = thread.newest_message_id
    covered_ids: set[str] = set()
    if newest_id is not None:
        # Messages below the newest record's message are older than that record, and stay on its path.
        covered_ids.update(_path_to(thread, newest_id))
        yield ClaudePath(None, frozenset(covered_ids), None)
    for leaf_id in reversed(leaf_ids):
        path_ids = _path_to(thread, leaf_id)
        new_ids = [message_id for message_id in path_ids if message_id not in covered_ids]
        if not any(thread.nodes[message_id].kind == "assistant" for message_id in new_ids):
            continue
        branches_at = next((m for m in reversed(path_ids) if m in covered_ids), None)
        copied_messages = covered_ids.intersection(path_ids)
        covered_ids.update(new_ids)
        yield ClaudePath(new_ids[0], frozenset(path_ids), branches_at, frozenset(copied_messages))


def _path_to(thread: ClaudeThread, leaf_id: str) -> list[str]:
    path_ids: list[str] = []
    seen_ids: set[str] = set()
    message_id: str | None = leaf_id
    while message_id is not None and message_id not in seen_ids and message_id in thread.nodes:
        seen_ids.add(message_id)
        path_ids.append(message_id)
        message_id = thread.nodes[message_id].parent_id
    return path_ids[::-1]

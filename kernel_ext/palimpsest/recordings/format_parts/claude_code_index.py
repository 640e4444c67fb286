"""Index a Claude Code file: the records that form each message, and the message that each message follows.

Records form a tree by uuid and parentUuid, but a second child is not always another branch: the results of
parallel calls are children of the records of one answer, and reminders of both. So records are joined first.
Only ids are stored, no content.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from palimpsest.recordings.format_parts.claude_code_blocks import result_blocks
from palimpsest.recordings.reading.json_fields import JsonValue

BOUNDARY_SUBTYPE = "compact_boundary"
CONTENT_TYPES = frozenset({"assistant", "user", "system", "attachment"})
PROMPT_CHARS = 400
"""Characters of a prompt by which a subagent of an older version is matched to its call."""


@dataclass(slots=True)
class ClaudeNode:
    """One message: the records of one answer, one message of the user, or a compaction."""

    name: str
    kind: str
    """``user``, ``assistant`` or ``compaction``."""
    parent: str | None
    last_record: int
    """Line of the newest record of the message's own kind: tool results do not count for an answer."""


@dataclass(slots=True)
class ClaudeThread:
    """The messages of a session, or of one subagent in the same file."""

    nodes: dict[str, ClaudeNode] = field(default_factory=dict)
    newest_message: str | None = None
    """The message to which the file's newest record belongs."""
    prompt: str = ""
    """The beginning of the first prompt, by which a subagent's call is found in older versions."""
    agent: str = ""


class ClaudeIndex:
    """The message of each record in one file, the branches, and the call that started each subagent."""

    def __init__(self) -> None:
        self.threads: dict[str, ClaudeThread] = {}
        self.lines: dict[int, tuple[str, str]] = {}
        """Thread and message of the records with content, by line."""
        self.gaps: set[int] = set()
        """Lines before which records are missing."""
        self.agent_calls: dict[str, str] = {}
        """The call that started each subagent, by the subagent's id."""
        self.workflow_calls: dict[str, str] = {}
        """The call that started each run of the tool Workflow, by the run's id, which its folder is named after."""
        self.prompts: dict[str, str] = {}
        """The call of each task, by the beginning of its prompt."""
        self._anchors: dict[str, tuple[str, str]] = {}
        """Thread and message of every record, by uuid."""
        self._calls: dict[str, str] = {}
        """Message of each call."""

    def add(self, number: int, record: JsonValue) -> None:
        """Add the next record."""
        name = record.text("uuid")
        kind = record.text("type")
        if not name or name in self._anchors:
            return
        thread_name, thread, parent = self._thread_of(record, name, number)
        message = record.at("message")
        node = parent
        if kind == "assistant":
            node = message.text("id") or name
            thread.nodes.setdefault(node, ClaudeNode(node, kind, parent, number))
            self._add_calls(node, message)
        elif kind == "user":
            node = self._user(thread, record, name, parent, number)
        elif kind == "system" and record.get("subtype") == BOUNDARY_SUBTYPE:
            node = name
            thread.nodes.setdefault(node, ClaudeNode(node, "compaction", parent, number))
        elif kind == "progress":
            self._add_agent_call(record.get("data", "agentId"), record)
        self._anchors[name] = thread_name, node or ""
        if node and node in thread.nodes:
            thread.newest_message = node
            if kind in CONTENT_TYPES:
                self.lines[number] = thread_name, node
            if kind == thread.nodes[node].kind:
                thread.nodes[node].last_record = number

    def node_of(self, uuid: str) -> str:
        """Return the message of a record; empty where there is none."""
        return self._anchors.get(uuid, ("", ""))[1]

    def main_messages(self) -> list[str]:
        """Return the ids of the messages on the newest path of the main session, in order."""
        thread = self.threads.get("")
        return _path(thread, thread.newest_message) if thread and thread.newest_message else []

    def _thread_of(
        self, record: JsonValue, name: str, number: int
    ) -> tuple[str, ClaudeThread, str | None]:
        """Return the thread of a record, and the message before it."""
        parent = record.get("parentUuid") or record.get("logicalParentUuid")
        is_sidechain = record.get("isSidechain") is True
        agent = record.text("agentId")
        anchor = self._anchors.get(parent) if isinstance(parent, str) else None
        if anchor is not None and bool(anchor[0]) is is_sidechain:
            return anchor[0], self.threads[anchor[0]], anchor[1] or None
        thread_name = (agent or name) if is_sidechain else ""
        thread = self.threads.get(thread_name)
        if thread is None:
            thread = self.threads[thread_name] = ClaudeThread(agent=agent)
        elif parent is not None:
            self.gaps.add(number)
        # The parent is missing, so the record follows the newest message before it.
        return thread_name, thread, thread.newest_message if parent is not None else None

    def _user(
        self, thread: ClaudeThread, record: JsonValue, name: str, parent: str | None, number: int
    ) -> str | None:
        message = record.at("message")
        calls = [block.text("tool_use_id") for block in result_blocks(message)]
        if calls:
            agent = record.get("toolUseResult", "agentId")
            if isinstance(agent, str):
                self.agent_calls.setdefault(agent, calls[0])
            run = record.get("toolUseResult", "runId")
            if isinstance(run, str):
                self.workflow_calls.setdefault(run, calls[0])
            return next((self._calls[call] for call in calls if call in self._calls), parent)
        if record.get("isCompactSummary") is True and parent is not None:
            node = thread.nodes.get(parent)
            if node is not None and node.kind == "compaction":
                return parent
        if not thread.nodes:
            thread.prompt = prompt_key(message.get("content"))
        thread.nodes.setdefault(name, ClaudeNode(name, "user", parent, number))
        return name

    def _add_calls(self, node: str, message: JsonValue) -> None:
        for block in message.objects("content"):
            if block.get("type") == "tool_use":
                call = block.text("id")
                self._calls[call] = node
                prompt = block.get("input", "prompt")
                if isinstance(prompt, str):
                    self.prompts.setdefault(prompt_key(prompt), call)

    def _add_agent_call(self, agent: Any, record: JsonValue) -> None:
        call = record.get("parentToolUseID")
        if isinstance(agent, str) and isinstance(call, str):
            self.agent_calls.setdefault(agent, call)


def prompt_key(content: Any) -> str:
    """Return the beginning of a prompt."""
    if isinstance(content, str):
        return content[:PROMPT_CHARS].strip()
    texts = (block.text("text") for block in JsonValue(content).objects())
    return next((text[:PROMPT_CHARS].strip() for text in texts if text), "")


@dataclass(frozen=True, slots=True)
class ClaudePath:
    """One path through a thread, from its first message to a leaf."""

    first_own_message: str | None
    """The first message that is in no earlier path; None for the newest path."""
    nodes: frozenset[str]
    branches_at: str | None
    """The last message that the path shares with the path from which it branches."""
    copied_messages: frozenset[str] = frozenset()
    """The messages that earlier paths hold too."""


def paths_of(thread: ClaudeThread) -> Iterator[ClaudePath]:
    """Yield the path of the newest record, then the other paths with an answer, the newest first."""
    parents = {node.parent for node in thread.nodes.values()}
    leaves = [name for name in thread.nodes if name not in parents]
    newest = thread.newest_message
    covered_messages: set[str] = set()
    if newest is not None:
        # Messages below the newest record's message are older than that record, and stay on its path.
        covered_messages.update(_path(thread, newest))
        yield ClaudePath(None, frozenset(covered_messages), None)
    for leaf in reversed(leaves):
        path = _path(thread, leaf)
        new_names = [name for name in path if name not in covered_messages]
        if not any(thread.nodes[name].kind == "assistant" for name in new_names):
            continue
        branches_at = next((name for name in reversed(path) if name in covered_messages), None)
        copied_messages = covered_messages.intersection(path)
        covered_messages.update(new_names)
        yield ClaudePath(new_names[0], frozenset(path), branches_at, frozenset(copied_messages))


def _path(thread: ClaudeThread, leaf: str) -> list[str]:
    path: list[str] = []
    seen: set[str] = set()
    name: str | None = leaf
    while name is not None and name not in seen and name in thread.nodes:
        seen.add(name)
        path.append(name)
        name = thread.nodes[name].parent
    return path[::-1]

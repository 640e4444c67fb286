"""Read what a rollout of Codex records about subagents: its own parent, and the threads that its calls started.

Codex calls a session a thread. A subagent's header names its parent. The parent's calls name the subagent by its id, or
by a path such as ``/root/count_tests`` whose id is in an event.
"""

import re
from dataclasses import dataclass, field
from typing import Any

from palimpsest.recordings.reading.json_fields import JsonValue

MAX_THREADS = 1_000
"""Maximum threads of a rollout; further ones are ignored."""
THREAD_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
IN_TIME_ORDER = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-")
"""Beginning of UUIDs of version 7, which sort by their time of creation."""
SPAWN_TOOL = "spawn_agent"
FOLLOW_UP_CALLS = {"send_input", "send_message", "followup_task", "assign_task", "resume_agent"}
"""Calls that give a subagent more work."""
NOTICE_START = "<subagent_notification>"
SUBAGENT_ARGUMENTS = ("target", "id")
"""The arguments of follow-up calls that name a subagent, in different versions."""
REVIEW_EVENTS = frozenset({"EnteredReviewMode", "entered_review_mode"})


@dataclass(frozen=True, slots=True)
class ThreadHeader:
    """The header of a rollout: facts about its session."""

    thread_id: str
    """The session's id."""
    parent_id: str | None
    """Id of the thread that started this one as a subagent."""
    title: str
    first_own_ordinal: int | None
    """The ordinal of the first own record, where the rollout begins with a copy of its parent's records."""
    has_copied_records: bool
    """Whether the rollout begins with a copy of its parent's records of unknown length."""
    problem: str = ""
    """Why the named parent is ignored; empty where it is not."""


def thread_header(meta: JsonValue, stem: str) -> ThreadHeader:
    """Return the facts of a header; ``stem`` is the file's name, for a rollout without an id."""
    thread_id = meta.text("id") or stem
    source = meta.get("source", "subagent")
    spawned = JsonValue(source).at("thread_spawn")
    is_subagent = bool(source) or meta.get("thread_source") == "subagent"
    parent_id = spawned.text("parent_thread_id") or meta.text("parent_thread_id")
    parent_id, problem = (parent_id if is_subagent else ""), ""
    if parent_id and parent_id == thread_id:
        parent_id, problem = "", "It names itself as the session that began it; that was left out."
    elif (
        IN_TIME_ORDER.match(parent_id) and IN_TIME_ORDER.match(thread_id) and parent_id > thread_id
    ):
        parent_id = ""
        problem = "It names a later session as the one that began it; that was left out."
    path = spawned.text("agent_path") or meta.text("agent_path")
    first_own_ordinal = meta.get("subagent_history_start_ordinal")
    has_own_ordinal = isinstance(first_own_ordinal, int) and not isinstance(first_own_ordinal, bool)
    return ThreadHeader(
        thread_id=thread_id,
        parent_id=parent_id or None,
        title=path.rpartition("/")[2],
        first_own_ordinal=first_own_ordinal if has_own_ordinal else None,
        has_copied_records=bool(parent_id)
        and bool(meta.text("forked_from_id"))
        and not has_own_ordinal,
        problem=problem,
    )


@dataclass(slots=True)
class NamedThreads:
    """The other threads that a rollout names, in order, and the thread to which each call gave work."""

    own_thread_id: str
    """The id of the rollout's own thread."""
    possible_subagents: dict[str, None] = field(default_factory=dict)
    """Ids of the threads that may be the rollout's subagents, in order."""
    has_review: bool = False
    """Whether a review was started; older versions do not record its thread."""
    _thread_by_name: dict[str, str] = field(default_factory=dict)
    """Thread ids by the thread's path, and by the last name of the path."""
    _thread_by_call: dict[str, str] = field(default_factory=dict)
    _open_spawn_calls: set[str] = field(default_factory=set)
    """Ids of calls that started a subagent and have no result yet."""

    def add_event(self, event: JsonValue) -> None:
        """Add the threads in an event for the screen; only such events record the thread of a call."""
        item = event.at("item") or event
        item_type = item.text("type")
        if item_type in REVIEW_EVENTS:
            self.has_review = True
        elif item_type == "SubAgentActivity" and item.get("kind") == "started":
            self._add_started(item.text("id"), item.get("agent_thread_id"), item.get("agent_path"))
        elif item_type == "CollabAgentToolCall" and item.get("tool") == SPAWN_TOOL:
            for thread_id in item.list_at("receiver_thread_ids"):
                self._add_started(item.text("id"), thread_id)
        elif item_type == "collab_agent_spawn_end":
            self._add_started(event.text("call_id"), event.get("new_thread_id"))
        elif item is not event:
            # The thread of a review, whose events its parent repeats.
            self._add_thread(event.get("thread_id"))

    def add_call(self, item: JsonValue) -> None:
        """Add a call by the model."""
        tool, call_id = item.text("name"), item.text("call_id")
        if tool == SPAWN_TOOL:
            self._open_spawn_calls.add(call_id)
        elif tool in FOLLOW_UP_CALLS:
            arguments = item.decoded("arguments")
            addressed_threads = (
                self.thread_id_of(arguments.get(key)) for key in SUBAGENT_ARGUMENTS
            )
            if thread_id := next(filter(None, addressed_threads), ""):
                self._thread_by_call[call_id] = thread_id

    def thread_id_of_result(self, item: JsonValue) -> str | None:
        """Return the id of the thread to which a call gave work, given the call's result."""
        call_id = item.text("call_id")
        if call_id in self._open_spawn_calls:
            self._open_spawn_calls.discard(call_id)
            self._add_started(call_id, item.decoded("output").get("agent_id"))
        return self._thread_by_call.get(call_id)

    def ended_thread_id(self, text: str) -> str | None:
        """Return the id of the thread whose end a message reports; None where the message reports none."""
        content = text.strip().removeprefix(NOTICE_START).partition("</")[0]
        if content == text.strip():
            return None
        report = JsonValue(content).decoded()
        return (
            self.thread_id_of(report.get("agent_path"))
            or self.thread_id_of(report.get("agent_id"))
            or None
        )

    def _add_started(self, call_id: str, thread_id: Any, path: Any = None) -> None:
        if not self._add_thread(thread_id):
            return
        self._thread_by_call[call_id] = thread_id
        if path_text := JsonValue(path).text():
            self._thread_by_name[path_text] = self._thread_by_name[path_text.rpartition("/")[2]] = (
                thread_id
            )

    def _add_thread(self, thread_id: Any) -> bool:
        is_thread = isinstance(thread_id, str) and THREAD_ID.fullmatch(thread_id) is not None
        if not is_thread or thread_id == self.own_thread_id:
            return False
        if len(self.possible_subagents) < MAX_THREADS:
            self.possible_subagents[thread_id] = None
        return thread_id in self.possible_subagents

    def thread_id_of(self, name: Any) -> str:
        """Return the id of the thread with a path, a last name or an id; empty where the rollout started none."""
        thread_id = JsonValue(name).text()
        return (
            thread_id
            if thread_id in self.possible_subagents
            else self._thread_by_name.get(thread_id, "")
        )

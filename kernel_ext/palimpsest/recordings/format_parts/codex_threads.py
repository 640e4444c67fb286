"""Read what a rollout of Codex records about subagents: its own parent, and the threads that its calls started.

Codex calls a session a thread. A child's header names its parent. The parent's calls name the child by its id, or by a
path such as ``/root/count_tests`` whose id is in an event.
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
NOTICE_TAG = "<subagent_notification>"
SUBAGENT_ARGUMENTS = ("target", "id")
"""The arguments of follow-up calls that name a subagent, in different versions."""
REVIEW_EVENTS = frozenset({"EnteredReviewMode", "entered_review_mode"})


@dataclass(frozen=True, slots=True)
class ThreadHeader:
    """The header of a rollout: facts about its session."""

    thread: str
    parent: str | None
    """The thread that started this one as a subagent."""
    title: str
    own_from: int | None
    """The ordinal of the first own record, where the rollout begins with a copy of its parent's records."""
    has_copied_records: bool
    """Whether the rollout begins with a copy of its parent's records of unknown length."""
    problem: str = ""
    """Why the named parent is ignored; empty where it is not."""


def thread_header(meta: JsonValue, stem: str) -> ThreadHeader:
    """Return the facts of a header; ``stem`` is the file's name, for a rollout without an id."""
    thread = meta.text("id") or stem
    source = meta.get("source", "subagent")
    spawned = JsonValue(source).at("thread_spawn")
    is_child = bool(source) or meta.get("thread_source") == "subagent"
    parent_id = spawned.text("parent_thread_id") or meta.text("parent_thread_id")
    parent, problem = (parent_id if is_child else ""), ""
    if parent and parent == thread:
        parent, problem = "", "It names itself as the session that began it; that was left out."
    elif IN_TIME_ORDER.match(parent) and IN_TIME_ORDER.match(thread) and parent > thread:
        parent = ""
        problem = "It names a later session as the one that began it; that was left out."
    path = spawned.text("agent_path") or meta.text("agent_path")
    own_from = meta.get("subagent_history_start_ordinal")
    has_own_from = isinstance(own_from, int) and not isinstance(own_from, bool)
    return ThreadHeader(
        thread=thread,
        parent=parent or None,
        title=path.rpartition("/")[2],
        own_from=own_from if has_own_from else None,
        has_copied_records=bool(parent) and bool(meta.text("forked_from_id")) and not has_own_from,
        problem=problem,
    )


@dataclass(slots=True)
class NamedThreads:
    """The other threads that a rollout names, in order, and the thread to which each call gave work."""

    own_thread: str
    possible_children: dict[str, None] = field(default_factory=dict)
    """The threads that may be the rollout's subagents."""
    has_review: bool = False
    """Whether a review was started; older versions do not record its thread."""
    _paths: dict[str, str] = field(default_factory=dict)
    """Threads by their path, and by the last name of the path."""
    _thread_of_call: dict[str, str] = field(default_factory=dict)
    _spawns: set[str] = field(default_factory=set)
    """Calls that started a subagent and have no result yet."""

    def add_event(self, event: JsonValue) -> None:
        """Add the threads in an event for the screen; only such events record the thread of a call."""
        item = event.at("item") or event
        kind = item.text("type")
        if kind in REVIEW_EVENTS:
            self.has_review = True
        elif kind == "SubAgentActivity" and item.get("kind") == "started":
            self._add_started(item.text("id"), item.get("agent_thread_id"), item.get("agent_path"))
        elif kind == "CollabAgentToolCall" and item.get("tool") == SPAWN_TOOL:
            for thread in item.list_at("receiver_thread_ids"):
                self._add_started(item.text("id"), thread)
        elif kind == "collab_agent_spawn_end":
            self._add_started(event.text("call_id"), event.get("new_thread_id"))
        elif item is not event:
            # The thread of a review, whose events its parent repeats.
            self._add_thread(event.get("thread_id"))

    def add_call(self, item: JsonValue) -> None:
        """Add a call by the model."""
        name, call = item.text("name"), item.text("call_id")
        if name == SPAWN_TOOL:
            self._spawns.add(call)
        elif name in FOLLOW_UP_CALLS:
            arguments = item.decoded("arguments")
            addressed_threads = (self.thread_of(arguments.get(key)) for key in SUBAGENT_ARGUMENTS)
            if thread := next(filter(None, addressed_threads), ""):
                self._thread_of_call[call] = thread

    def thread_of_result(self, item: JsonValue) -> str | None:
        """Return the thread to which a call gave work, given the call's result."""
        call = item.text("call_id")
        if call in self._spawns:
            self._spawns.discard(call)
            self._add_started(call, item.decoded("output").get("agent_id"))
        return self._thread_of_call.get(call)

    def ended_thread(self, text: str) -> str | None:
        """Return the thread whose end a message reports; None where the message is no such report."""
        inner = text.strip().removeprefix(NOTICE_TAG).partition("</")[0]
        if inner == text.strip():
            return None
        ending = JsonValue(inner).decoded()
        return (
            self.thread_of(ending.get("agent_path"))
            or self.thread_of(ending.get("agent_id"))
            or None
        )

    def _add_started(self, call: str, thread: Any, path: Any = None) -> None:
        if not self._add_thread(thread):
            return
        self._thread_of_call[call] = thread
        if path_text := JsonValue(path).text():
            self._paths[path_text] = self._paths[path_text.rpartition("/")[2]] = thread

    def _add_thread(self, thread: Any) -> bool:
        is_thread = isinstance(thread, str) and THREAD_ID.fullmatch(thread) is not None
        if not is_thread or thread == self.own_thread:
            return False
        if len(self.possible_children) < MAX_THREADS:
            self.possible_children[thread] = None
        return thread in self.possible_children

    def thread_of(self, name: Any) -> str:
        """Return the thread with a name or id; empty where this rollout started no such thread."""
        thread = JsonValue(name).text()
        return thread if thread in self.possible_children else self._paths.get(thread, "")

"""Read what a rollout of Codex says of subagents: who began this one, and which call began or asked which other.

Codex calls a session a thread. A child's header names its parent. The parent's calls name the child by its id, or
by a path such as ``/root/count_tests`` whose id an event tells.
"""

import re
from dataclasses import dataclass, field
from typing import Any

from palimpsest.review.importing.json_fields import JsonValue

MOST_NAMED = 1_000
"""Threads that a rollout may name; more are passed over."""
THREAD = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
IN_TIME_ORDER = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-")
"""How ids of version 7 begin, which sort by the time when they were made."""
SPAWN = "spawn_agent"
TALKS = {"send_input", "send_message", "followup_task", "assign_task", "resume_agent"}
"""Calls that give a subagent more work."""
NOTICE = "<subagent_notification>"
NAMED_BY = ("target", "id")
"""The arguments of such calls that name a subagent, over the versions."""
REVIEWS = frozenset({"EnteredReviewMode", "entered_review_mode"})


@dataclass(frozen=True, slots=True)
class ThreadHeader:
    """What the first record of a rollout says of its session."""

    thread: str
    parent: str | None
    """The thread that began it as a subagent."""
    title: str
    own_from: int | None
    """The ordinal of its first own record, where it begins with a copy of its parent's."""
    copied: bool
    """It begins with a copy of its parent's records, and nothing says where that ends."""
    problem: str = ""
    """Why the parent that it names is none."""


def thread_header(meta: JsonValue, stem: str) -> ThreadHeader:
    """Return what a header says; ``stem`` is the file's name, for a rollout without an id."""
    thread = meta.text("id") or stem
    source = meta.get("source", "subagent")
    spawned = JsonValue(source).at("thread_spawn")
    is_child = bool(source) or meta.get("thread_source") == "subagent"
    named = spawned.text("parent_thread_id") or meta.text("parent_thread_id")
    parent, problem = (named if is_child else ""), ""
    if parent and parent == thread:
        parent, problem = "", "It names itself as the session that began it; that was left out."
    elif IN_TIME_ORDER.match(parent) and IN_TIME_ORDER.match(thread) and parent > thread:
        parent = ""
        problem = "It names a later session as the one that began it; that was left out."
    path = spawned.text("agent_path") or meta.text("agent_path")
    own_from = meta.get("subagent_history_start_ordinal")
    known = isinstance(own_from, int) and not isinstance(own_from, bool)
    return ThreadHeader(
        thread=thread,
        parent=parent or None,
        title=path.rpartition("/")[2],
        own_from=own_from if known else None,
        copied=bool(parent) and bool(meta.text("forked_from_id")) and not known,
        problem=problem,
    )


@dataclass(slots=True)
class NamedThreads:
    """The other threads that a rollout names.

    Responsibilities: collect them in their order, and give the thread that a call began or asked.
    """

    own: str
    named: dict[str, None] = field(default_factory=dict)
    """The threads that may be its subagents."""
    reviewed: bool = False
    """A review was begun, whose thread older versions do not name."""
    _paths: dict[str, str] = field(default_factory=dict)
    """Threads by their path, and by its last name."""
    _of_call: dict[str, str] = field(default_factory=dict)
    _spawns: set[str] = field(default_factory=set)
    """Calls that began a subagent and have no result yet."""

    def event(self, event: JsonValue) -> None:
        """Take an event: what is for the screen tells the thread of a call."""
        item = event.at("item") or event
        kind = item.text("type")
        if kind in REVIEWS:
            self.reviewed = True
        elif kind == "SubAgentActivity" and item.get("kind") == "started":
            self._begun(item.text("id"), item.get("agent_thread_id"), item.get("agent_path"))
        elif kind == "CollabAgentToolCall" and item.get("tool") == SPAWN:
            for one in item.listed("receiver_thread_ids"):
                self._begun(item.text("id"), one)
        elif kind == "collab_agent_spawn_end":
            self._begun(event.text("call_id"), event.get("new_thread_id"))
        elif item is not event:
            self._name(event.get("thread_id"))  # of a review, whose events its parent repeats

    def call(self, item: JsonValue) -> None:
        """Take a call by the model."""
        name, call = item.text("name"), item.text("call_id")
        if name == SPAWN:
            self._spawns.add(call)
        elif name in TALKS:
            given = item.decoded("arguments")
            asked = (self.known(given.get(key)) for key in NAMED_BY)
            if thread := next(filter(None, asked), ""):
                self._of_call[call] = thread

    def result(self, item: JsonValue) -> str | None:
        """Return the thread that a call began or asked, with its result."""
        call = item.text("call_id")
        if call in self._spawns:
            self._spawns.discard(call)
            self._begun(call, item.decoded("output").get("agent_id"))
        return self._of_call.get(call)

    def words_of(self, words: str) -> str | None:
        """Return the thread whose end the program tells in a message; None where it is none of these."""
        inner = words.strip().removeprefix(NOTICE).partition("</")[0]
        if inner == words.strip():
            return None
        said = JsonValue(inner).decoded()
        return self.known(said.get("agent_path")) or self.known(said.get("agent_id")) or None

    def _begun(self, call: str, thread: Any, path: Any = None) -> None:
        if not self._name(thread):
            return
        self._of_call[call] = thread
        if named := JsonValue(path).text():
            self._paths[named] = self._paths[named.rpartition("/")[2]] = thread

    def _name(self, thread: Any) -> bool:
        if not isinstance(thread, str) or thread == self.own or not THREAD.fullmatch(thread):
            return False
        if len(self.named) < MOST_NAMED:
            self.named[thread] = None
        return thread in self.named

    def known(self, name: Any) -> str:
        """Return the thread that a name or an id means; empty where it means none that was begun here."""
        named = JsonValue(name).text()
        return named if named in self.named else self._paths.get(named, "")

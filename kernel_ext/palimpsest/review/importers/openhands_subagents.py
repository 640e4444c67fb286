"""Find the conversations of subagents below a conversation of OpenHands, and the calls that gave them work.

Each lies in ``subagents/<id>`` and does not name the call. The first call is known by its prompt, which is the
subagent's first message; one that resumes it by the id of the task, which the first one's result tells.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from palimpsest.review.importing.importer import Report
from palimpsest.review.importing.json_fields import JsonValue
from palimpsest.review.importing.sources import unreported

SUBAGENTS = "subagents"
MOST_CHILDREN = 200
"""Subagents that are read of one conversation, those of subagents among them."""
MOST_LEVELS = 8
LOOKED_AT = 20
"""Events among which the first message is looked for."""
ReadDocument = Callable[[Path, Report], JsonValue]


@dataclass(frozen=True, slots=True)
class SubagentFolder:
    """The folder of one subagent."""

    path: Path
    id: str
    """Its own id behind that of the conversation that it belongs to."""
    parent: str
    prompt: str
    created: int


def subagent_folders(
    path: Path, parent: str, most: int, read: ReadDocument, report: Report
) -> list[SubagentFolder]:
    """Return the subagents of a conversation's folder in the order of their first messages; links are left out."""
    folder = path / SUBAGENTS
    if folder.is_symlink() or not folder.is_dir():
        return []
    found: list[SubagentFolder] = []
    places = sorted(one for one, _ in zip(folder.iterdir(), range(most * 10 + 1), strict=False))
    for place in places:
        events = place / "events"
        if place.is_symlink() or events.is_symlink() or not events.is_dir():
            report(f"{SUBAGENTS}/{place.name}", "It is no conversation and was left out.")
        elif len(found) >= most:
            report("", f"Only the first {MOST_CHILDREN} of its subagents were read.")
            break
        else:
            prompt, created = _first_message(events, read)
            found.append(
                SubagentFolder(place, f"{parent}/{place.name}", parent, prompt, created or 0)
            )
    return sorted(found, key=lambda one: one.created)


def _first_message(events: Path, read: ReadDocument) -> tuple[str, int | None]:
    names = sorted(one.name for one in events.iterdir() if one.name.startswith("event-"))
    for name in names[:LOOKED_AT]:
        event = read(events / name, unreported)
        if event.get("kind") == "MessageEvent" and event.get("source") == "user":
            content = event.objects("llm_message", "content")
            said = "\n".join(one.text("text") for one in content)
            return said, event.milliseconds("timestamp")
    return "", None


@dataclass(slots=True)
class GivenTasks:
    """Which call of a conversation gave work to which subagent."""

    children: Sequence[SubagentFolder] = ()
    calls: dict[str, str] = field(default_factory=dict)
    """The first call of each subagent."""
    _of_call: dict[str, str] = field(default_factory=dict)
    _of_task: dict[str, str] = field(default_factory=dict)

    def called(self, call: str, event: JsonValue) -> None:
        """Take a call, with its action."""
        action = event.at("action")
        if action.get("kind") == "TaskAction":
            child = self._of_task.get(action.id("resume")) or self._unasked(action.text("prompt"))
            if child:
                self._of_call[call] = child
                self.calls.setdefault(child, call)
        elif action.get("kind") == "DelegateAction":
            # One call gives several of them work.
            for task in action.fields("tasks").values():
                if child := self._unasked(JsonValue(task).text()):
                    self.calls[child] = call

    def returned(self, call: str, event: JsonValue) -> str | None:
        """Return the subagent that a call gave work, with the call's result."""
        child = self._of_call.get(call)
        if child and (task := event.id("observation", "task_id")):
            self._of_task[task] = child
        return child

    def _unasked(self, prompt: str) -> str:
        """Return the first subagent that begins with a prompt and has no call yet."""
        found = (one.id for one in self.children if one.prompt == prompt)
        return next((one for one in found if prompt and one not in self.calls), "")

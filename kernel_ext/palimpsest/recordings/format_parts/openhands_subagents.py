"""Find the conversations of subagents below a conversation of OpenHands, and the calls that started or resumed them.

Each conversation is in ``subagents/<id>`` and does not name its call. The call that started it is found by its prompt, which
is the subagent's first message; a call that resumed it, by the task's id in the result of the first call.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from palimpsest.recordings.reading.importer import Report
from palimpsest.recordings.reading.json_fields import JsonValue
from palimpsest.recordings.reading.sources import discard_report

SUBAGENT_FOLDER = "subagents"
MAX_CHILDREN = 200
"""Maximum subagents that are read for one conversation, including subagents of subagents."""
MAX_LEVELS = 8
MAX_SEARCHED_EVENTS = 20
"""Maximum first events that are searched for the first message."""
ReadDocument = Callable[[Path, Report], JsonValue]


@dataclass(frozen=True, slots=True)
class SubagentFolder:
    """The folder of one subagent."""

    path: Path
    id: str
    """The id of the parent conversation, then the subagent's own."""
    parent: str
    prompt: str
    created_ms: int


def subagent_folders(
    path: Path, parent: str, max_count: int, read_document: ReadDocument, report: Report
) -> list[SubagentFolder]:
    """Return the subagents in a conversation's folder, in the order of their first messages; links are left out."""
    folder = path / SUBAGENT_FOLDER
    if folder.is_symlink() or not folder.is_dir():
        return []
    folders: list[SubagentFolder] = []
    subagent_paths = sorted(
        subagent_path
        for subagent_path, _ in zip(folder.iterdir(), range(max_count * 10 + 1), strict=False)
    )
    for subagent_path in subagent_paths:
        events = subagent_path / "events"
        if subagent_path.is_symlink() or events.is_symlink() or not events.is_dir():
            report(
                f"{SUBAGENT_FOLDER}/{subagent_path.name}", "It is no conversation and was left out."
            )
        elif len(folders) >= max_count:
            report("", f"Only the first {MAX_CHILDREN} of its subagents were read.")
            break
        else:
            prompt, created_ms = _first_message(events, read_document)
            folders.append(
                SubagentFolder(
                    subagent_path, f"{parent}/{subagent_path.name}", parent, prompt, created_ms or 0
                )
            )
    return sorted(folders, key=lambda subagent: subagent.created_ms)


def _first_message(events: Path, read_document: ReadDocument) -> tuple[str, int | None]:
    names = sorted(child.name for child in events.iterdir() if child.name.startswith("event-"))
    for name in names[:MAX_SEARCHED_EVENTS]:
        event = read_document(events / name, discard_report)
        if event.get("kind") == "MessageEvent" and event.get("source") == "user":
            content = event.objects("llm_message", "content")
            text = "\n".join(block.text("text") for block in content)
            return text, event.milliseconds("timestamp")
    return "", None


@dataclass(slots=True)
class SubagentCalls:
    """The calls of a conversation that started or resumed subagents."""

    subagents: Sequence[SubagentFolder] = ()
    calls: dict[str, str] = field(default_factory=dict)
    """The first call of each subagent."""
    _subagent_id_by_call: dict[str, str] = field(default_factory=dict)
    _subagent_id_by_task: dict[str, str] = field(default_factory=dict)

    def add_call(self, call: str, event: JsonValue) -> None:
        """Add a call, with its action."""
        action = event.at("action")
        if action.get("kind") == "TaskAction":
            subagent_id = self._subagent_id_by_task.get(
                action.id("resume")
            ) or self._subagent_without_call(action.text("prompt"))
            if subagent_id:
                self._subagent_id_by_call[call] = subagent_id
                self.calls.setdefault(subagent_id, call)
        elif action.get("kind") == "DelegateAction":
            # One call can give work to several subagents.
            for task in action.fields("tasks").values():
                if subagent_id := self._subagent_without_call(JsonValue(task).text()):
                    self.calls[subagent_id] = call

    def add_result(self, call: str, event: JsonValue) -> str | None:
        """Add a call's result; return the subagent to which the call gave work, if there is one."""
        subagent_id = self._subagent_id_by_call.get(call)
        if subagent_id and (task_id := event.id("observation", "task_id")):
            self._subagent_id_by_task[task_id] = subagent_id
        return subagent_id

    def _subagent_without_call(self, prompt: str) -> str:
        """Return the id of the first subagent that begins with a prompt and has no call yet; empty where there is none."""
        ids = (subagent.id for subagent in self.subagents if subagent.prompt == prompt)
        return next((name for name in ids if prompt and name not in self.calls), "")

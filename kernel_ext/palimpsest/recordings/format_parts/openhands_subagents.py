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
MAX_SUBAGENTS = 200
"""Maximum subagents that are read for one conversation, including subagents of subagents."""
MAX_LEVELS = 8
"""Maximum levels of subagents that are read."""
MAX_ENTRIES_PER_SUBAGENT = 10
"""Maximum entries of the folder that are looked at for each subagent that may be read."""
MAX_SEARCHED_EVENTS = 20
"""Maximum events at a conversation's beginning in which its first message is searched."""
ReadDocument = Callable[[Path, Report], JsonValue]


@dataclass(frozen=True, slots=True)
class SubagentFolder:
    """The folder of one subagent."""

    path: Path
    id: str
    """The id of the parent conversation, then the subagent's own."""
    parent_id: str
    prompt: str
    """The subagent's first message; empty where none was found."""
    created_ms: int
    """Time of that message; 0 where it is not known."""


def subagent_folders(
    path: Path, parent_id: str, max_count: int, read_document: ReadDocument, report: Report
) -> list[SubagentFolder]:
    """Return the subagents in a conversation's folder, in the order of their first messages; links are left out."""
    parent_folder = path / SUBAGENT_FOLDER
    if parent_folder.is_symlink() or not parent_folder.is_dir():
        return []
    subagents: list[SubagentFolder] = []
    subagent_paths = sorted(
        subagent_path
        for subagent_path, _ in zip(
            parent_folder.iterdir(), range(max_count * MAX_ENTRIES_PER_SUBAGENT + 1), strict=False
        )
    )
    for subagent_path in subagent_paths:
        events_folder = subagent_path / "events"
        if subagent_path.is_symlink() or events_folder.is_symlink() or not events_folder.is_dir():
            report(
                f"{SUBAGENT_FOLDER}/{subagent_path.name}", "It is no conversation and was left out."
            )
        elif len(subagents) >= max_count:
            report("", f"Only the first {MAX_SUBAGENTS} of its subagents were read.")
            break
        else:
            prompt, created_ms = _first_message(events_folder, read_document)
            subagents.append(
                SubagentFolder(
                    subagent_path,
                    f"{parent_id}/{subagent_path.name}",
                    parent_id,
                    prompt,
                    created_ms or 0,
                )
            )
    return sorted(subagents, key=lambda subagent: subagent.created_ms)


def _first_message(events_folder: Path, read_document: ReadDocument) -> tuple[str, int | None]:
    file_names = sorted(
        file.name for file in events_folder.iterdir() if file.name.startswith("event-")
    )
    for file_name in file_names[:MAX_SEARCHED_EVENTS]:
        event = read_document(events_folder / file_name, discard_report)
        if event.get("kind") == "MessageEvent" and event.get("source") == "user":
            content = event.objects("llm_message", "content")
            text = "\n".join(block.text("text") for block in content)
            return text, event.milliseconds("timestamp")
    return "", None


@dataclass(slots=True)
class SubagentCalls:
    """The calls of a conversation that started or resumed subagents."""

    subagents: Sequence[SubagentFolder] = ()
    call_by_subagent: dict[str, str] = field(default_factory=dict)
    """The id of each subagent's first call, by the subagent's id."""
    _subagent_id_by_call: dict[str, str] = field(default_factory=dict)
    _subagent_id_by_task: dict[str, str] = field(default_factory=dict)

    def add_call(self, call_id: str, event: JsonValue) -> None:
        """Add a call, with its action."""
        action = event.at("action")
        if action.get("kind") == "TaskAction":
            subagent_id = self._subagent_id_by_task.get(
                action.id("resume")
            ) or self._subagent_without_call(action.text("prompt"))
            if subagent_id:
                self._subagent_id_by_call[call_id] = subagent_id
                self.call_by_subagent.setdefault(subagent_id, call_id)
        elif action.get("kind") == "DelegateAction":
            # One call can give work to several subagents.
            for task in action.fields("tasks").values():
                if subagent_id := self._subagent_without_call(JsonValue(task).text()):
                    self.call_by_subagent[subagent_id] = call_id

    def add_result(self, call_id: str, event: JsonValue) -> str | None:
        """Add a call's result; return the id of the subagent to which the call gave work, if there is one."""
        subagent_id = self._subagent_id_by_call.get(call_id)
        if subagent_id and (task_id := event.id("observation", "task_id")):
            self._subagent_id_by_task[task_id] = subagent_id
        return subagent_id

    def _subagent_without_call(self, prompt: str) -> str:
        """Return the id of the first subagent that begins with a prompt and has no call yet; empty where there is none."""
        subagent_ids = (subagent.id for subagent in self.subagents if subagent.prompt == prompt)
        return next(
            (s for s in subagent_ids if prompt and s not in self.call_by_subagent),
            "",
        )

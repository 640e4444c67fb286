"""What the steps of a session did, where two sessions part, how each ended, and which files its calls named.

Two sessions of one task are compared by actions and not by the numbers of their requests: a request that was stopped or
answered nothing is passed over. A step's action is its calls, with their inputs; the words beside a call are
no action, since a model words the same call differently each time. Where it calls nothing, its action is its answer.

Steps are found by answers and not by requests: a fork begins with answers that another session's requests count.
"""

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from palimpsest.context_policies.items.engine_sizes import call_input
from palimpsest.context_policies.items.tool_calls import (
    EDIT_TOOLS,
    MAX_INPUT_CHARS,
    READ_TOOLS,
    SHELL_TOOLS,
    WHOLE_WRITE_TOOLS,
    is_text_command,
    named_path,
)
from palimpsest.recordings.import_journal.open_calls import NO_RESULT_SENTENCE
from palimpsest.render.content.phrases import counted_noun
from palimpsest.render.safety.escaping import one_line
from palimpsest.transcript.growing_lists import common_beginning
from palimpsest.transcript.timeline import Timeline, TimelineItem, TimelineRequest

MAX_SHOWN_CALLS = 2
"""Maximum calls of one step that a phrase names; the others are counted."""
FileUse = Literal["changed", "read"]
_CHANGING_TOOLS = (
    WHOLE_WRITE_TOOLS
    | EDIT_TOOLS
    | {"replace_in_file", "apply_diff", "strreplacefile", "insert", "append", "multi_edit"}
)
_EDITOR_TOOLS = frozenset({"str_replace_editor", "str_replace_based_edit_tool", "file_editor"})
"""Tools whose input names a command; ``view`` reads, the others change."""
_PATCHED_FILE = re.compile(r"\*\*\* (?:Add|Update|Delete) File: ([^\n\\\"]+)")
"""A file in a patch as Codex and others write it, also within the JSON of a call."""
_PATCH_START = "*** Begin Patch"


@dataclass(frozen=True, slots=True)
class SessionStep:
    """An answer, and its action."""

    request: int | None
    """Index of the request, from 0; None for a step copied from the session from which this one was forked."""
    item: int
    """The first item of the action."""
    action: tuple[str, ...]
    """Digests of the calls with their inputs, or of the answer; equal for equal actions."""
    tools: tuple[str, ...]
    """The tool of each call; empty where the action is an answer."""
    subjects: tuple[str, ...]
    """The subject of each call, or the first line of the answer."""

    @property
    def request_in_brackets(self) -> str:
        """The request's number, from 1, in brackets; empty for a copied step."""
        return "" if self.request is None else f" (request {self.request + 1:,})"

    def phrase(self, *, with_texts: bool = True) -> str:
        """Return the action as a phrase on one line: ``calls bash: ls``, ``answers: Done.``; without texts only the tools."""
        if not self.tools:
            return one_line(f"answers: {self.subjects[0]}") if with_texts else "answers"
        call_texts = [
            f"{tool}: {subject}" if with_texts and subject not in ("", tool) else tool
            for tool, subject in zip(self.tools, self.subjects, strict=True)
        ]
        text = one_line(f"calls {'; '.join(call_texts[:MAX_SHOWN_CALLS])}")
        unnamed_count = len(call_texts) - MAX_SHOWN_CALLS
        return f"{text}; {counted_noun(unnamed_count, 'more call')}" if unnamed_count > 0 else text


@dataclass(frozen=True, slots=True)
class Parting:
    """Where two sessions part."""

    shared_steps: int
    """Number of steps from the beginning in which both do the same."""
    first_step: SessionStep | None
    """The first session's step after the shared ones; None where it has no further step."""
    second_step: SessionStep | None

    def sentence(self, *, with_texts: bool = True) -> str:
        """Return a sentence on the steps that both share, and on what each does then."""
        if self.first_step is None and self.second_step is None:
            return f"Both do the same in all of their {counted_noun(self.shared_steps, 'step')}."
        side_texts = [
            f"the {name} has ended"
            if step is None
            else f"the {name} {step.phrase(with_texts=with_texts).rstrip('.')}{step.request_in_brackets}"
            for name, step in (("first", self.first_step), ("second", self.second_step))
        ]
        if not self.shared_steps:
            return f"They part at once: {', '.join(side_texts)}."
        return f"They do the same in {counted_noun(self.shared_steps, 'step')}. Then {', '.join(side_texts)}."


@dataclass(frozen=True, slots=True)
class SessionActions:
    """The steps, files and end of one session."""

    steps: tuple[SessionStep, ...]
    files: Mapping[str, FileUse]
    """The files that calls named, in the order of the first call on each; ``changed`` where any call changed the file."""
    last_step: SessionStep | None
    """The step that is the last answer; None where the last request has no answer."""
    end_after: str
    """A phrase with what else is known of the end, such as that the last call failed; empty where nothing is."""

    def end(self, *, with_texts: bool = True) -> str:
        """Return in a phrase how the session ended."""
        step_text = "" if self.last_step is None else self.last_step.phrase(with_texts=with_texts)
        return ", ".join(filter(None, (step_text, self.end_after))) or "no request"

    def file_count(self, use: FileUse) -> int:
        """Return the number of files that were changed, or only read."""
        return sum(known_use == use for known_use in self.files.values())

    @property
    def copied_steps(self) -> int:
        """The number of steps that another session's requests made."""
        return sum(step.request is None for step in self.steps)


def session_actions(timeline: Timeline) -> SessionActions:
    """Return the steps of a session, its files, and its end."""
    requests = timeline.requests
    request_by_message = {request.id: request for request in requests}
    items_by_message: dict[str, list[TimelineItem]] = {}
    for item in timeline.items:
        if item.kind in ("assistant", "call"):
            items_by_message.setdefault(item.message, []).append(item)
    step_by_message = {
        message_id: step_of(timeline, items, request_by_message.get(message_id))
        for message_id, items in items_by_message.items()
    }
    last_message_id = requests[-1].id if requests else next(reversed(items_by_message), "")
    return SessionActions(
        steps=tuple(
            step
            for message_id, step in step_by_message.items()
            # An answer that was stopped is no answer, but its calls may have run.
            if step.tools
            or message_id not in request_by_message
            or request_by_message[message_id].status == "ok"
        ),
        files=touched_files(timeline),
        last_step=step_by_message.get(last_message_id),
        end_after=_ending_phrase(timeline) if requests else "",
    )


def parting_of(first_actions: SessionActions, second_actions: SessionActions) -> Parting:
    """Return where two sessions part: at the first step whose calls, or whose answer, differ."""
    shared_count = common_beginning(
        [step.action for step in first_actions.steps],
        [step.action for step in second_actions.steps],
    )
    following_steps = (actions.steps[shared_count:] for actions in (first_actions, second_actions))
    return Parting(shared_count, *(steps[0] if steps else None for steps in following_steps))


def step_of(
    timeline: Timeline, answer_items: Sequence[TimelineItem], request: TimelineRequest | None
) -> SessionStep:
    """Return the step of an answer, which has at least one text or call."""
    request_index = None if request is None else request.index
    calls = [item for item in answer_items if item.kind == "call"]
    texts = [item for item in answer_items if item.kind != "call"]
    if texts and all(map(is_text_command, calls)):
        action = tuple(_content_digest(timeline, item) for item in texts)
        return SessionStep(request_index, texts[0].index, action, (), (texts[0].label,))
    return SessionStep(
        request_index,
        calls[0].index,
        tuple(item.input_hash or _content_digest(timeline, item) for item in calls),
        tuple(item.tool for item in calls),
        tuple(item.label for item in calls),
    )


def first_prompt_digest(timeline: Timeline) -> str:
    """Return the digest of the first text that the user wrote; empty where there is none."""
    prompts = (item for item in timeline.items if item.kind == "user" and not item.by_program)
    return next((_content_digest(timeline, item) for item in prompts), "")


def touched_files(timeline: Timeline) -> dict[str, FileUse]:
    """Return the files that calls named, in order, with their use: ``changed`` where any call changed the file.

    What shell commands did is not known. A call that edits and names no file edits the file that was named last, as in
    SWE-agent.
    """
    files: dict[str, FileUse] = {}
    last_path = ""
    for item in timeline.items:
        if item.kind != "call" or item.chars > MAX_INPUT_CHARS:
            continue
        for path, use in _files_of_call(timeline, item, last_path):
            last_path = path
            if files.get(path) != "changed":
                files[path] = use
    return files


def _files_of_call(
    timeline: Timeline, call: TimelineItem, last_path: str
) -> Iterator[tuple[str, FileUse]]:
    tool = call.tool.lower()
    is_editor = tool in _EDITOR_TOOLS
    if is_editor or tool in _CHANGING_TOOLS | READ_TOOLS:
        tool_input = call_input(timeline, call.index)
        is_read = tool_input.get("command") == "view" if is_editor else tool in READ_TOOLS
        path = named_path(tool_input)
        if path or (last_path and not is_read):
            named_file = posixpath.normpath(path.replace("\\", "/")) if path else last_path
            yield named_file, "read" if is_read else "changed"
        return
    if "patch" not in tool and tool not in SHELL_TOOLS:
        return
    text = timeline.read(call.index)
    if _PATCH_START in text:
        for path in _PATCHED_FILE.findall(text):
            yield posixpath.normpath(path.strip()), "changed"


def _content_digest(timeline: Timeline, item: TimelineItem) -> str:
    return item.hash or timeline.read(item.index)


def _ending_phrase(timeline: Timeline) -> str:
    """Return a phrase on how the last request ended, beside its action; empty where it ended well."""
    request = timeline.requests[-1]
    request_text = f"request {request.index + 1:,}"
    if request.status == "aborted":
        return f"stopped in {request_text}"
    if request.status == "refused":
        return f"the provider refused {request_text}"
    answer = timeline.items[request.answer[0] : request.answer[1]]
    call_ids = {item.group for item in answer if item.kind == "call" and item.group}
    results = [
        item
        for item in timeline.items[request.answer[1] :]
        # A call without a result is imported as one that failed with this sentence.
        if item.group in call_ids
        and not (item.is_error and timeline.read(item.index) == NO_RESULT_SENTENCE)
    ]
    if any(item.is_error for item in results):
        return "which failed"
    if call_ids and not results:
        return "without a result"
    return "" if answer else f"{request_text} has no answer"

"""Describe the environment of a session, and add a note about its changes to each prompt.

Folders, platform, date and instruction files are in the system prompt. Later changes of the date
and of the kernel's variables are written beside the user's text as synthetic parts, so each is journaled before
it is sent and is the same in every later request. Variables that a prompt does not name are described only as far
as the setting ``variables`` allows.

A front end names a notebook relative to the folder in which its kernel started; the project may begin above that
folder, and two folders may each have an analysis.ipynb, so sessions are stored by the path in the project.
"""

import asyncio
import datetime
import os
import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from palimpsest.context.engine_text.environment_changes import (
    EnvironmentChange,
    EnvironmentState,
    environment_changes,
    has_change_note,
    mentioned_words,
)
from palimpsest.context.engine_text.mutated_names import mutated_names
from palimpsest.context.engine_text.reminders import metadata_beside_newest, note_beside_newest
from palimpsest.context.engine_text.system_prompt import EnvironmentDetails
from palimpsest.context.visible_messages import View
from palimpsest.processor.session_log import SessionLog
from palimpsest.session.interfaces.services import Services
from palimpsest.tools.file_access.file_contents import (
    INSTRUCTION_NAMES,
    UnreadableForPrompt,
    read_for_prompt,
)
from palimpsest.tools.tool import Namespace, ShownVariables, VariableInfo
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.messages import MessageInfo, UserMessage
from palimpsest.transcript.parts import TextPart
from palimpsest.transcript.redaction.secret_names import is_secret_name
from palimpsest.transcript.redaction.secret_patterns import scrub_values
from palimpsest.transcript.redaction.secret_removal import looks_secret, secret_values
from palimpsest.transcript.session_record.events import PartUpdated
from palimpsest.transcript.session_record.sessions import SessionInfo


def path_in_project(notebook: str | None, start_folder: Path, project: Path) -> str | None:
    """Return the path of a notebook relative to the project, with forward slashes."""
    if notebook is None:
        return None
    return os.path.relpath(start_folder / notebook, project).replace(os.sep, "/")


def path_from_start(notebook: str | None, start_folder: Path, project: Path) -> str | None:
    """Return the path of a project's notebook relative to where its kernel started."""
    return path_in_project(notebook, project, start_folder)


MAX_INSTRUCTION_BYTES = 40_000
"""Maximum bytes of an instruction file; a longer one is truncated, since it would fill a small model's window."""
MAX_MATCHING_FILES = 100
"""Maximum number of files that one pattern of the setting ``instructions`` may match."""


def read_environment(
    model: str,
    cwd: Path,
    root: Path,
    notebook: str | None,
    created_ms: int,
    patterns: tuple[str, ...],
    problems: list[str],
) -> EnvironmentDetails:
    """Describe where a session works, as of its beginning; adds a sentence to ``problems`` for each file left out."""
    return EnvironmentDetails(
        model=model,
        directory=str(cwd),
        root=str(root),
        git=any((folder / ".git").exists() for folder in (cwd, *cwd.parents)),
        platform=platform.system().lower(),
        date=day_of(created_ms),
        notebook=notebook,
        instructions=read_instructions(cwd, root, problems)
        + read_matching_files(patterns, root, problems),
    )


def day_of(now_ms: int) -> str:
    """Return the day of a time in milliseconds since 1970, in this kernel's time zone."""
    moment = datetime.datetime.fromtimestamp(now_ms / 1000).astimezone()
    return moment.strftime("%a %b %d %Y")


def read_instructions(cwd: Path, root: Path, problems: list[str]) -> tuple[tuple[str, str], ...]:
    """Return path and content of each instruction file from the project down to the folder."""
    folders = [folder for folder in (cwd, *cwd.parents) if folder == root or root in folder.parents]
    # The first file name that exists in any of the folders is used, from every folder that has it.
    for name in INSTRUCTION_NAMES:
        paths = [folder / name for folder in reversed(folders) if (folder / name).is_file()]
        if readable := _instruction_texts(paths, lambda _: root, problems):
            return readable
    return ()


def read_matching_files(
    patterns: tuple[str, ...], root: Path, problems: list[str]
) -> tuple[tuple[str, str], ...]:
    """Return path and content of the files that the configuration names."""
    paths: dict[Path, None] = {}
    for pattern in patterns:
        path = Path(pattern)
        relative = path.relative_to(path.anchor)
        try:
            matching_paths = sorted(
                islice(Path(path.anchor).glob(str(relative)), MAX_MATCHING_FILES + 1)
            )
        except (OSError, RuntimeError) as error:
            problems.append(f"The instructions {pattern} are left out: {error}.")
            continue
        if len(matching_paths) > MAX_MATCHING_FILES:
            problems.append(f"Of the instructions {pattern}, {MAX_MATCHING_FILES} files are read.")
        paths.update(dict.fromkeys(matching_paths[:MAX_MATCHING_FILES]))
    files = [path for path in paths if path.is_file()]
    return _instruction_texts(files, lambda path: _confined_to(path, root), problems)


def _confined_to(path: Path, root: Path) -> Path | None:
    """Return the folder that the links of a file must stay in: the project, for a path in it; None for another path.

    A path outside the project comes from settings that are the user's own or that the user trusts.
    """
    normalised = Path(os.path.normpath(path))
    return root if normalised.is_relative_to(root) or path.is_relative_to(root) else None


def _instruction_texts(
    paths: Iterable[Path], confining_folder: Callable[[Path], Path | None], problems: list[str]
) -> tuple[tuple[str, str], ...]:
    contents: list[tuple[str, str]] = []
    for path in paths:
        try:
            data = read_for_prompt(path, confining_folder(path), MAX_INSTRUCTION_BYTES)
        except UnreadableForPrompt as reason:
            problems.append(f"The instructions {path} are left out: {reason}.")
        except OSError as error:
            problems.append(f"The instructions {path} cannot be read: {error.strerror}.")
        else:
            contents.append((str(path), data.decode("utf-8", "replace")))
    return tuple((path, text) for path, text in contents if text)


MAX_LIST_SECONDS = 0.5
"""Timeout of listing variables: a kernel busy with the user's own code is skipped until the next prompt."""


@dataclass(frozen=True, slots=True)
class _KernelState:
    """A kernel's variables at one moment: text by name, for all of them and for those that the prompt names."""

    variables: dict[str, str]
    mentioned_lines: dict[str, str]
    fingerprints: dict[str, tuple[int | None, bool]] = field(default_factory=dict)
    """Fingerprint of each variable, and whether it covers all of its contents."""


class EnvironmentUpdates:
    """Journals notes about changes of a session's environment, once with each prompt.

    Responsibilities: remember, as long as this kernel runs, which variables were described to the model last; write
    a note about changes.
    """

    def __init__(self, services: Services, log: SessionLog) -> None:
        self._services = services
        self._log = log
        self._joined_session_ids = services.sessions.joined_session_ids
        """Ids of the sessions in which this kernel took part, with or without a note about it."""
        session = log.state.session
        is_new = log.state.newest_message() is None
        if session is not None and (is_new or self._has_joined(session)):
            self._joined_session_ids.add(session.id)
        self._known_lines: dict[str, str] | None = None
        self._known_mentioned_lines: dict[str, str] = {}
        self._known_fingerprints: dict[str, tuple[int | None, bool]] = {}

    async def journal_changes(
        self,
        user: UserMessage,
        policy: Policy,
        namespace: Namespace | None,
        sources: Sequence[str] = (),
    ) -> None:
        """Journal a note about the changes with a prompt that was not sent yet; a second call does nothing.

        ``namespace`` is None where the model must not see variables. ``sources`` are those of the cells
        that the user ran since the last turn: variables that they mutate are noted where contents were not compared.
        """
        is_due = self._is_due(user)
        if policy.reminders.mode == "newest":
            self._journal_mode(policy)
        if not is_due:
            return
        kernel_state = None
        if policy.reminders.news:
            kernel_state = await self._read_kernel(namespace, self._words_of(user))
        state = self._log.state
        session = state.session
        now = self._services.clock()
        environment = EnvironmentState(
            first_date=day_of(session.time.created if session else now),
            date=day_of(now),
            agent=user.agent,
            plan=self._services.rules.effective_rules.mode_of(session) == "plan",
            variables=kernel_state.variables if kernel_state is not None else None,
            mentioned_lines=kernel_state.mentioned_lines if kernel_state is not None else {},
            known_lines=self._known_lines,
            known_mentioned_lines=self._known_mentioned_lines,
            was_kernel_used=self._has_joined(session),
            changed_variables=_changed_variables(self._known_fingerprints, kernel_state, sources),
        )
        visible_messages = View(state.messages(), state.decisions).folded_messages(policy.compact)
        changes = environment_changes(visible_messages, environment, policy.reminders)
        if kernel_state is not None:
            self._known_lines = kernel_state.variables
            self._known_fingerprints = kernel_state.fingerprints
            mentioned_lines = self._known_mentioned_lines | kernel_state.mentioned_lines
            self._known_mentioned_lines = {
                name: text
                for name, text in mentioned_lines.items()
                if name in kernel_state.variables
            }
        self._joined_session_ids.add(user.session_id)
        self._log.append(*(PartUpdated(part=self._part(user, change)) for change in changes))

    def _has_joined(self, session: SessionInfo | None) -> bool:
        if session is None:
            return False
        parent_id = session.forked_from.session_id if session.forked_from is not None else None
        return session.id in self._joined_session_ids or parent_id in self._joined_session_ids

    def _journal_mode(self, policy: Policy) -> None:
        """Write the mode beside the newest user message, where no visible message states it yet."""
        state = self._log.state
        if note_beside_newest(state.messages()) is None:
            return  # without a note for all messages, there is none for the visible ones
        visible_messages = View(state.messages(), state.decisions).folded_messages(policy.compact)
        note = note_beside_newest(visible_messages)
        if note is not None:
            message, text = note
            change = EnvironmentChange(text, metadata_beside_newest())
            self._log.append(PartUpdated(part=self._part(message.info, change)))

    def _is_due(self, user: UserMessage) -> bool:
        """Return whether this is the user's prompt that began the newest turn, with nothing written beside it yet."""
        if user.joins or user.by_engine:
            return False
        newest = self._log.state.newest_message()
        return newest is not None and newest.id == user.id and not has_change_note(newest)

    async def _read_kernel(
        self, namespace: Namespace | None, prompt_words: frozenset[str]
    ) -> "_KernelState | None":
        if namespace is None:
            return None
        try:
            request = ShownVariables(
                self._services.kernel.variables, prompt_words, with_fingerprints=True
            )
            variables = await asyncio.wait_for(namespace.list(request), MAX_LIST_SECONDS)
        except Exception:  # noqa: BLE001 - a kernel whose variables cannot be listed must not fail the turn
            return None
        secrets = secret_values(self._services.environment)
        named_variables = [variable for variable in variables if variable.name in prompt_words]
        return _KernelState(
            {variable.name: self._brief_text(variable) for variable in variables},
            {variable.name: self._variable_text(variable, secrets) for variable in named_variables},
            {v.name: (v.fingerprint, v.is_complete_fingerprint) for v in variables},
        )

    def _brief_text(self, variable: VariableInfo) -> str:
        """Return the description of a variable that no prompt names."""
        match self._services.kernel.variables:
            case "names":
                return ""
            case "names and types":
                return variable.type_and_summary
            case "values":
                return self._variable_text(variable, secret_values(self._services.environment))

    @staticmethod
    def _variable_text(variable: VariableInfo, secrets: tuple[str, ...]) -> str:
        if variable.value is None or is_secret_name(variable.name) or looks_secret(variable.value):
            return variable.type_and_summary
        return scrub_values(variable.shown_to_model, secrets)

    def _words_of(self, user: UserMessage) -> frozenset[str]:
        """Return the words of the prompt; a variable with such a name counts as named by it."""
        message = self._log.state.message(user.id)
        return mentioned_words((message,) if message is not None else ())

    def _part(self, message: MessageInfo, change: EnvironmentChange) -> TextPart:
        return TextPart(
            **self._services.ids.part(message.session_id, message.id),
            text=change.text,
            synthetic=True,
            metadata=dict(change.metadata),
        )


def _changed_variables(
    known_fingerprints: Mapping[str, tuple[int | None, bool]],
    kernel_state: _KernelState | None,
    sources: Sequence[str],
) -> dict[str, bool]:
    """Return the variables whose contents changed, by name; False where only the source of a cell shows it."""
    if kernel_state is None:
        return {}
    changed_names: dict[str, bool] = {}
    mutated_variables = frozenset[str]().union(*map(mutated_names, sources))
    for name, (fingerprint, is_complete) in kernel_state.fingerprints.items():
        known_fingerprint = known_fingerprints.get(name)
        if known_fingerprint is None:
            continue
        if (
            fingerprint is not None
            and known_fingerprint[0] is not None
            and fingerprint != known_fingerprint[0]
        ):
            changed_names[name] = True
        elif not is_complete and name in mutated_variables:
            changed_names[name] = False
    return changed_names

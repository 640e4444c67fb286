"""Read the place in which a session works, and tell the model before a prompt what is new in it.

Folders, platform, date and instruction files stand in the system prompt. Later changes of the clock
and the kernel stand beside the user's words as synthetic parts, so each is journaled before it is
sent and is sent the same in every later request. Of variables that a prompt does not name, no more
is told than the setting ``variables`` says: a value goes along only where somebody spoke of it.

A front end names a notebook relative to the folder in which its kernel started; the project may
begin above that folder, and two folders may each have an analysis.ipynb, so sessions are kept by
the path in the project.
"""

import asyncio
import datetime
import os
import platform
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from palimpsest.context.engine_text.environment_changes import (
    EnvironmentChange,
    EnvironmentState,
    environment_changes,
    mentioned_words,
    tells_changes,
)
from palimpsest.context.engine_text.reminders import beside_newest, metadata_beside_newest
from palimpsest.context.engine_text.system_prompt import EnvironmentDetails
from palimpsest.context.visible_messages.view import View
from palimpsest.session.engine.session_log import SessionLog
from palimpsest.tools.file_access.instruction_files import NAMES
from palimpsest.tools.file_access.safe_open import UnreadableForPrompt, read_for_prompt
from palimpsest.tools.tool import Detail, Namespace, ShownVariables, VariableInfo
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.ids import Ids
from palimpsest.transcript.messages import MessageInfo, UserMessage
from palimpsest.transcript.parts import TextPart
from palimpsest.transcript.redaction.text import (
    is_secret_name,
    looks_secret,
    scrub_values,
    secret_values,
)
from palimpsest.transcript.session_record.events import PartUpdated
from palimpsest.transcript.session_record.sessions import SessionInfo


def in_project(notebook: str | None, start: Path, project: Path) -> str | None:
    """Return the path of a notebook relative to the project, with forward slashes."""
    return _moved(notebook, start, project)


def from_start(notebook: str | None, start: Path, project: Path) -> str | None:
    """Return the path of a project's notebook relative to where its kernel started."""
    return _moved(notebook, project, start)


def _moved(notebook: str | None, was: Path, now: Path) -> str | None:
    if notebook is None:
        return None
    return os.path.relpath(was / notebook, now).replace(os.sep, "/")


INSTRUCTION_BYTES = 40_000
"""A longer instruction file is cut: it would fill the window of a small model by itself."""
MOST_FILES = 100
"""That one pattern of the setting ``instructions`` may name."""


def read_surroundings(
    model: str,
    cwd: Path,
    root: Path,
    notebook: str | None,
    created_ms: int,
    files: tuple[str, ...] = (),
    problems: list[str] | None = None,
) -> EnvironmentDetails:
    """Describe where a session works, as of its beginning; what is left out is told in ``problems``."""
    problems = [] if problems is None else problems
    return EnvironmentDetails(
        model=model,
        directory=str(cwd),
        root=str(root),
        git=any((folder / ".git").exists() for folder in (cwd, *cwd.parents)),
        platform=platform.system().lower(),
        date=day_of(created_ms),
        notebook=notebook,
        instructions=read_instructions(cwd, root, problems) + read_files(files, root, problems),
    )


def day_of(now_ms: int) -> str:
    """Return the day of a moment, where this kernel runs."""
    moment = datetime.datetime.fromtimestamp(now_ms / 1000).astimezone()
    return moment.strftime("%a %b %d %Y")


def read_instructions(cwd: Path, root: Path, problems: list[str]) -> tuple[tuple[str, str], ...]:
    """Return path and content of each instruction file from the project down to the folder."""
    folders = [folder for folder in (cwd, *cwd.parents) if folder == root or root in folder.parents]
    # The first name that exists anywhere on the way counts, with all its files.
    for name in NAMES:
        found = [folder / name for folder in reversed(folders) if (folder / name).is_file()]
        if readable := _texts(found, lambda _: root, problems):
            return readable
    return ()


def read_files(
    patterns: tuple[str, ...], root: Path, problems: list[str]
) -> tuple[tuple[str, str], ...]:
    """Return path and content of the files that the configuration names."""
    paths: dict[Path, None] = {}
    for pattern in patterns:
        path = Path(pattern)
        relative = path.relative_to(path.anchor)
        try:
            found = sorted(islice(Path(path.anchor).glob(str(relative)), MOST_FILES + 1))
        except (OSError, RuntimeError) as error:
            problems.append(f"The instructions {pattern} are left out: {error}.")
            continue
        if len(found) > MOST_FILES:
            problems.append(f"Of the instructions {pattern}, {MOST_FILES} files are read.")
        paths.update(dict.fromkeys(found[:MOST_FILES]))
    named = [path for path in paths if path.is_file()]
    return _texts(named, lambda path: _confined_to(path, root), problems)


def _confined_to(path: Path, root: Path) -> Path | None:
    """Return the folder that a named file must not leave: the project, for a name within it.

    A name outside comes from a person's own settings, or from ones that a person trusts.
    """
    named = Path(os.path.normpath(path))
    return root if named.is_relative_to(root) or path.is_relative_to(root) else None


def _texts(
    paths: Iterable[Path], within: Callable[[Path], Path | None], problems: list[str]
) -> tuple[tuple[str, str], ...]:
    found: list[tuple[str, str]] = []
    for path in paths:
        try:
            data = read_for_prompt(path, within(path), INSTRUCTION_BYTES)
        except UnreadableForPrompt as reason:
            problems.append(f"The instructions {path} are left out: {reason}.")
        except OSError as error:
            problems.append(f"The instructions {path} cannot be read: {error.strerror}.")
        else:
            found.append((str(path), data.decode("utf-8", "replace")))
    return tuple((path, text) for path, text in found if text)


LOOK_SECONDS = 0.5
"""A kernel that is busy with the user's own code is not waited for; there is a next prompt."""


@dataclass(frozen=True, slots=True)
class _KernelState:
    """What a kernel held when it was looked at."""

    variables: dict[str, str]
    named: dict[str, str]


class EnvironmentUpdates:
    """Tells a session's model what has changed, once with each prompt.

    Responsibilities: know what variables the model was told of last, which only holds as long as
    this kernel does; write what is new.
    """

    def __init__(
        self,
        log: SessionLog,
        ids: Ids,
        clock: Callable[[], int],
        environment: Mapping[str, str],
        plans: Callable[[], bool] = lambda: False,
        joined_sessions: set[str] | None = None,
        detail: Detail = "names and types",
    ) -> None:
        self._log = log
        self._ids = ids
        self._clock = clock
        self._plans = plans
        """Tells whether the session is in plan mode."""
        self._met: set[str] = set() if joined_sessions is None else joined_sessions
        """Ids of the sessions in which this kernel took part, told or not."""
        session = log.state.session
        if session is not None and (self._has_met(session) or not log.state.messages()):
            self._met.add(session.id)
        self._environment = environment
        self._detail = detail
        self._known: dict[str, str] | None = None
        self._known_named: dict[str, str] = {}

    async def tell(self, user: UserMessage, policy: Policy, namespace: Namespace | None) -> None:
        """Write what is new beside a prompt that was not sent yet; a second time does nothing.

        ``namespace`` is None where the model may not look at variables.
        """
        is_due = self._is_due(user)
        if policy.reminders.mode == "newest":
            self._say_beside_newest(policy)
        if not is_due:
            return
        look = None
        if policy.reminders.news:
            look = await self._look(namespace, self._named_in(user))
        variables = None if look is None else look.variables
        state = self._log.state
        session = state.session
        now = self._clock()
        situation = EnvironmentState(
            began=day_of(session.time.created if session else now),
            date=day_of(now),
            agent=user.agent,
            plan=self._plans(),
            variables=variables,
            named=look.named if look is not None else {},
            known=self._known,
            known_named=self._known_named,
            met=self._has_met(session),
        )
        seen = View(state.messages(), state.decisions).folded(policy.compact)
        found = environment_changes(seen, situation, policy.reminders)
        if look is not None:
            self._known = look.variables
            self._known_named = {
                name: told
                for name, told in (self._known_named | look.named).items()
                if name in look.variables
            }
        self._met.add(user.session_id)
        self._log.append(*(PartUpdated(part=self._part(user, item)) for item in found))

    def _has_met(self, session: SessionInfo | None) -> bool:
        if session is None:
            return False
        place = session.forked_from
        return session.id in self._met or (place is not None and place.session_id in self._met)

    def _say_beside_newest(self, policy: Policy) -> None:
        """Write which mode it is beside the newest user message, where nothing says so yet."""
        state = self._log.state
        if beside_newest(state.messages()) is None:
            return  # nor would it be of the fewer messages that the model still sees
        said = beside_newest(View(state.messages(), state.decisions).folded(policy.compact))
        if said is not None:
            message, text = said
            change = EnvironmentChange(text, metadata_beside_newest())
            self._log.append(PartUpdated(part=self._part(message.info, change)))

    def _is_due(self, user: UserMessage) -> bool:
        """Tell whether this is a person's prompt at the beginning of its turn."""
        if user.joins:
            return False
        if user.by_engine:
            return False
        messages = self._log.state.messages()
        newest = messages[-1] if messages else None
        return newest is not None and newest.id == user.id and not tells_changes(newest)

    async def _look(
        self, namespace: Namespace | None, named: frozenset[str]
    ) -> "_KernelState | None":
        if namespace is None:
            return None
        try:
            shown = ShownVariables(self._detail, named)
            found = await asyncio.wait_for(namespace.list(shown), LOOK_SECONDS)
        except Exception:  # noqa: BLE001 - a kernel that cannot be looked at is not worth a turn
            return None
        secrets = secret_values(self._environment)
        lines = [(one.name, self._unasked(one), self._told(one, secrets)) for one in found]
        return _KernelState(
            {name: unasked for name, unasked, _ in lines},
            {name: told for name, _, told in lines if name in named},
        )

    def _unasked(self, one: VariableInfo) -> str:
        """Return what is told of a variable of which nobody spoke."""
        match self._detail:
            case "names":
                return ""
            case "names and types":
                return one.plain
            case "values":
                return self._told(one, secret_values(self._environment))

    @staticmethod
    def _told(one: VariableInfo, secrets: tuple[str, ...]) -> str:
        if one.value is None or is_secret_name(one.name) or looks_secret(one.value):
            return one.plain
        return scrub_values(one.told, secrets)

    def _named_in(self, user: UserMessage) -> frozenset[str]:
        """Return the words of the prompt; a variable of that name is one that it names."""
        message = self._log.state.message(user.id)
        return mentioned_words((message,) if message is not None else ())

    def _part(self, message: MessageInfo, item: EnvironmentChange) -> TextPart:
        return TextPart(
            id=self._ids.new("prt"),
            session_id=message.session_id,
            message_id=message.id,
            text=item.text,
            synthetic=True,
            metadata=dict(item.metadata),
        )

"""Say what a prompt may name with an at sign, and what would go along, while it is typed.

Border: on the engine's loop and its worker threads. The texts are made by the functions that make them when the
prompt is sent, so that their tokens are the same; they are counted and thrown away. Nothing is asked, journaled
or kept, and no cell is waited for.
"""

import asyncio
import itertools
import os
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from palimpsest.session.interfaces.prompt_mentions import KernelIsBusy, NotCounted, QuietNamespace
from palimpsest.session.interfaces.services import Services
from palimpsest.session.prompts.hidden_variables import HiddenVariable
from palimpsest.session.prompts.mention_matches import ranked_matches
from palimpsest.session.prompts.notebook_mentions import MOST_MENTIONS, NotebookMentions, named_run
from palimpsest.session.prompts.prompt_expansion import SHOWN, Expander, run_tool
from palimpsest.session.prompts.prompt_syntax import (
    FileMention,
    NotebookMention,
    files_in,
    notebook_mentions,
)
from palimpsest.tools.file_access.gitignore import GitignoreRules, scan
from palimpsest.tools.file_access.paths import confine
from palimpsest.tools.permission_rules.permissions import Allowed, Denied, Verdict
from palimpsest.tools.tool import Abort, ToolContext
from palimpsest.transcript.context_values.cell_runs import CellRun
from palimpsest.transcript.context_values.prompt_mentions import (
    MentionList,
    MentionPreview,
    MentionRow,
    MentionState,
    MentionTarget,
)
from palimpsest.transcript.errors import NotFound, UserError
from palimpsest.transcript.messages import Messages
from palimpsest.transcript.parts import NotebookPart

MOST_CELLS = 200
MOST_VARIABLES = 1_000
MOST_FILES = 300
"""Rows of each kind in one answer; a person who types on finds the other files."""
FILES_READ = 20_000
FILES_SECONDS = 0.3
"""How far a project's folders are looked through for one answer, the upper ones first."""
ABOUT_CHARS = 80
COUNTED_FILES = 32
"""Files of which the tokens are remembered as long as they do not change."""

Decided = Callable[[str, Sequence[str]], Verdict]
"""``(permission, patterns)`` to what is decided already."""


@dataclass(eq=False, repr=False)
class MentionPreviews:
    """What prompts of one session may name, and what would go along.

    Responsibilities: list it without what rules deny; count a mention as it would be sent.
    """

    _services: Services
    _expander: Expander
    _decided: Callable[[str | None], Decided]
    _session_id: str
    _messages: Callable[[], Messages]
    _counted: dict[tuple[str, int, int], int | None] = field(default_factory=dict)
    _number: "itertools.count[int]" = field(default_factory=itertools.count)

    def __post_init__(self) -> None:
        self._mentions = NotebookMentions(self._services)

    async def offered(self, query: str = "", agent: str | None = None) -> MentionList:
        """Return what a prompt may name and no rule denies; ``query`` chooses among files."""
        return await asyncio.to_thread(self._offered, query, self._decided(agent))

    async def previews(self, text: str, agent: str | None = None) -> tuple[MentionPreview, ...]:
        """Return what would go along with each mention in a prompt, in order."""
        if "@" not in text or not self._expander.is_plain(text):
            return ()
        decided = self._decided(agent)
        found = {start: preview async for start, preview in self._in_files(text, decided)}
        async for start, preview in self._in_notebook(text, decided):
            found.setdefault(start, preview)
        return tuple(found[start] for start in sorted(found))

    # Mentions

    async def _in_files(
        self, text: str, decided: Decided
    ) -> AsyncIterator[tuple[int, MentionPreview]]:
        services = self._services
        known = self._expander.files_named(text, services.root, services.cwd)
        for file in known:
            yield file.start, await self._file(file, decided)
        for file in files_in(text, {one.path for one in known}):
            if "/" in file.path:
                yield file.start, _preview(f"@{file.path}", "file", file.path, "unknown")

    async def _in_notebook(
        self, text: str, decided: Decided
    ) -> AsyncIterator[tuple[int, MentionPreview]]:
        services = self._services
        if services.kernel.notebook is None:
            return
        runs = services.kernel.notebook.runs().runs
        left_out = self._expander.left_out(text, services.root, services.cwd)
        for at, one in enumerate(notebook_mentions(text, left_out)):
            typed = text[one.start : one.end]
            preview = _preview(typed, one.kind, one.target, "beyond")
            if at < MOST_MENTIONS:
                preview = await self._of_notebook(one, typed, runs, decided)
            yield one.start, preview

    async def _of_notebook(
        self, mention: NotebookMention, typed: str, runs: Sequence[CellRun], decided: Decided
    ) -> MentionPreview:
        made = _preview(typed, mention.kind, mention.target)
        permission = "variables" if mention.kind == "variable" else "notebook"
        verdict = decided(permission, [mention.target or "*"])
        if isinstance(verdict, Denied):
            return _changed(made, state="denied")
        if mention.kind == "variable":
            about, state = self._brief(mention.target)
        else:
            run = named_run(mention, runs)
            number = "" if run is None or run.number is None else str(run.number)
            made = _changed(made, name=number or made.name)
            about, state = "", _state_of(run)
            if run is not None and state == "sent" and mention.kind == "error":
                about = self._clean(_error_of(run))
        if state == "sent" and not isinstance(verdict, Allowed):
            state = "asks"
        made = _changed(made, state=state, about=about)
        return made if state != "sent" else await self._counted_mention(made, mention, runs)

    async def _counted_mention(
        self, made: MentionPreview, mention: NotebookMention, runs: Sequence[CellRun]
    ) -> MentionPreview:
        """Return a preview with the tokens of the parts that would be made."""
        try:
            parts = await self._mentions.part_of(self._namespace(), mention, runs, _no_ids)
        except NotFound:
            return _changed(made, state="unknown")
        except NotCounted:
            return _changed(made, state="uncounted")
        except (KernelIsBusy, TimeoutError):
            return _changed(made, state="busy")
        tokens = [one.tokens or 0 for one in parts if isinstance(one, NotebookPart)]
        return _changed(made, tokens=sum(tokens))

    def _namespace(self) -> QuietNamespace | None:
        found = self._services.kernel.quiet_namespace
        return found(self._session_id) if found is not None else None

    def _brief(self, path: str) -> tuple[str, MentionState]:
        namespace = self._namespace()
        try:
            return (namespace.brief(path) if namespace is not None else ""), "sent"
        except HiddenVariable:
            return "", "hidden"
        except NotFound:
            return "", "unknown"

    async def _file(self, mention: FileMention, decided: Decided) -> MentionPreview:
        made = _preview(f"@{mention.path}", "file", mention.path)
        services = self._services
        place = confine(mention.path, services.root, services.cwd)
        verdict = decided("read", [place.shown])
        if not isinstance(verdict, Allowed):
            state: MentionState = "denied" if isinstance(verdict, Denied) else "asks"
            return _changed(made, state=state)
        try:
            status = place.path.stat()
            key = (mention.path, status.st_mtime_ns, status.st_size)
            if key not in self._counted:
                self._counted[key] = await self._tokens_of(mention.path)
        except (UserError, OSError):
            return _changed(made, state="unreadable")
        while len(self._counted) > COUNTED_FILES:
            del self._counted[next(iter(self._counted))]
        tokens = self._counted.get(key)
        return _changed(made, tokens=tokens, state="uncounted" if tokens is None else "sent")

    async def _tokens_of(self, path: str) -> int | None:
        """Return the tokens of what is told of a file; None where it is a picture or a document."""
        outcome = await run_tool(
            self._services.agents.registry, "read", {"path": path}, self._tool_context()
        )
        if outcome.attachments:
            return None
        count = self._services.models.count(self._services.rules.policy.estimator)
        return count(SHOWN.format(path=path, output=outcome.output))

    def _tool_context(self) -> ToolContext:
        # Ids of its own: the read tool remembers which files it showed to which message of a session.
        name = f"preview-{next(self._number)}"
        return ToolContext(
            session_id=f"{self._session_id}-{name}",
            message_id=name,
            call_id=name,
            agent="",
            abort=Abort(),
            messages=self._messages(),
            root=self._services.root,
            cwd=self._services.cwd,
            metadata=lambda _title, _data: None,
            ask=_allowed_before,
            notebook=self._services.kernel.notebook,
            extra={"environment": self._services.environment},
        )

    # Rows

    def _offered(self, query: str, decided: Decided) -> MentionList:
        paths, more = _project_files(self._services.root)
        named = [_as_mention(one) for one in paths]
        matching = ranked_matches([one for one in named if _is_mention(one)], query)
        allowed = [one for one in matching if _may("read", one.removeprefix("./"), decided)]
        paths, more = allowed[:MOST_FILES], more or len(allowed) > MOST_FILES
        rows = [*self._variables(decided), *self._cells(decided)]
        return MentionList(rows=(*rows, *(_row(path, "file") for path in paths)), more=more or None)

    def _variables(self, decided: Decided) -> Iterator[MentionRow]:
        namespace = self._namespace()
        names = namespace.names() if namespace is not None else ()
        allowed = (one for one in names if _may("variables", one[0], decided))
        for name, about in itertools.islice(allowed, MOST_VARIABLES):
            yield _row(name, "variable", about)

    def _cells(self, decided: Decided) -> Iterator[MentionRow]:
        reader = self._services.kernel.notebook
        newest: dict[int, CellRun] = {}
        for run in reversed(reader.runs().runs if reader is not None else ()):
            if run.number is not None and not run.by_agent and not run.hidden:
                newest.setdefault(run.number, run)
        allowed = [run for number, run in newest.items() if _may("notebook", str(number), decided)][
            :MOST_CELLS
        ]
        error = next((run for run in allowed if run.status == "error"), None)
        if error is not None and _may("notebook", "*", decided):
            yield _row("error", "error", self._clean(_error_of(error)))
        for run in allowed:
            about = self._clean(_first_line(run.source))
            yield _row(f"cell {run.number}", "cell", about, failed=run.status == "error")
        for run in allowed:
            text = next((one.text for one in run.outputs if one.text.strip()), "")
            if run.outputs:
                about = self._clean(_first_line(text))
                yield _row(f"out {run.number}", "out", about, failed=run.status == "error")

    def _clean(self, text: str) -> str:
        return self._services.secrets.clean(text)[:ABOUT_CHARS]


def _row(text: str, kind: MentionTarget, about: str = "", *, failed: bool = False) -> MentionRow:
    return MentionRow(text=text, kind=kind, about=about, failed=failed or None)


def _preview(
    text: str, kind: MentionTarget, name: str, state: MentionState = "sent"
) -> MentionPreview:
    return MentionPreview(text=text, kind=kind, name=name, state=state)


def _changed(preview: MentionPreview, **fields: Any) -> MentionPreview:
    return preview.model_copy(update=fields)


def _may(permission: str, pattern: str, decided: Decided) -> bool:
    return not isinstance(decided(permission, [pattern]), Denied)


def _state_of(run: CellRun | None) -> MentionState:
    if run is None:
        return "unknown"
    return "hidden" if run.hidden else "sent"


def _no_ids() -> dict[str, str]:
    return {"id": "", "session_id": "", "message_id": ""}


async def _allowed_before(*_arguments: object, **_more: object) -> None:
    """Ask nobody: the preview looked at the rules before."""


def _first_line(text: str) -> str:
    """Return the first line of a text that says something, without anything that would break the line."""
    found = next((line for line in text.splitlines() if line.strip()), "")
    return " ".join(found.split())


def _error_of(run: CellRun) -> str:
    error = next((one.error for one in reversed(run.outputs) if one.error is not None), None)
    return _first_line(": ".join(filter(None, error))) if error is not None else ""


def _project_files(root: Path) -> tuple[list[str], bool]:
    """Return the paths of a project's files, the upper folders first, and whether there are more."""
    end = time.monotonic() + FILES_SECONDS
    waiting = deque([(root, GitignoreRules.at(root, root))])
    found: list[str] = []
    while waiting and len(found) < FILES_READ and time.monotonic() < end:
        folder, ignore = waiting.popleft()
        for one in scan(folder, ignore):
            if one.is_dir:
                waiting.append((one.path, ignore.below(one.path)))
            else:
                found.append(os.path.relpath(one.path, root).replace(os.sep, "/"))
    return found, bool(waiting)


def _as_mention(path: str) -> str:
    """Return a path as a prompt names it: a word without a dot or a slash would be a variable."""
    return path if "/" in path or "." in path else f"./{path}"


def _is_mention(path: str) -> bool:
    found = files_in(f"@{path}")
    return len(found) == 1 and found[0].path == path

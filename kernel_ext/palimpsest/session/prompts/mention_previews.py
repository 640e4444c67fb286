"""List what a prompt may name with an at sign, and preview what each mention adds to it, while it is typed.

Border: on the engine's loop and its worker threads. The texts are made by the same functions as for the prompt that
is sent, so their tokens are the same; they are counted and discarded. Nothing is asked, journaled or stored, and
no cell is waited for.
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
from palimpsest.session.prompts.notebook_mentions import MAX_MENTIONS, NotebookMentions, named_run
from palimpsest.session.prompts.prompt_expansion import FILE_SHOWN, Expander, run_tool
from palimpsest.session.prompts.prompt_syntax import (
    FileMention,
    NotebookMention,
    file_mentions,
    notebook_mentions,
)
from palimpsest.tools.file_access.gitignore import GitignoreRules, folder_entries
from palimpsest.tools.file_access.paths import resolve_path
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

MAX_CELLS = 200
MAX_VARIABLES = 1_000
MAX_FILES = 300
"""Maximum rows of each kind in one answer; typing more letters finds the other files."""
MAX_SEARCHED_FILES = 20_000
MAX_SEARCH_SECONDS = 0.3
"""Limits of the search through a project's folders for one answer; upper folders are searched first."""
MAX_ABOUT_CHARS = 80
MAX_CACHED_COUNTS = 32
"""Maximum number of files whose token counts are cached until the file changes."""

VerdictFunction = Callable[[str, Sequence[str]], Verdict]
"""``(permission, patterns)`` to the verdict of the rules and earlier answers."""


@dataclass(eq=False, repr=False)
class MentionPreviews:
    """Lists what prompts of one session may name, without what rules deny, and previews each mention."""

    _services: Services
    _expander: Expander
    _verdict_function: Callable[[str | None], VerdictFunction]
    _session_id: str
    _messages: Callable[[], Messages]
    _token_cache: dict[tuple[str, int, int], int | None] = field(default_factory=dict)
    _preview_numbers: "itertools.count[int]" = field(default_factory=itertools.count)

    def __post_init__(self) -> None:
        self._mentions = NotebookMentions(self._services)

    async def list_mentions(self, query: str = "", agent: str | None = None) -> MentionList:
        """Return the files, cells and variables that a prompt may name and no rule denies; ``query`` filters files."""
        return await asyncio.to_thread(self._mention_list, query, self._verdict_function(agent))

    async def previews(self, text: str, agent: str | None = None) -> tuple[MentionPreview, ...]:
        """Return a preview of what each mention adds to a prompt, in order."""
        if "@" not in text or not self._expander.is_plain(text):
            return ()
        decide = self._verdict_function(agent)
        preview_by_start = {
            start: preview async for start, preview in self._file_previews(text, decide)
        }
        async for start, preview in self._notebook_previews(text, decide):
            preview_by_start.setdefault(start, preview)
        return tuple(preview_by_start[start] for start in sorted(preview_by_start))

    # Mentions

    async def _file_previews(
        self, text: str, decide: VerdictFunction
    ) -> AsyncIterator[tuple[int, MentionPreview]]:
        services = self._services
        existing_files = self._expander.files_named(text, services.root, services.cwd)
        for file in existing_files:
            yield file.start, await self._file_preview(file, decide)
        for file in file_mentions(text, {file.path for file in existing_files}):
            if "/" in file.path:
                yield file.start, _preview(f"@{file.path}", "file", file.path, "unknown")

    async def _notebook_previews(
        self, text: str, decide: VerdictFunction
    ) -> AsyncIterator[tuple[int, MentionPreview]]:
        services = self._services
        if services.kernel.notebook is None:
            return
        runs = services.kernel.notebook.recorded_runs().runs
        excluded_names = self._expander.other_mentions(text, services.root, services.cwd)
        for index, mention in enumerate(notebook_mentions(text, excluded_names)):
            typed_text = text[mention.start : mention.end]
            preview = _preview(typed_text, mention.kind, mention.target, "beyond")
            if index < MAX_MENTIONS:
                preview = await self._notebook_preview(mention, typed_text, runs, decide)
            yield mention.start, preview

    async def _notebook_preview(
        self,
        mention: NotebookMention,
        typed_text: str,
        runs: Sequence[CellRun],
        decide: VerdictFunction,
    ) -> MentionPreview:
        preview = _preview(typed_text, mention.kind, mention.target)
        permission = "variables" if mention.kind == "variable" else "notebook"
        verdict = decide(permission, [mention.target or "*"])
        if isinstance(verdict, Denied):
            return _with_fields(preview, state="denied")
        if mention.kind == "variable":
            description, state = self._variable_brief(mention.target)
        else:
            run = named_run(mention, runs)
            number = "" if run is None or run.number is None else str(run.number)
            preview = _with_fields(preview, name=number or preview.name)
            description, state = "", _cell_state(run)
            if run is not None and state == "sent" and mention.kind == "error":
                description = self._clean(_error_of(run))
        if state == "sent" and not isinstance(verdict, Allowed):
            state = "asks"
        preview = _with_fields(preview, state=state, about=description)
        return preview if state != "sent" else await self._counted_mention(preview, mention, runs)

    async def _counted_mention(
        self, preview: MentionPreview, mention: NotebookMention, runs: Sequence[CellRun]
    ) -> MentionPreview:
        """Return a preview with the tokens of the parts that the mention adds to the prompt."""
        try:
            no_ids = {"id": "", "session_id": "", "message_id": ""}
            namespace = self._namespace()
            parts = await self._mentions.mention_parts(namespace, mention, runs, lambda: no_ids)
        except NotFound:
            return _with_fields(preview, state="unknown")
        except NotCounted:
            return _with_fields(preview, state="uncounted")
        except (KernelIsBusy, TimeoutError):
            return _with_fields(preview, state="busy")
        tokens = [part.tokens or 0 for part in parts if isinstance(part, NotebookPart)]
        return _with_fields(preview, tokens=sum(tokens))

    def _namespace(self) -> QuietNamespace | None:
        namespace_of = self._services.kernel.quiet_namespace
        return namespace_of(self._session_id) if namespace_of is not None else None

    def _variable_brief(self, path: str) -> tuple[str, MentionState]:
        namespace = self._namespace()
        try:
            return (namespace.type_and_shape(path) if namespace is not None else ""), "sent"
        except HiddenVariable:
            return "", "hidden"
        except NotFound:
            return "", "unknown"

    async def _file_preview(self, mention: FileMention, decide: VerdictFunction) -> MentionPreview:
        preview = _preview(f"@{mention.path}", "file", mention.path)
        services = self._services
        place = resolve_path(mention.path, services.root, services.cwd)
        verdict = decide("read", [place.display_path])
        if not isinstance(verdict, Allowed):
            state: MentionState = "denied" if isinstance(verdict, Denied) else "asks"
            return _with_fields(preview, state=state)
        try:
            status = place.path.stat()
            key = (mention.path, status.st_mtime_ns, status.st_size)
            if key not in self._token_cache:
                self._token_cache[key] = await self._tokens_of(mention.path)
        except (UserError, OSError):
            return _with_fields(preview, state="unreadable")
        while len(self._token_cache) > MAX_CACHED_COUNTS:
            del self._token_cache[next(iter(self._token_cache))]
        tokens = self._token_cache.get(key)
        return _with_fields(preview, tokens=tokens, state="uncounted" if tokens is None else "sent")

    async def _tokens_of(self, path: str) -> int | None:
        """Return the tokens that a file adds to the prompt; None for a picture or a document."""
        outcome = await run_tool(
            self._services.agents.registry, "read", {"path": path}, self._tool_context()
        )
        if outcome.attachments:
            return None
        count = self._services.models.count(self._services.rules.policy.estimator)
        return count(FILE_SHOWN.format(path=path, output=outcome.output))

    def _tool_context(self) -> ToolContext:
        # Ids of its own: the read tool remembers which files it showed to which message of a session.
        name = f"preview-{next(self._preview_numbers)}"
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
            ask=_ask_nothing,
            notebook=self._services.kernel.notebook,
            extra_values={"environment": self._services.environment},
        )

    # Rows

    def _mention_list(self, query: str, decide: VerdictFunction) -> MentionList:
        paths, has_more = _project_files(self._services.root)
        mentions = [mention for path in paths if _is_mention(mention := _as_mention(path))]
        allowed_rows = [
            _row(mention, "file")
            for mention in ranked_matches(mentions, query)
            if _is_allowed("read", mention.removeprefix("./"), decide)
        ]
        has_more = has_more or len(allowed_rows) > MAX_FILES
        rows = (*self._variable_rows(decide), *self._cell_rows(decide), *allowed_rows[:MAX_FILES])
        return MentionList(rows=rows, more=has_more or None)

    def _variable_rows(self, decide: VerdictFunction) -> Iterator[MentionRow]:
        namespace = self._namespace()
        names = namespace.names() if namespace is not None else ()
        allowed_entries = (entry for entry in names if _is_allowed("variables", entry[0], decide))
        for name, description in itertools.islice(allowed_entries, MAX_VARIABLES):
            yield _row(name, "variable", description)

    def _cell_rows(self, decide: VerdictFunction) -> Iterator[MentionRow]:
        reader = self._services.kernel.notebook
        newest_runs: dict[int, CellRun] = {}
        for run in reversed(reader.recorded_runs().runs if reader is not None else ()):
            if run.number is not None and not run.by_agent and not run.hidden:
                newest_runs.setdefault(run.number, run)
        allowed_runs = [
            run
            for number, run in newest_runs.items()
            if _is_allowed("notebook", str(number), decide)
        ][:MAX_CELLS]
        failed_run = next((run for run in allowed_runs if run.status == "error"), None)
        if failed_run is not None and _is_allowed("notebook", "*", decide):
            yield _row("error", "error", self._clean(_error_of(failed_run)))
        for run in allowed_runs:
            yield self._run_row(run, "cell", run.source)
        for run in allowed_runs:
            if run.outputs:
                text = next((output.text for output in run.outputs if output.text.strip()), "")
                yield self._run_row(run, "out", text)

    def _run_row(self, run: CellRun, kind: MentionTarget, text: str) -> MentionRow:
        description = self._clean(_first_line(text))
        return _row(f"{kind} {run.number}", kind, description, has_failed=run.status == "error")

    def _clean(self, text: str) -> str:
        return self._services.secrets.clean(text)[:MAX_ABOUT_CHARS]


def _row(
    text: str, kind: MentionTarget, description: str = "", *, has_failed: bool = False
) -> MentionRow:
    return MentionRow(text=text, kind=kind, about=description, failed=has_failed or None)


def _preview(
    text: str, kind: MentionTarget, name: str, state: MentionState = "sent"
) -> MentionPreview:
    return MentionPreview(text=text, kind=kind, name=name, state=state)


def _with_fields(preview: MentionPreview, **fields: Any) -> MentionPreview:
    return preview.model_copy(update=fields)


def _is_allowed(permission: str, pattern: str, decide: VerdictFunction) -> bool:
    return not isinstance(decide(permission, [pattern]), Denied)


def _cell_state(run: CellRun | None) -> MentionState:
    if run is None:
        return "unknown"
    return "hidden" if run.hidden else "sent"


async def _ask_nothing(*_arguments: object, **_more: object) -> None:
    """Ask nothing: the preview has checked the rules already."""


def _first_line(text: str) -> str:
    """Return the first line of a text that is not blank, with single spaces."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    return " ".join(first.split())


def _error_of(run: CellRun) -> str:
    error_lines = next(
        (output.error for output in reversed(run.outputs) if output.error is not None), ()
    )
    return _first_line(": ".join(filter(None, error_lines)))


def _project_files(root: Path) -> tuple[list[str], bool]:
    """Return the paths of a project's files, upper folders first, and whether there are more."""
    deadline = time.monotonic() + MAX_SEARCH_SECONDS
    unread_folders = deque([(root, GitignoreRules.rules_at(root, root))])
    paths: list[str] = []
    while unread_folders and len(paths) < MAX_SEARCHED_FILES and time.monotonic() < deadline:
        folder, ignore = unread_folders.popleft()
        for entry in folder_entries(folder, ignore):
            if entry.is_dir:
                unread_folders.append((entry.path, ignore.rules_below(entry.path)))
            else:
                paths.append(os.path.relpath(entry.path, root).replace(os.sep, "/"))
    return paths, bool(unread_folders)


def _as_mention(path: str) -> str:
    """Return a path as a prompt names it: a word without a dot or a slash would be a variable."""
    return path if "/" in path or "." in path else f"./{path}"


def _is_mention(path: str) -> bool:
    mentions = file_mentions(f"@{path}")
    return len(mentions) == 1 and mentions[0].path == path

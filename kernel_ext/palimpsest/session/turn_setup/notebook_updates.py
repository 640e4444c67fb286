"""Journal a note beside a prompt about the cells that the user ran since the last turn.

Border: on the engine's loop; reads the kernel's record of runs and writes a notebook part, which is journaled
before it is sent and is the same in every later request. The runs that were noted are read from the session's
own messages, so a session that is opened again does not note them twice. What the agent changed in cells itself is no
news to it; what the user took back of it is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from palimpsest.context.engine_text.notebook_edits import (
    OWN_CHANGE,
    CellEdit,
    cell_edits,
    source_hashes,
)
from palimpsest.context.engine_text.notebook_note import (
    MAX_IMAGES,
    MAX_WINDOW_SHARE,
    NotebookNote,
    NoteImage,
    NoteLimits,
    notebook_note,
)
from palimpsest.processor.session_log import SessionLog
from palimpsest.session.interfaces.services import Services
from palimpsest.store.blobs.blob_storage import keep_attachment
from palimpsest.tools.calls.images import fit_image
from palimpsest.tools.notebook.seen_sources import changes_of_call
from palimpsest.tools.web.html_tokens import markup_text
from palimpsest.transcript.context_values.cell_changes import CellAction, MadeChange
from palimpsest.transcript.context_values.cell_runs import CellRun, source_hash
from palimpsest.transcript.context_values.page_cells import CellsWanted, PageNotebook
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.messages import UserMessage, parts_of
from palimpsest.transcript.parts import (
    CELL,
    KERNEL,
    FilePart,
    NotebookPart,
    NotedCell,
    NotedEdit,
    Part,
    ResourceSource,
    ToolPart,
)
from palimpsest.transcript.session_record.events import PartUpdated
from palimpsest.transcript.values import ModelInfo

NOTEBOOK_TOOL = "notebook"
"""Where a rule denies this tool, the user's cells are not described either."""
MAX_PAGE_SECONDS = 0.15
"""How long a turn waits for a page to report its cells; a slower page is noted with the next prompt."""
_ACTION_NOUNS: Mapping[CellAction, str] = {
    "insert": "the insertion",
    "edit": "your edit",
    "move": "the move",
    "delete": "the deletion",
}


@dataclass(frozen=True, slots=True)
class _NotedRuns:
    """The runs of this kernel and the edits that a session's messages describe."""

    last_serial: int
    cells: dict[int, NotedCell]
    """The cell in the newest note about each run, by the run's serial number."""
    edits: dict[str, NotedEdit]
    """The newest noted edit of each cell, by its id; also those that the agent made itself."""
    reviews: frozenset[str]
    """Names of the changes that the user took back and that a note told, as in ``NotebookPart.reviews``."""


class NotebookUpdates:
    """Journals notes about the user's runs for one session."""

    def __init__(self, services: Services, log: SessionLog) -> None:
        self._services = services
        self._log = log
        self._source_hashes: dict[str, str] | None = None
        """Hashes of the cells' sources at the last turn, once a page reported them."""
        self._asked_prompt_id = ""
        """The prompt for which the pages were asked last."""

    def sources(self) -> tuple[str, ...]:
        """Return the sources of the cells that no note describes yet, hidden ones too."""
        reader = self._services.kernel.notebook
        if reader is None:
            return ()
        through_serial = self._read_noted_runs(reader.kernel).last_serial
        return tuple(
            run.source
            for run in reader.recorded_runs().runs
            if run.serial > through_serial and not run.by_agent
        )

    async def journal_changes(self, user: UserMessage, policy: Policy, info: ModelInfo) -> None:
        """Journal a note about new runs with a prompt that was not sent yet; a second call does nothing."""
        reader, session = self._services.kernel.notebook, self._log.state.session
        if reader is None or not policy.reminders.news or (session and session.is_child):
            return
        if user.joins or user.by_engine or not self._is_newest(user):
            return
        pages = await self._cells_of_pages(user)
        recorded_runs = reader.recorded_runs().runs
        noted_runs = self._read_noted_runs(reader.kernel)
        edits: Sequence[CellEdit] = ()
        if pages is not None:
            edits = cell_edits(pages, recorded_runs, noted_runs.edits, self._source_hashes)
            self._source_hashes = source_hashes(pages)
        new_runs = [
            run
            for run in recorded_runs
            if run.serial > noted_runs.last_serial
            and run.serial not in noted_runs.cells
            # The output of this session's own call has told it.
            and run.requested_by != user.session_id
            and _has_ended(run, user)
        ]
        later_runs = [
            run
            for run in recorded_runs
            if run.serial in noted_runs.cells and run.version > noted_runs.cells[run.serial].version
        ]
        rejections = self._untold_rejections(noted_runs.reviews)
        note = notebook_note(
            new_runs,
            later_runs,
            self._note_limits(info),
            self._services.models.count(policy.estimator),
            self._services.secrets.clean,
            markup_text,
            edits,
            tuple(rejections.values()),
        )
        if note is not None:
            hidden_count = sum(bool(run.hidden) for run in new_runs)
            through_serial = max([noted_runs.last_serial, *(run.serial for run in new_runs)])
            parts = self._note_parts(
                user, note, hidden_count, through_serial, policy, tuple(rejections)
            )
            self._log.append(*(PartUpdated(part=part) for part in parts))

    async def _cells_of_pages(self, user: UserMessage) -> Sequence[PageNotebook] | None:
        """Return the cells of open pages, once for each prompt; None where no page answers in time."""
        kernel = self._services.kernel
        reader, is_asked = kernel.notebook, self._asked_prompt_id == user.id
        if reader is None or kernel.notebook_detail != "all" or is_asked:
            return None
        self._asked_prompt_id = user.id
        return await reader.page(CellsWanted(), MAX_PAGE_SECONDS)

    def _note_limits(self, info: ModelInfo) -> NoteLimits:
        kernel = self._services.kernel
        max_tokens = kernel.notebook_tokens
        if info.window:
            max_tokens = min(max_tokens, int(info.window * MAX_WINDOW_SHARE))
        return NoteLimits(kernel.notebook_detail, max_tokens, MAX_IMAGES if info.vision else 0)

    def _is_newest(self, user: UserMessage) -> bool:
        newest = self._log.state.newest_message()
        if newest is None or newest.id != user.id:
            return False
        parts = [part for part in newest.parts if isinstance(part, NotebookPart)]
        return all(part.about != "runs" for part in parts)

    def _read_noted_runs(self, kernel: str) -> _NotedRuns:
        through_serial = 0
        newest_message = self._log.state.newest_message()
        cells: dict[int, NotedCell] = {}
        edits: dict[str, NotedEdit] = {}
        reviews: set[str] = set()
        for message in self._log.state.messages():
            for part in message.parts:
                if isinstance(part, ToolPart):
                    edits |= _own_edits(part)
                if not isinstance(part, NotebookPart):
                    continue
                reviews.update(part.reviews)
                if part.kernel != kernel:
                    continue
                if part.about == "runs":
                    through_serial = max(through_serial, part.through)
                    edits |= {edit.cell_id: edit for edit in part.edits}
                if part.about == "runs" or message is newest_message:
                    cells |= {cell.serial: cell for cell in part.cells}
        return _NotedRuns(through_serial, cells, edits, frozenset(reviews))

    def _untold_rejections(self, told_names: frozenset[str]) -> dict[str, str]:
        """Return lines about changes that the user took back and that no note tells yet, by their names."""
        return {
            name: line
            for part in parts_of(self._log.state.messages())
            if isinstance(part, ToolPart)
            for name, line in _rejections_of(part).items()
            if name not in told_names
        }

    def _note_parts(
        self,
        user: UserMessage,
        note: NotebookNote,
        hidden_count: int,
        through_serial: int,
        policy: Policy,
        reviews: tuple[str, ...],
    ) -> list[Part]:
        reader = self._services.kernel.notebook
        notebook_part = NotebookPart(
            **self._services.ids.part(user.session_id, user.id),
            text=note.text,
            cells=note.cells,
            omitted=note.omitted_cells,
            edits=note.edits,
            reviews=reviews,
            kernel=reader.kernel if reader is not None else "",
            through=through_serial,
            hidden=hidden_count,
            tokens=self._services.models.count(policy.estimator)(note.text),
        )
        pictures = [self._picture_part(user, image) for image in note.images]
        return [notebook_part, *filter(None, pictures)]

    def _picture_part(self, user: UserMessage, image: NoteImage) -> FilePart | None:
        """Return a picture of a cell as a file of the prompt; None where no model would take it."""
        name = f"cell {image.cell.number or image.cell.serial}"
        try:
            fitted = fit_image(image.data, f"The picture of {name}")
        except UserError:
            return None
        return FilePart(
            **self._services.ids.part(user.session_id, user.id),
            mime=fitted.mime,
            filename=f"{name.replace(' ', '-')}.{fitted.mime.rpartition('/')[2]}",
            url=keep_attachment(self._services.store, fitted.url),
            source=ResourceSource(
                type="resource", client_name=KERNEL, uri=f"{CELL}{image.cell.number or ''}"
            ),
        )


def _has_ended(run: CellRun, user: UserMessage) -> bool:
    """Return whether a run has ended, so that it can be noted; a cell that sends a prompt is still running."""
    if run.status != "running":
        return True
    return user.origin is None or user.origin.kind != "cell"


def _own_edits(part: ToolPart) -> dict[str, NotedEdit]:
    """Return the changes that a call made, and that the model knows of, as noted edits by cell id."""
    edits: dict[str, NotedEdit] = {}
    for change in changes_of_call(part):
        is_made = change.state in ("open", "accepted")
        if change.action == "move" or not (is_made or change.undone):
            continue
        source = change.new if is_made else change.old
        is_gone = source is None
        edits[change.cell] = NotedEdit(
            cell_id=change.cell,
            number=change.number,
            serial=OWN_CHANGE,
            state="deleted" if is_gone else "edited",
            mark="" if source is None else source_hash(source),
        )
    return edits


def _rejections_of(part: ToolPart) -> dict[str, str]:
    """Return a line about each change of a call that the user took back afterwards, by the change's name."""
    return {
        f"{part.call_id}:{index}": _rejection_line(change)
        for index, change in enumerate(changes_of_call(part))
        if change.state == "rejected" and change.undone
    }


def _rejection_line(change: MadeChange) -> str:
    cell_text = f"cell {change.number} id={change.cell}" if change.number else f"cell {change.cell}"
    reason = f" Reason: {change.reason}" if change.reason else ""
    return f"- {_ACTION_NOUNS[change.action]} of {cell_text}.{reason}"

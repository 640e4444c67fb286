"""Tell the model, beside a prompt, what the user ran in the notebook since the last turn.

Border: on the engine's loop; reads what the kernel recorded and writes a notebook part, which is journaled
before it is sent and sent the same in every later request. Which runs were told is read from the session's
own messages, so a session that is opened again does not tell them twice.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from palimpsest.context.engine_text.notebook_edits import CellEdit, cell_edits, marks_of
from palimpsest.context.engine_text.notebook_note import (
    MOST_IMAGES,
    WINDOW_SHARE,
    NotebookNote,
    NoteImage,
    NoteLimits,
    notebook_note,
)
from palimpsest.processor.session_log import SessionLog
from palimpsest.session.interfaces.services import Services
from palimpsest.store.blobs.blob_storage import keep_attachment
from palimpsest.tools.calls.images import fit_image
from palimpsest.tools.web.html_tokens import markup_text
from palimpsest.transcript.context_values.cell_runs import CellRun
from palimpsest.transcript.context_values.page_cells import CellsWanted, PageNotebook
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.messages import UserMessage
from palimpsest.transcript.parts import (
    CELL,
    KERNEL,
    FilePart,
    NotebookPart,
    NotedCell,
    NotedEdit,
    Part,
    ResourceSource,
)
from palimpsest.transcript.session_record.events import PartUpdated
from palimpsest.transcript.values import ModelInfo

NOTEBOOK_TOOL = "notebook"
"""Where a rule denies this tool, nothing is told of the user's cells either."""


PAGE_SECONDS = 0.15
"""How long a turn waits for what a page shows; a slower page is told with the next prompt."""


@dataclass(frozen=True, slots=True)
class _Told:
    """What a session's messages say of the runs of this kernel."""

    through: int
    cells: dict[int, NotedCell]
    """The cells that the newest note about each run told, by the run's serial number."""
    edits: dict[str, NotedEdit]
    """The newest edit that was told of each cell, by its id."""


class NotebookUpdates:
    """Tells one session's model what the user ran."""

    def __init__(self, services: Services, log: SessionLog) -> None:
        self._services = services
        self._log = log
        self._marks: dict[str, str] | None = None
        """Marks of the cells' sources at the last turn, once a page told them."""
        self._asked = ""
        """The prompt for which the pages were asked last."""

    def sources(self) -> tuple[str, ...]:
        """Return the sources of the cells that the model was not told of yet, hidden ones too."""
        reader = self._services.kernel.notebook
        if reader is None:
            return ()
        through = self._told(reader.kernel).through
        return tuple(
            one.source for one in reader.runs().runs if one.serial > through and not one.by_agent
        )

    async def tell(self, user: UserMessage, policy: Policy, info: ModelInfo) -> None:
        """Write what is new beside a prompt that was not sent yet; a second time does nothing."""
        reader, session = self._services.kernel.notebook, self._log.state.session
        if reader is None or not policy.reminders.news or (session and session.is_child):
            return
        if user.joins or user.by_engine or not self._is_newest(user):
            return
        pages = await self._pages(user)
        recorded = reader.runs().runs
        told = self._told(reader.kernel)
        edits = self._edits(pages, recorded, told)
        new = [
            one
            for one in recorded
            if one.serial > told.through and one.serial not in told.cells and _has_ended(one, user)
        ]
        later = [
            one
            for one in recorded
            if one.serial in told.cells and one.version > told.cells[one.serial].version
        ]
        note = notebook_note(
            new,
            later,
            self._limits(info),
            self._services.models.count(policy.estimator),
            self._services.secrets.clean,
            markup_text,
            edits,
        )
        if note is not None:
            hidden = sum(bool(one.hidden) for one in new)
            through = max([told.through, *(one.serial for one in new)])
            parts = self._parts(user, note, hidden, through, policy)
            self._log.append(*(PartUpdated(part=part) for part in parts))

    async def _pages(self, user: UserMessage) -> Sequence[PageNotebook] | None:
        """Return what open pages show, once for each prompt; None where nobody answers at once."""
        reader = self._services.kernel.notebook
        if (
            reader is None
            or self._services.kernel.notebook_detail != "all"
            or self._asked == user.id
        ):
            return None
        self._asked = user.id
        return await reader.page(CellsWanted(), PAGE_SECONDS)

    def _edits(
        self, pages: Sequence[PageNotebook] | None, recorded: Sequence[CellRun], told: _Told
    ) -> Sequence[CellEdit]:
        if pages is None:
            return ()
        found = cell_edits(pages, recorded, told.edits, self._marks)
        self._marks = marks_of(pages)
        return found

    def _limits(self, info: ModelInfo) -> NoteLimits:
        tokens = self._services.kernel.notebook_tokens
        if info.window:
            tokens = min(tokens, int(info.window * WINDOW_SHARE))
        return NoteLimits(
            self._services.kernel.notebook_detail, tokens, MOST_IMAGES if info.vision else 0
        )

    def _is_newest(self, user: UserMessage) -> bool:
        newest = self._log.state.newest_message()
        return (
            newest is not None
            and newest.id == user.id
            and not any(
                isinstance(part, NotebookPart) and part.about == "runs" for part in newest.parts
            )
        )

    def _told(self, kernel: str) -> _Told:
        through = 0
        newest = self._log.state.newest_message()
        cells: dict[int, NotedCell] = {}
        edits: dict[str, NotedEdit] = {}
        for message in self._log.state.holding("notebook"):
            for part in message.parts:
                if not isinstance(part, NotebookPart) or part.kernel != kernel:
                    continue
                if part.about == "runs":
                    through = max(through, part.through)
                    edits |= {one.cell_id: one for one in part.edits}
                if part.about == "runs" or message is newest:
                    cells |= {one.serial: one for one in part.cells}
        return _Told(through, cells, edits)

    def _parts(
        self, user: UserMessage, note: NotebookNote, hidden: int, through: int, policy: Policy
    ) -> list[Part]:
        reader = self._services.kernel.notebook
        parts: list[Part] = [
            NotebookPart(
                **self._services.ids.part(user.session_id, user.id),
                text=note.text,
                cells=note.cells,
                omitted=note.omitted,
                edits=note.edits,
                kernel=reader.kernel if reader is not None else "",
                through=through,
                hidden=hidden,
                tokens=self._services.models.count(policy.estimator)(note.text),
            )
        ]
        for image in note.images:
            part = self._picture(user, image)
            if part is not None:
                parts.append(part)
        return parts

    def _picture(self, user: UserMessage, image: NoteImage) -> FilePart | None:
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
    """Return whether a run is told with this prompt: not the cell that asks it."""
    if run.status != "running":
        return True
    return user.origin is None or user.origin.kind != "cell"

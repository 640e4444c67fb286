"""Find which source of each cell the model saw last, in the session's own messages.

Border: pure. The model saw sources in the notes beside prompts, in outputs of the notebook tool, in its own changes, and in
refusals of changes. A cell whose source is another one now is not changed, since a person changed it meanwhile.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from palimpsest.transcript.context_values.cell_changes import CELLS_KEY, MadeChange
from palimpsest.transcript.context_values.cell_runs import SEEN_KEY, NotebookRuns, source_hash
from palimpsest.transcript.messages import Message
from palimpsest.transcript.parts import NotebookPart, ToolCompleted, ToolPart
from palimpsest.transcript.redaction.secret_patterns import scrub

NOTEBOOK_TOOL, CELLS_TOOL = "notebook", "cells"
MAX_PARAGRAPHS = 200
"""Maximum paragraphs of an output that are taken together to find the end of a source."""
_SOURCE_HEADING = "[source"


@dataclass(frozen=True, slots=True)
class SeenSource:
    """A source that the model saw."""

    mark: str
    """Hash of the source, as of ``source_hash``."""
    source: str | None = None
    """The source, where it was kept apart."""
    shown_in: str = ""
    """The note or the output that shows the source among other text; empty where it was shown by itself."""

    def shows(self, source: str) -> bool:
        """Return whether the model saw exactly ``source``, and all of it but keys: notes and outputs cut long sources."""
        forms = (source, scrub(source)) if self.shown_in else ()
        return self.mark == source_hash(source) and (
            not forms or any(form.strip("\n") in self.shown_in for form in forms)
        )

    def text(self) -> str | None:
        """Return the source, or None where only its hash is known."""
        if self.source is not None:
            return self.source
        possible_sources = _possible_sources(self.shown_in)
        return next((text for text in possible_sources if source_hash(text) == self.mark), None)


def seen_sources(
    messages: Sequence[Message], recorded_runs: NotebookRuns, kernel: str
) -> dict[str, SeenSource]:
    """Return the source of each cell that the model saw last, by cell id."""
    sources_by_serial = {run.serial: run.source for run in recorded_runs.runs}
    seen_by_id: dict[str, SeenSource] = {}
    for message in messages:
        for part in message.parts:
            if isinstance(part, NotebookPart) and part.kernel == kernel:
                _add_note(seen_by_id, part, sources_by_serial)
            elif isinstance(part, ToolPart) and part.tool in (NOTEBOOK_TOOL, CELLS_TOOL):
                _add_call(seen_by_id, part)
    return seen_by_id


def changes_of_call(part: ToolPart) -> tuple[MadeChange, ...]:
    """Return the changes of cells that a call made or proposed; empty for other calls, and for values of another form."""
    values = getattr(part.state, "metadata", {}).get(CELLS_KEY)
    if part.tool != CELLS_TOOL or not isinstance(values, list):
        return ()
    try:
        return tuple(MadeChange.model_validate(value) for value in values)
    except ValueError:
        return ()


def _add_note(
    seen_by_id: dict[str, SeenSource], part: NotebookPart, sources_by_serial: Mapping[int, str]
) -> None:
    for cell in part.cells:
        source = sources_by_serial.get(cell.serial)
        if cell.cell_id and source is not None:
            seen_by_id[cell.cell_id] = SeenSource(source_hash(source), source, part.text)
    for edit in part.edits:
        source = sources_by_serial.get(edit.serial)
        if edit.state == "edited":
            seen_by_id[edit.cell_id] = SeenSource(edit.mark, shown_in=part.text)
        elif edit.state == "as it ran" and source is not None:
            seen_by_id[edit.cell_id] = SeenSource(source_hash(source), source)


def _add_call(seen_by_id: dict[str, SeenSource], part: ToolPart) -> None:
    shown_hashes = getattr(part.state, "metadata", {}).get(SEEN_KEY)
    output = part.state.output if isinstance(part.state, ToolCompleted) else ""
    for cell_id, shown_hash in shown_hashes.items() if isinstance(shown_hashes, dict) else ():
        earlier_source = seen_by_id.get(cell_id)
        if earlier_source is None or earlier_source.mark != shown_hash:
            seen_by_id[str(cell_id)] = SeenSource(str(shown_hash), shown_in=output)
        elif earlier_source.shown_in:
            shown_in = f"{earlier_source.shown_in}\n\n{output}" if output else ""
            seen_by_id[str(cell_id)] = replace(earlier_source, shown_in=shown_in)
    for change in changes_of_call(part):
        source = change.old if change.state == "rejected" else change.new
        if change.state in ("open", "accepted", "rejected") and source is not None:
            seen_by_id[change.cell] = SeenSource(source_hash(source), source)


def _possible_sources(output: str) -> Iterator[str]:
    """Return the texts in an output of the notebook tool that may be a source, since a source may hold headings, too."""
    for heading in output.split(f"\n\n{_SOURCE_HEADING}")[1:]:
        paragraphs = heading.partition("]\n")[2].split("\n\n")
        for count in range(1, min(len(paragraphs), MAX_PARAGRAPHS) + 1):
            yield "\n\n".join(paragraphs[:count])

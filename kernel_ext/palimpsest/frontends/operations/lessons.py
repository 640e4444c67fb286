"""The command ``palimpsest lessons``: list the lessons, copy their notebooks, and show a class's results.

Border: the modules of ``lessons`` are imported when the command runs.
"""

from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import ConfigDict

from palimpsest.frontends.operation_base.operation import (
    Argument,
    FileName,
    Operation,
    OperationContext,
    Unvalidated,
    terminal_form,
)
from palimpsest.frontends.operation_text.command_report import CommandReport
from palimpsest.frontends.operation_text.page_file import checked_page_file, write_page_file
from palimpsest.home_paths import home_path
from palimpsest.render.reports.table import ReportTable, TableColumn
from palimpsest.transcript.errors import UserError

NO_FOLDER = "Name the folder: palimpsest lessons {action} FOLDER."
AUDIENCES = ("learners", "teachers", "nbgrader", "otter")
COLUMNS = (
    TableColumn("lesson", "lesson", "count"),
    TableColumn("title", "title"),
    TableColumn("question", "question"),
    TableColumn("minutes", "minutes", "count"),
    TableColumn("notebook", "notebook"),
)


class Lessons(Operation):
    """List the lessons, copy their notebooks into a folder, or show what a class predicted."""

    model_config = ConfigDict(use_attribute_docstrings=True)
    in_page: ClassVar[bool] = False
    type: Literal["lessons"] = "lessons"
    action: Annotated[
        Literal["list", "copy", "results"],
        Unvalidated(),
        Argument("{list,copy,results}", "action", nargs="?", choices=("list", "copy", "results")),
    ] = "list"
    """list them, copy their notebooks into FOLDER, or show the results of the learners in FOLDER"""
    folder: Annotated[FileName | None, Argument("FOLDER", "folder", nargs="?")] = None
    """the folder to copy to, or the one with the learners' lesson-results"""
    audience: Annotated[
        Literal["learners", "teachers", "nbgrader", "otter"],
        Unvalidated(),
        Argument("{learners,teachers,nbgrader,otter}", "--for", dest="audience", choices=AUDIENCES),
    ] = "learners"
    """learners get no solutions, teachers get them; nbgrader and otter get sources of assignments"""
    lesson: Annotated[
        tuple[int, ...] | None, Argument("N", "--lesson", type=int, action="append")
    ] = None
    """this lesson only, by its number; can be given several times"""
    file: Annotated[FileName | None, Argument("FILE.html", "-o", "--output", dest="file")] = None
    """for results: also write the table and the picture of the predictions as a page"""
    forms = (
        terminal_form("lessons", "action", "folder", "audience", "lesson", "file", has_rows=True),
    )

    async def run(self, context: OperationContext) -> CommandReport:
        """Carry out the action and return its report."""
        return await context.run_blocking(self._answer)

    def _answer(self) -> CommandReport:
        if self.action == "list":
            return self._list_report()
        if self.folder is None:
            raise UserError(NO_FOLDER.format(action=self.action))
        folder = home_path(self.folder)
        return self._copy_report(folder) if self.action == "copy" else self._results_report(folder)

    def _list_report(self) -> CommandReport:
        from palimpsest.lessons.lesson_list import LESSONS

        rows = tuple(
            (plan.number, plan.title, plan.question, plan.minutes, f"{plan.notebook}.ipynb")
            for plan in LESSONS
        )
        table = ReportTable("Lessons", COLUMNS, rows)
        return CommandReport("lessons", {"lessons": table.records()}, [table])

    def _copy_report(self, folder: Path) -> CommandReport:
        from palimpsest.lessons.lesson_notebooks import copy_lessons

        paths = copy_lessons(folder, self.audience, self.lesson or ())
        path_texts = [str(path) for path in paths]
        return CommandReport(
            "lessons", {"written": path_texts}, text_lines=[f"Wrote {path}" for path in path_texts]
        )

    def _results_report(self, folder: Path) -> CommandReport:
        from palimpsest.lessons.class_results import CLASS_PAGE_MARK, class_results
        from palimpsest.review.recorded_sessions.recording import open_recording

        page_path = None if self.file is None else checked_page_file(self.file, CLASS_PAGE_MARK)
        results = class_results(
            folder, lambda path, session: open_recording(path)[session or 0], self.lesson or ()
        )
        table = results.table
        values: dict[str, Any] = {"rows": table.records(), "notes": [*table.notes]}
        text_lines = []
        if page_path is not None:
            write_page_file(page_path, results.page)
            text_lines, values["written"] = [f"Wrote {page_path}"], [str(page_path)]
        return CommandReport("lessons", values, [table], text_lines=text_lines)

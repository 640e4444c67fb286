"""A tool that does nothing but run a cell through the page, so that its runs are tested by themselves."""

import json

from pydantic import BaseModel

from palimpsest.tools.tool import CellNotRun, ToolContext, ToolOutcome
from palimpsest.transcript.values import Rule

ALLOWED = (Rule(permission="*", pattern="*", action="allow"),)


class RunCellArguments(BaseModel):
    """Input of the tool."""

    cell: str
    source: str
    notebook: str = "a.ipynb"


class RunCellTool:
    """Runs a cell, and returns what of its run the model would be told."""

    name = "run_cell"
    description = "Run a cell."
    arguments: type[BaseModel] = RunCellArguments
    concurrent = False
    permission = "run_cell"

    async def run(self, arguments: RunCellArguments, context: ToolContext) -> ToolOutcome:
        assert context.notebook is not None
        assert context.notebook.changer is not None
        try:
            run = await context.notebook.changer.run(
                arguments.notebook,
                arguments.cell,
                arguments.source,
                abort=context.abort,
                session_id=context.session_id,
            )
        except CellNotRun as refused:
            return ToolOutcome("not run", f"{refused} {refused.result.source}")
        told = {
            "number": run.number,
            "status": run.status,
            "by": run.requested_by == context.session_id,
            "outputs": [[output.kind, output.text, bool(output.image)] for output in run.outputs],
        }
        return ToolOutcome("run", json.dumps(told))

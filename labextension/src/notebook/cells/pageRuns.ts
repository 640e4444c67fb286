/**
 * Runs cells by requests of this page, also where another extension has the server send them.
 *
 * The kernel knows a run that it asked for by its request, which only the page can mark and send on the control channel.
 */
import {
  NotebookActions,
  runCell,
  type INotebookCellExecutor
} from '@jupyterlab/notebook';
import type { RunCells } from './cellEdits';

/** Returns the notebook's own command, or where that does not send requests itself, JupyterLab's way of running cells. */
export function runCellsFromPage(
  executor: INotebookCellExecutor | null
): RunCells {
  if (executor === null || executor.runCell === runCell) {
    return NotebookActions.runCells;
  }
  return async (
    notebook,
    cells,
    sessionContext,
    sessionDialogs,
    translator
  ) => {
    const { model, notebookConfig } = notebook;
    if (model === null) {
      return false;
    }
    notebook.mode = 'command';
    const results = await Promise.all(
      cells.map(cell =>
        runCell({
          cell,
          notebook: model,
          notebookConfig,
          onCellExecuted: () => undefined,
          onCellExecutionScheduled: () => undefined,
          sessionContext,
          sessionDialogs,
          translator
        })
      )
    );
    return results.every(hasRun => hasRun);
  };
}

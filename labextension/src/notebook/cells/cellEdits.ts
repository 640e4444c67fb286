/** Edits cells of one notebook at the user's request, so that the notebook's own undo takes them back. */
import type { Cell } from '@jupyterlab/cells';
import type { NotebookActions, NotebookPanel } from '@jupyterlab/notebook';
import type { ICellActions } from '../../views/actions/cells';
import type { IWords } from '../../views/host';
import { cellOf, showCellAt } from './shownCell';
import { beginUndoStep } from './undoSteps';

/** Runs cells as the notebook's own commands do. */
export type RunCells = typeof NotebookActions.runCells;

interface ICellLocation {
  /** Returns the notebook; null when there is none any more. */
  notebook: () => NotebookPanel | null;
  /** Returns the index of the cell below which a new one is inserted. */
  indexAbove: (notebook: NotebookPanel) => number;
}

/** Returns the actions on the cells of a notebook. */
export function cellEdits(
  { notebook, indexAbove: index }: ICellLocation,
  runCells: RunCells,
  words: IWords
): ICellActions {
  /** Does something with the notebook, unless it is closed or not writable. */
  const edit = (change: (panel: NotebookPanel) => string): Promise<string> => {
    const panel = notebook();
    return Promise.resolve(
      panel === null || panel.isDisposed
        ? words.__('The notebook is closed.')
        : panel.context.model.readOnly
          ? words.__('The notebook is read-only.')
          : change(panel)
    );
  };
  const editCell = (
    id: string,
    change: (cell: Cell, panel: NotebookPanel) => string
  ) =>
    edit(panel => {
      const cell = cellOf(panel, id);
      return cell === undefined
        ? words.__('The cell is no longer in the notebook.')
        : change(cell, panel);
    });
  return {
    insertBelow: code =>
      edit(panel => {
        const { sharedModel } = panel.context.model;
        const position = Math.min(index(panel) + 1, sharedModel.cells.length);
        beginUndoStep(sharedModel);
        sharedModel.insertCell(position, {
          cell_type: 'code',
          source: code,
          metadata: { trusted: true },
          outputs: []
        });
        // Selected, not edited: the focus stays on the button.
        panel.content.mode = 'command';
        showCellAt(panel, position);
        return '';
      }),
    replace: (id, expected, code) =>
      editCell(id, ({ model }) => {
        const cell = model.sharedModel;
        const source = cell.getSource();
        if (source === code) {
          return '';
        }
        if (source !== expected) {
          return words.__('The cell was changed since; nothing was replaced.');
        }
        if (cell.getMetadata('editable') === false) {
          return words.__('The cell is locked; nothing was replaced.');
        }
        beginUndoStep(cell);
        cell.setSource(code);
        return '';
      }),
    run: id =>
      editCell(id, (cell, { content, sessionContext }) => {
        if (!sessionContext.session?.kernel) {
          return words.__('The notebook has no kernel.');
        }
        void runCells(content, [cell], sessionContext);
        void content.scrollToItem(content.widgets.indexOf(cell), 'smart');
        return '';
      }),
    focus: id =>
      editCell(id, (cell, panel) => {
        const { content } = panel;
        showCellAt(panel, content.widgets.indexOf(cell));
        content.mode = 'edit';
        // A cell that was out of view gets its editor a little later.
        void cell.ready.then(() => {
          cell.editor?.focus();
        });
        return '';
      })
  };
}

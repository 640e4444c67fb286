/**
 * Changes cells of a notebook for the kernel: all of the changes or none, through the shared model, as one step of undo.
 *
 * What the reader was doing goes on: the active cell, the selection, the place on the screen and the keyboard stay.
 */
import type { NotebookPanel } from '@jupyterlab/notebook';
import type { CellsAnswer } from '../../kernel/cellAnswers';
import type { ILink } from '../../kernel/kernelLink';
import type { CellOrigin, ChangeCellsNotice } from '../../protocol/generated';
import {
  changeAsAgent,
  originMetadata,
  withOrigin,
  writeOrigin,
  type SharedCell
} from './cellOrigins';
import { beginJoinedUndoStep } from './undoSteps';
import { isHiddenCell } from './errorPrompts';
import { keepReader, readerWeight } from './keptReader';
import {
  planChanges,
  shortestReplacement,
  stayingCells,
  type IPlannedCell
} from './plannedChanges';
import { RemovedCells, restoredCell } from './removedCells';

/** Lets the kernel change cells of a notebook; returns a function that ends this. */
export function changeRequestedCells(
  panel: NotebookPanel,
  link: ILink
): () => void {
  const removedCells = new RemovedCells();
  return link.serveCells(notice =>
    notice.kind === 'change-cells' &&
    notice.notebook === panel.context.localPath
      ? changeCells(panel, notice, removedCells)
      : undefined
  );
}

/** Makes all of the changes, or none; returns their results, or a refusal. */
function changeCells(
  panel: NotebookPanel,
  { changes, origin }: ChangeCellsNotice,
  removedCells: RemovedCells
): CellsAnswer {
  if (panel.isDisposed) {
    return { refusal: 'closed' };
  }
  const { model } = panel.context;
  if (model.readOnly) {
    return { refusal: 'read-only' };
  }
  const cellsBefore = [...model.cells].map(cell => ({
    id: cell.id,
    source: cell.sharedModel.getSource(),
    isHidden: isHiddenCell(cell),
    isEditable: cell.getMetadata('editable') !== false,
    isDeletable: cell.getMetadata('deletable') !== false
  }));
  const { results, cells } = planChanges(cellsBefore, changes);
  if (results.some(({ problem }) => problem !== undefined)) {
    return { results };
  }
  const sharedCellsBefore = [...model.sharedModel.cells];
  const keptIds = new Set(cells.map(({ id }) => id));
  const sentRemovedCells = removedCells.remember(
    sharedCellsBefore.filter(({ id }) => !keptIds.has(id))
  );
  const stayingIndexes = stayingCells(cells, readerWeight(panel));
  const restoreReader = keepReader(
    panel,
    index => !stayingIndexes.has(index),
    keptIds
  );
  applyPlan(panel, cells, stayingIndexes, origin, removedCells);
  restoreReader();
  // The notebook's own command for deleting notes the cells, too, for the next run of a cell.
  const deletedIds = [...model.deletedCells, ...sentRemovedCells.keys()];
  model.deletedCells.splice(
    0,
    model.deletedCells.length,
    ...deletedIds.filter(id => !keptIds.has(id))
  );
  return {
    results: results.map((result, index) =>
      changes[index]?.action === 'delete'
        ? { ...result, removed: sentRemovedCells.get(result.cell) }
        : result
    )
  };
}

/**
 * Brings the shared model into the planned state.
 *
 * Each cell that comes, goes or moves is a transaction of its own, since JupyterLab takes another cell for the active one
 * where several do at once: in this page and in those of others, who would type in the wrong cell.
 */
function applyPlan(
  { context: { model } }: NotebookPanel,
  planned: readonly IPlannedCell[],
  stayingIndexes: ReadonlySet<number>,
  origin: CellOrigin | undefined,
  removed: RemovedCells
): void {
  const notebook = model.sharedModel;
  const before = [...notebook.cells];
  const isStaying = ({ indexBefore: index }: IPlannedCell) =>
    index !== null && stayingIndexes.has(index);
  const editedCells = planned.flatMap(cell => {
    const shared = before[cell.indexBefore ?? -1];
    return cell.isEdited && isStaying(cell) && shared !== undefined
      ? [{ cell: shared, source: cell.source }]
      : [];
  });
  const plannedIds = new Set(planned.map(({ id }) => id));
  const endStep = beginJoinedUndoStep(
    notebook,
    editedCells.map(({ cell }) => cell)
  );
  changeAsAgent(notebook, () => {
    notebook.transact(() => {
      for (const { cell, source } of editedCells) {
        const { start, end, text } = shortestReplacement(
          cell.getSource(),
          source
        );
        cell.updateSource(start, end, text);
        writeOrigin(cell, origin);
      }
    });
    for (let index = before.length - 1; index >= 0; index -= 1) {
      if (!plannedIds.has(before[index]?.id ?? '')) {
        notebook.deleteCell(index);
      }
    }
    let targetIndex = 0;
    for (const cell of planned) {
      const index = notebook.cells.findIndex(({ id }) => id === cell.id);
      const movedCell = notebook.cells[index];
      if (isStaying(cell)) {
        targetIndex = index + 1;
        continue;
      }
      const createdCell = newCell(cell, movedCell, origin, removed);
      notebook.transact(() => {
        if (movedCell !== undefined) {
          notebook.deleteCell(index);
          targetIndex -= index < targetIndex ? 1 : 0;
        }
        notebook.insertCell(targetIndex, createdCell);
      });
      targetIndex += 1;
    }
  });
  endStep();
}

type NewCell = Parameters<
  NotebookPanel['context']['model']['sharedModel']['insertCell']
>[1];

/** Returns a cell that is put into the notebook: an inserted one, or one that moves. */
function newCell(
  { id, source, isEdited, insertion: inserted }: IPlannedCell,
  movedCell: SharedCell | undefined,
  origin: CellOrigin | undefined,
  removed: RemovedCells
): NewCell {
  if (movedCell !== undefined) {
    const cell = movedCell.toJSON();
    return {
      ...cell,
      source,
      metadata: isEdited ? withOrigin(cell.metadata, origin) : cell.metadata
    } as NewCell;
  }
  const kind = inserted?.kind ?? 'code';
  const restoredFields = restoredCell(
    inserted?.restored,
    kind,
    removed.rememberedCell(id)
  );
  return {
    id,
    cell_type: kind,
    source,
    ...(restoredFields ?? {
      metadata: {
        ...(kind === 'code' ? { trusted: true } : {}),
        ...originMetadata(origin)
      }
    })
  };
}

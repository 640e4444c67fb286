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
import { oneUndoStep } from './undoSteps';
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
  const removed = new RemovedCells();
  return link.serveCells(notice =>
    notice.kind === 'change-cells' &&
    notice.notebook === panel.context.localPath
      ? changeCells(panel, notice, removed)
      : undefined
  );
}

/** Makes all of the changes, or none. */
function changeCells(
  panel: NotebookPanel,
  { changes, origin }: ChangeCellsNotice,
  removed: RemovedCells
): CellsAnswer {
  if (panel.isDisposed) {
    return { refusal: 'closed' };
  }
  const { model } = panel.context;
  if (model.readOnly) {
    return { refusal: 'read-only' };
  }
  const known = [...model.cells].map(cell => ({
    id: cell.id,
    source: cell.sharedModel.getSource(),
    isHidden: isHiddenCell(cell),
    isEditable: cell.getMetadata('editable') !== false,
    isDeletable: cell.getMetadata('deletable') !== false
  }));
  const { results, cells } = planChanges(known, changes);
  if (results.some(({ problem }) => problem !== undefined)) {
    return { results };
  }
  const before = [...model.sharedModel.cells];
  const keptIds = new Set(cells.map(({ id }) => id));
  const removals = removed.remember(
    before.filter(({ id }) => !keptIds.has(id))
  );
  const staying = stayingCells(cells, readerWeight(panel));
  const keepPlace = keepReader(panel, index => !staying.has(index), keptIds);
  arrange(panel, cells, staying, origin, removed);
  keepPlace();
  // The notebook's own command for deleting notes the cells, too, for the next run of a cell.
  const deleted = [...model.deletedCells, ...removals.keys()];
  model.deletedCells.splice(
    0,
    model.deletedCells.length,
    ...deleted.filter(id => !keptIds.has(id))
  );
  return {
    results: results.map((result, index) =>
      changes[index]?.action === 'delete'
        ? { ...result, removed: removals.get(result.cell) }
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
function arrange(
  { context: { model } }: NotebookPanel,
  planned: readonly IPlannedCell[],
  staying: ReadonlySet<number>,
  origin: CellOrigin | undefined,
  removed: RemovedCells
): void {
  const notebook = model.sharedModel;
  const before = [...notebook.cells];
  const stays = ({ before: index }: IPlannedCell) =>
    index !== null && staying.has(index);
  const edited = planned.flatMap(cell => {
    const shared = before[cell.before ?? -1];
    return cell.isEdited && stays(cell) && shared !== undefined
      ? [{ cell: shared, source: cell.source }]
      : [];
  });
  const plannedIds = new Set(planned.map(({ id }) => id));
  const endStep = oneUndoStep(
    notebook,
    edited.map(({ cell }) => cell)
  );
  changeAsAgent(notebook, () => {
    notebook.transact(() => {
      for (const { cell, source } of edited) {
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
    let place = 0;
    for (const cell of planned) {
      const index = notebook.cells.findIndex(({ id }) => id === cell.id);
      const moved = notebook.cells[index];
      if (stays(cell)) {
        place = index + 1;
        continue;
      }
      const created = newCell(cell, moved, origin, removed);
      notebook.transact(() => {
        if (moved !== undefined) {
          notebook.deleteCell(index);
          place -= index < place ? 1 : 0;
        }
        notebook.insertCell(place, created);
      });
      place += 1;
    }
  });
  endStep();
}

type NewCell = Parameters<
  NotebookPanel['context']['model']['sharedModel']['insertCell']
>[1];

/** Returns a cell that is put into the notebook: an inserted one, or one that moves. */
function newCell(
  { id, source, isEdited, inserted }: IPlannedCell,
  moved: SharedCell | undefined,
  origin: CellOrigin | undefined,
  removed: RemovedCells
): NewCell {
  if (moved !== undefined) {
    const cell = moved.toJSON();
    return {
      ...cell,
      source,
      metadata: isEdited ? withOrigin(cell.metadata, origin) : cell.metadata
    } as NewCell;
  }
  const kind = inserted?.kind ?? 'code';
  const restored = restoredCell(
    inserted?.restored,
    kind,
    removed.rememberedCell(id)
  );
  return {
    id,
    cell_type: kind,
    source,
    ...(restored ?? {
      metadata: {
        ...(kind === 'code' ? { trusted: true } : {}),
        ...originMetadata(origin)
      }
    })
  };
}

/** Steps of a notebook's undo. */
import type { SharedCell } from './cellOrigins';

interface IUndoManager {
  stopCapturing?: () => void;
  addTrackedOrigin?: (origin: unknown) => void;
  removeTrackedOrigin?: (origin: unknown) => void;
}

/** Keeps an edit apart from what was typed right before it, which undo would take back with it. */
export function beginUndoStep(shared: object): void {
  undoManagerOf(shared)?.stopCapturing?.();
}

/**
 * Lets also the cells' own undo take back a change of the whole notebook, each in itself, until the returned function is
 * called.
 *
 * By default the keys for undo work in the cell with the cursor, and a command of their own works on the notebook.
 */
export function undoAlsoInCell(
  notebook: object,
  cells: readonly SharedCell[]
): () => void {
  const managers = cells
    .map(undoManagerOf)
    .filter(manager => manager !== undoManagerOf(notebook));
  for (const manager of managers) {
    manager?.stopCapturing?.();
    manager?.addTrackedOrigin?.(notebook);
  }
  return () => {
    for (const manager of managers) {
      manager?.removeTrackedOrigin?.(notebook);
      manager?.stopCapturing?.();
    }
  };
}

function undoManagerOf(shared: object): IUndoManager | null | undefined {
  return (shared as { undoManager?: IUndoManager | null }).undoManager;
}

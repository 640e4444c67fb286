/** Steps of a notebook's undo. */
interface IUndoManager {
  /** Milliseconds in which a change joins the step before it. */
  captureTimeout?: number | undefined;
  stopCapturing?: () => void;
  addTrackedOrigin?: (origin: unknown) => void;
  removeTrackedOrigin?: (origin: unknown) => void;
}

/** Begins a new undo step, so that undo of the next edit leaves what was typed before it. */
export function beginUndoStep(shared: object): void {
  undoManagerOf(shared)?.stopCapturing?.();
}

/**
 * Begins a step of the notebook's undo that all edits join until the returned function is called; each of the cells
 * can also undo its own part.
 *
 * By default the keys for undo work in the cell with the cursor, and a command of their own works on the notebook.
 */
export function beginJoinedUndoStep(
  notebook: object,
  cells: readonly object[]
): () => void {
  const notebookManager = undoManagerOf(notebook);
  const cellManagers = cells
    .map(undoManagerOf)
    .filter(manager => manager !== notebookManager);
  const captureTimeoutBefore = notebookManager?.captureTimeout;
  notebookManager?.stopCapturing?.();
  if (notebookManager !== null) {
    notebookManager.captureTimeout = Infinity; // also on a slow machine
  }
  for (const manager of cellManagers) {
    manager?.stopCapturing?.();
    manager?.addTrackedOrigin?.(notebook);
  }
  return () => {
    if (notebookManager !== null) {
      notebookManager.captureTimeout = captureTimeoutBefore;
    }
    notebookManager?.stopCapturing?.();
    for (const manager of cellManagers) {
      manager?.removeTrackedOrigin?.(notebook);
      manager?.stopCapturing?.();
    }
  };
}

function undoManagerOf(shared: object): IUndoManager | null {
  return (shared as { undoManager?: IUndoManager | null }).undoManager ?? null;
}

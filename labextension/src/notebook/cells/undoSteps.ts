/** Steps of a notebook's undo. */
interface IUndoManager {
  /** Milliseconds in which a change joins the step before it. */
  captureTimeout?: number | undefined;
  stopCapturing?: () => void;
  addTrackedOrigin?: (origin: unknown) => void;
  removeTrackedOrigin?: (origin: unknown) => void;
}

/** Keeps an edit apart from what was typed right before it, which undo would take back with it. */
export function beginUndoStep(shared: object): void {
  undoManagerOf(shared)?.stopCapturing?.();
}

/**
 * Makes one step of the notebook's undo of all that follows until the returned function is called, apart from what a
 * person does before and after; each of the cells can also undo its own part.
 *
 * By default the keys for undo work in the cell with the cursor, and a command of their own works on the notebook.
 */
export function oneUndoStep(
  notebook: object,
  cells: readonly object[]
): () => void {
  const whole = undoManagerOf(notebook);
  const own = cells.map(undoManagerOf).filter(manager => manager !== whole);
  const timeout = whole?.captureTimeout;
  whole?.stopCapturing?.();
  if (whole !== null) {
    whole.captureTimeout = Infinity; // also on a slow machine
  }
  for (const manager of own) {
    manager?.stopCapturing?.();
    manager?.addTrackedOrigin?.(notebook);
  }
  return () => {
    if (whole !== null) {
      whole.captureTimeout = timeout;
    }
    whole?.stopCapturing?.();
    for (const manager of own) {
      manager?.removeTrackedOrigin?.(notebook);
      manager?.stopCapturing?.();
    }
  };
}

function undoManagerOf(shared: object): IUndoManager | null {
  return (shared as { undoManager?: IUndoManager | null }).undoManager ?? null;
}

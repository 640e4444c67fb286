/** Elements of the page beside the cells of a notebook, which the notebook's file does not hold. */
import type { Cell } from '@jupyterlab/cells';
import type { NotebookPanel } from '@jupyterlab/notebook';

/** Milliseconds between a change of the notebook and the update of its marks. */
const UPDATE_DELAY_MS = 50;

interface IMark<Reason> {
  reason: Reason;
  remove: () => void;
}

/** Keeps a mark beside each cell for which there is a reason; another reason draws it anew. */
export class CellMarks<Reason> {
  private readonly _marks = new Map<Cell, IMark<Reason>>();
  private _timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly _panel: NotebookPanel,
    /** Returns why a cell gets a mark; null where it gets none. */
    private readonly _reasonOf: (cell: Cell) => Reason | null,
    /** Draws a mark; returns a function that removes it. */
    private readonly _addMark: (cell: Cell, reason: Reason) => () => void
  ) {
    _panel.context.model.contentChanged.connect(this.updateSoon);
  }

  readonly updateSoon = (): void => {
    this._timer ??= setTimeout(() => {
      this._timer = undefined;
      if (!this._panel.isDisposed) {
        this._update();
      }
    }, UPDATE_DELAY_MS);
  };

  removeAll(): void {
    this._marks.forEach(({ remove }) => {
      remove();
    });
    this._marks.clear();
  }

  dispose(): void {
    this._panel.context.model.contentChanged.disconnect(this.updateSoon);
    clearTimeout(this._timer);
    this.removeAll();
  }

  private _update(): void {
    const widgets = new Set(this._panel.content.widgets);
    for (const cell of new Set([...widgets, ...this._marks.keys()])) {
      const mark = this._marks.get(cell);
      const reason = widgets.has(cell) ? this._reasonOf(cell) : null;
      if (reason !== (mark?.reason ?? null)) {
        mark?.remove();
        this._marks.delete(cell);
        if (reason !== null) {
          const remove = this._addMark(cell, reason);
          this._marks.set(cell, { reason, remove });
        }
      }
    }
  }
}

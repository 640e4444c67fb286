/** Writes answers back into a notebook that no longer shows them. */
import type { ICodeCellModel } from '@jupyterlab/cells';
import type { IOutput } from '@jupyterlab/nbformat';
import type { NotebookPanel } from '@jupyterlab/notebook';
import { SEGMENT_MIME } from '../../protocol/segment';
import {
  isAgentCell,
  targetCell,
  type ICellContents,
  type IMissingAnswer
} from '../../state/session/missingAnswers';
import { showCellAt } from '../cells/shownCell';

/** Milliseconds between a change of the notebook and the next reading of its cells. */
const PAUSE_MS = 250;

/**
 * Observes which answers the cells of the active notebook show.
 *
 * Responsibilities: read the cells after changes, debounced, and only while they are needed.
 */
export class CellObserver {
  private _panel: NotebookPanel | null = null;
  private _cells: readonly ICellContents[] | null = null;
  private _timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly _changed: () => void) {}

  /** Observes another notebook, or none. */
  follow(panel: NotebookPanel | null): void {
    if (panel === this._panel) {
      return;
    }
    if (this._panel?.isDisposed === false) {
      this._panel.context.model.contentChanged.disconnect(this._onChange);
    }
    this._stopTimer();
    this._panel = panel;
    this._cells = null;
    panel?.context.model.contentChanged.connect(this._onChange);
  }

  /** The code cells; null when the notebook is not writable. */
  get cells(): readonly ICellContents[] | null {
    const panel = this._panel;
    if (panel === null || panel.isDisposed) {
      return null;
    }
    const { isReady, model } = panel.context;
    if (!isReady || model.readOnly) {
      return null;
    }
    this._cells ??= contentsOfCells(panel).filter(cell => cell !== null);
    return this._cells;
  }

  /** Whether the cells were read since their last change. */
  get isSettled(): boolean {
    return this._timer === undefined;
  }

  dispose(): void {
    this.follow(null);
  }

  private readonly _onChange = (): void => {
    this._timer ??= setTimeout(() => {
      this._stopTimer();
      this._cells = null;
      this._changed();
    }, PAUSE_MS);
  };

  private _stopTimer(): void {
    clearTimeout(this._timer);
    this._timer = undefined;
  }
}

/** Writes the outputs of a turn into its cell, or into a new one, and scrolls to them. */
export function insertOutputs(
  panel: NotebookPanel,
  answer: IMissingAnswer,
  outputs: readonly IOutput[]
): void {
  const { model } = panel.context;
  const { index, isNew } = targetCell(answer, contentsOfCells(panel));
  const source = `%%agent\n${answer.prompt}`;
  if (isNew) {
    const isTaken = [...model.cells].some(({ id }) => id === answer.cellId);
    model.sharedModel.insertCell(index, {
      ...(isTaken ? {} : { id: answer.cellId }),
      cell_type: 'code',
      source,
      metadata: { trusted: true },
      outputs: []
    });
  }
  const cell = model.cells.get(index) as ICodeCellModel;
  if (cell.sharedModel.getSource().trim() === '') {
    cell.sharedModel.setSource(source);
  }
  cell.executionCount = answer.executionCount ?? null;
  cell.outputs.clear();
  outputs.forEach(output => cell.outputs.add(output));
  showCellAt(panel, index);
}

/** Returns the relevant contents of each cell; null for cells without code. */
function contentsOfCells({ context }: NotebookPanel): (ICellContents | null)[] {
  return [...context.model.cells].map(model => {
    if (model.type !== 'code') {
      return null;
    }
    const { outputs } = model as ICodeCellModel;
    const source = model.sharedModel.getSource();
    const turnIds: string[] = [];
    for (let index = 0; index < outputs.length; index += 1) {
      const segment = outputs.get(index).data[SEGMENT_MIME] as
        { turn?: unknown } | undefined;
      if (typeof segment?.turn === 'string') {
        turnIds.push(segment.turn);
      }
    }
    const { id } = model;
    const hasNoOutputs = outputs.length === 0;
    return {
      id,
      isAgentCell: isAgentCell(source),
      source,
      turnIds,
      hasNoOutputs
    };
  });
}

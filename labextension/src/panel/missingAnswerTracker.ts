/** Tracks which answers the active notebook does not show, and inserts one of them. */
import type { NotebookPanel } from '@jupyterlab/notebook';
import type { IOutput } from '@jupyterlab/nbformat';
import {
  CellObserver,
  insertOutputs
} from '../notebook/savedOutputs/missingOutputs';
import type { ICommandTarget } from '../notebook/rendering/linkActions';
import {
  missingAnswers,
  type IMissingAnswer
} from '../state/session/missingAnswers';
import type { ITranscript } from '../state/store/transcript';

/** Compares a notebook's cells with its session, and again only after a change of either. */
export class MissingAnswerTracker {
  private readonly _cells: CellObserver;
  /** The inputs of the last comparison. */
  private _comparedInputs: readonly unknown[] = [];
  private _missing: ReadonlyMap<string, IMissingAnswer> = new Map();
  private _turns: ReadonlySet<string> = new Set();

  constructor(changed: () => void) {
    this._cells = new CellObserver(changed);
  }

  /** Returns the turns whose answers the notebook lacks; the same set while nothing changed, so views stay. */
  turns(
    panel: NotebookPanel | null,
    transcript: ITranscript
  ): ReadonlySet<string> {
    this._cells.follow(panel);
    const { cells, isSettled } = this._cells;
    const { entries, session, status } = transcript;
    const busy = status.type !== 'idle';
    // While a turn runs, new entries do not affect turns that are over.
    const inputs = [cells, busy || entries, session?.id, session?.notebook];
    if (
      isSettled &&
      inputs.some((value, index) => value !== this._comparedInputs[index])
    ) {
      this._comparedInputs = inputs;
      this._missing =
        cells === null ? new Map() : missingAnswers(transcript, cells);
      const isSame =
        this._missing.size === this._turns.size &&
        [...this._missing.keys()].every(turn => this._turns.has(turn));
      this._turns = isSame ? this._turns : new Set(this._missing.keys());
    }
    return this._turns;
  }

  /** Writes the answer of a turn into the notebook; resolves to the error, or to an empty string. */
  async insert(
    turn: string,
    panel: NotebookPanel | null,
    { link, session }: ICommandTarget
  ): Promise<string> {
    const missing = this._missing.get(turn);
    if (panel === null || link === null || missing === undefined) {
      return '';
    }
    const { error, answer } = await link.outcome('recreate-outputs', {
      session,
      turn
    });
    if (answer !== undefined && !panel.isDisposed) {
      insertOutputs(panel, missing, answer.outputs as unknown as IOutput[]);
    }
    return error ?? '';
  }

  dispose(): void {
    this._cells.dispose();
  }
}

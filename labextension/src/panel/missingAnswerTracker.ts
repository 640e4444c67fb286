/**
 * Which answers the notebook in front does not show, and one of them written into it.
 */
import type { NotebookPanel } from '@jupyterlab/notebook';
import type { IOutput } from '@jupyterlab/nbformat';
import { CellObserver, insertOutputs } from '../notebook/missingOutputs';
import type { ICommandTarget } from '../notebook/rendering/linkActions';
import {
  missingAnswers,
  type IMissingAnswer
} from '../state/session/missingAnswers';
import type { ITranscript } from '../state/store/transcript';

/** Compares a notebook's cells with its session, again only when one of them changed. */
export class MissingAnswerTracker {
  private readonly _cells: CellObserver;
  /** What was compared, and what was found. */
  private _compared: readonly unknown[] = [];
  private _found: ReadonlyMap<string, IMissingAnswer> = new Map();
  private _turns: ReadonlySet<string> = new Set();

  constructor(changed: () => void) {
    this._cells = new CellObserver(changed);
  }

  /** Returns the turns; the same set while nothing changed, so that nothing is drawn anew. */
  turns(
    panel: NotebookPanel | null,
    transcript: ITranscript
  ): ReadonlySet<string> {
    this._cells.follow(panel);
    const { cells, isSettled } = this._cells;
    const { entries, session, status } = transcript;
    const busy = status.type !== 'idle';
    // Every word of an answer makes new entries, and no turn that is over.
    const now = [cells, busy || entries, session?.id, session?.notebook];
    if (isSettled && now.some((one, index) => one !== this._compared[index])) {
      this._compared = now;
      this._found =
        cells === null ? new Map() : missingAnswers(transcript, cells);
      const isSame =
        this._found.size === this._turns.size &&
        [...this._found.keys()].every(turn => this._turns.has(turn));
      this._turns = isSame ? this._turns : new Set(this._found.keys());
    }
    return this._turns;
  }

  /** Writes the answer of a turn into the notebook; resolves to what hindered it, or to nothing. */
  async insert(
    turn: string,
    panel: NotebookPanel | null,
    { link, session }: ICommandTarget
  ): Promise<string> {
    const missing = this._found.get(turn);
    if (panel === null || link === null || missing === undefined) {
      return '';
    }
    const { error, outputs } = await link.outcome('recreate-outputs', {
      session,
      turn
    });
    if (outputs !== undefined && !panel.isDisposed) {
      insertOutputs(panel, missing, outputs as unknown as IOutput[]);
    }
    return error ?? '';
  }

  dispose(): void {
    this._cells.dispose();
  }
}

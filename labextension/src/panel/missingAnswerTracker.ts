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
  private _missingAnswers: ReadonlyMap<string, IMissingAnswer> = new Map();
  private _missingTurns: ReadonlySet<string> = new Set();

  constructor(onChange: () => void) {
    this._cells = new CellObserver(onChange);
  }

  /** Returns the turns whose answers the notebook lacks; the same set while nothing changed, so views stay. */
  missingTurns(
    panel: NotebookPanel | null,
    transcript: ITranscript
  ): ReadonlySet<string> {
    this._cells.follow(panel);
    const { cells, isSettled } = this._cells;
    const { entries, session, status } = transcript;
    const isBusy = status.type !== 'idle';
    // While a turn runs, new entries do not affect turns that are over.
    const inputs = [cells, isBusy || entries, session?.id, session?.notebook];
    if (
      isSettled &&
      inputs.some((value, index) => value !== this._comparedInputs[index])
    ) {
      this._comparedInputs = inputs;
      this._missingAnswers =
        cells === null ? new Map() : missingAnswers(transcript, cells);
      const isSame =
        this._missingAnswers.size === this._missingTurns.size &&
        [...this._missingAnswers.keys()].every(turn =>
          this._missingTurns.has(turn)
        );
      this._missingTurns = isSame
        ? this._missingTurns
        : new Set(this._missingAnswers.keys());
    }
    return this._missingTurns;
  }

  /** Writes the answer of a turn into the notebook; resolves to the error, or to an empty string. */
  async insert(
    turn: string,
    panel: NotebookPanel | null,
    { link, session }: ICommandTarget
  ): Promise<string> {
    const missingAnswer = this._missingAnswers.get(turn);
    if (panel === null || link === null || missingAnswer === undefined) {
      return '';
    }
    const { error, answer } = await link.outcome('recreate-outputs', {
      session,
      turn
    });
    if (answer !== undefined && !panel.isDisposed) {
      insertOutputs(
        panel,
        missingAnswer,
        answer.outputs as unknown as IOutput[]
      );
    }
    return error ?? '';
  }

  dispose(): void {
    this._cells.dispose();
  }
}

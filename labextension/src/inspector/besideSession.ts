/** The session that an inspector compares its own with: the comparison, and the source of the other session's views. */
import type { SessionComparison, ViewAnswer } from '../protocol/generated';
import { ComparisonQuestion } from '../state/inspector/comparisonQuestion';
import type { IReadable } from '../state/store/kernelStore';
import { ReaderSet } from '../state/store/readerSet';
import type { BesideKernel } from './kernels/besideKernel';
import { KernelSource } from './kernelSource';
import type { IBesideTarget } from './targets';

/** What an inspector knows of the session beside its own. */
export interface IBesideState {
  /** How both compare; null until it is known. */
  readonly comparison: SessionComparison | null;
  /** The source of the other session's views; null until it is known. */
  readonly source: KernelSource | null;
  /** Why both cannot be compared, or not anew; '' where nothing hinders it. */
  readonly error: string;
}

/**
 * Compares an inspector's session with another one.
 *
 * Responsibilities: ask again where either has grown or other prices were chosen; keep what was answered while the
 * kernel or a file is gone; keep to the session that was answered first.
 */
export class BesideSession implements IReadable<IBesideState> {
  private readonly _readers = new ReaderSet();
  private readonly _disposers: (() => void)[] = [];
  private _state: IBesideState = { comparison: null, source: null, error: '' };
  private readonly _question: ComparisonQuestion;
  private _stamp: string | undefined;

  constructor(
    firstSource: KernelSource,
    private readonly _kernel: BesideKernel,
    private _sessionId: string | undefined,
    /** Called when answers about the other session begin or cease to be late. */
    private readonly _onLateChange: () => void
  ) {
    this._stamp = _kernel.stamp;
    this._question = new ComparisonQuestion(
      firstSource,
      () => ({ path: this._kernel.path, session: this._sessionId ?? '' }),
      answer => {
        this._takeAnswer(answer);
      }
    );
    this._disposers.push(
      firstSource.subscribe(this._question.askAnew),
      _kernel.subscribe(this._handleFileChange)
    );
    this._question.askAnew();
  }

  readonly subscribe = this._readers.subscribe;

  readonly getSnapshot = (): IBesideState => this._state;

  /** The arguments that restore this comparison. */
  get target(): IBesideTarget {
    const isOwnFile = this._kernel.isOwnFile;
    return {
      ...(isOwnFile ? {} : { path: this._kernel.file }),
      ...(this._sessionId === undefined ? {} : { session: this._sessionId })
    };
  }

  /** Chooses the prices of the comparison; null for those of the recorded models. */
  setPrice(price: string | null): void {
    this._question.setPrice(price);
  }

  dispose(): void {
    this._question.dispose();
    this._disposers.forEach(end => {
      end();
    });
    this._state.source?.dispose();
    this._kernel.dispose();
    this._readers.clear();
  }

  private readonly _handleFileChange = (): void => {
    if (this._kernel.stamp !== this._stamp) {
      this._stamp = this._kernel.stamp;
      this._question.askAnew();
    }
  };

  private _takeAnswer({ comparison: newComparison, error }: ViewAnswer): void {
    const before = this._state;
    const comparison = newComparison ?? null;
    if (comparison !== null && before.source === null) {
      this._sessionId = comparison.second.session;
      const source = new KernelSource(
        this._kernel,
        this._sessionId,
        this._onLateChange
      );
      this._disposers.push(source.subscribe(this._question.askAnew));
      this._state = { comparison, source, error };
    } else {
      this._state = {
        ...before,
        comparison: comparison ?? before.comparison,
        error
      };
    }
    if (
      this._state.comparison !== before.comparison ||
      this._state.error !== before.error
    ) {
      this._readers.notify();
    }
  }
}

/** The question how a session compares with the one beside it, asked again as either grows. */
import type { AskComparison, ViewAnswer } from '../../protocol/generated';
import type { IInspectorSource } from './source';

/**
 * Asks for the comparison again whenever it is outdated, one request at a time.
 *
 * Responsibilities: one question at a time; one more where something changed meanwhile; name what is known already.
 */
export class ComparisonQuestion {
  private _price: string | null = null;
  private _knownStamp = '';
  private _isAsking = false;
  private _isOutdated = false;
  private _isDisposed = false;

  constructor(
    private readonly _source: Pick<IInspectorSource, 'ask'>,
    /** Returns what names the other session. */
    private readonly _otherSession: () => Pick<
      AskComparison,
      'path' | 'session'
    >,
    /** Called with each answer. */
    private readonly _onAnswer: (answer: ViewAnswer) => void
  ) {}

  readonly askAnew = (): void => {
    this._isOutdated = true;
    if (!this._isAsking) {
      void this._ask();
    }
  };

  /** Chooses the prices of the comparison; null for those of the recorded models. */
  setPrice(price: string | null): void {
    if (price !== this._price) {
      this._price = price;
      this.askAnew();
    }
  }

  dispose(): void {
    this._isDisposed = true;
  }

  private async _ask(): Promise<void> {
    this._isAsking = true;
    while (this._isOutdated) {
      this._isOutdated = false;
      const answer = await this._source.ask({
        ask: 'comparison',
        ...this._otherSession(),
        price: this._price ?? undefined,
        known: this._knownStamp
      });
      if (this._isDisposed) {
        return;
      }
      this._knownStamp = answer.comparison?.stamp ?? this._knownStamp;
      this._onAnswer(answer);
    }
    this._isAsking = false;
  }
}

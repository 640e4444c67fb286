/**
 * The place in a session's transcript that a reader asked for: it is rendered however far away it is, and what is
 * folded around it is opened.
 */
import type { IReadable } from '../store/kernelStore';
import { ReaderSet } from '../store/readerSet';

export interface IShownPlace {
  /** The key of the turn. */
  turn: string;
  /** The key of the line in it; that of the turn for its prompt. */
  line: string;
  /** Whether the transcript that holds the turn scrolls to it once, and gives it the keyboard. */
  isScrolledTo?: boolean;
}

/** Holds the place for all views of a page. */
class ShownPlace implements IReadable<IShownPlace | null> {
  private readonly _readers = new ReaderSet();
  private _value: IShownPlace | null = null;

  readonly subscribe = this._readers.subscribe;

  readonly getSnapshot = (): IShownPlace | null => this._value;

  show(value: IShownPlace | null): void {
    if (value !== this._value) {
      this._value = value;
      this._readers.notify();
    }
  }
}

/** The page's place. */
export const shownPlace = new ShownPlace();

/** The numbers of a notebook's reviews, which change for all of them where one is decided. */
import type { IReadable } from '../store/kernelStore';
import { ReaderSet } from '../store/readerSet';
import type { ICellReview } from './cellReview';

/** Holds the places of reviews by their keys. */
export class ReviewNumbers implements IReadable<ReadonlyMap<string, number>> {
  private readonly _readers = new ReaderSet();
  private _places: ReadonlyMap<string, number> = new Map();

  readonly subscribe = this._readers.subscribe;

  /** Returns the number of each review in the order of the notebook, from 1. */
  readonly getSnapshot = (): ReadonlyMap<string, number> => this._places;

  /** Numbers reviews; readers are told if that changes anything. */
  assign(reviews: readonly Pick<ICellReview, 'key'>[]): void {
    const places = new Map(reviews.map(({ key }, index) => [key, index + 1]));
    if (
      places.size !== this._places.size ||
      [...places].some(([key, place]) => this._places.get(key) !== place)
    ) {
      this._places = places;
      this._readers.notify();
    }
  }
}

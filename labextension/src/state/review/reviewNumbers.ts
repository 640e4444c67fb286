/** The numbers of a notebook's reviews, which change for all of them where one is decided. */
import { ReadableValue } from '../store/readableValue';
import type { ICellReview } from './cellReview';

/** Holds the number of each review in the order of the notebook, from 1, by the review's key. */
export class ReviewNumbers extends ReadableValue<ReadonlyMap<string, number>> {
  constructor() {
    super(new Map());
  }

  /** Numbers reviews; readers are told if that changes anything. */
  assign(reviews: readonly Pick<ICellReview, 'key'>[]): void {
    const numbers = new Map(reviews.map(({ key }, index) => [key, index + 1]));
    const numbersBefore = this.getSnapshot();
    if (
      numbers.size !== numbersBefore.size ||
      [...numbers].some(([key, number]) => numbersBefore.get(key) !== number)
    ) {
      this.set(numbers);
    }
  }
}

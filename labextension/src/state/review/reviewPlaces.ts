/** Where the reviews of a notebook are drawn: in their cells, and between cells where a cell would stand or stood. */
import type { ICellReview } from './cellReview';

export interface IReviewPlace {
  review: ICellReview;
  /** The index of the cell in whose frame it is drawn. */
  index: number;
  /** In the cell itself; or as a ghost above or below it. */
  position: 'in' | 'above' | 'below';
  /** Whether it only says that the cell of the review stood or would stand here. */
  isMark: boolean;
}

/**
 * Returns the places in the order of the notebook. A review whose cell is not in the notebook, and was not taken out
 * by the agent, has none.
 */
export function reviewPlaces(
  reviews: readonly ICellReview[],
  cells: readonly string[]
): readonly IReviewPlace[] {
  const indices = new Map(cells.map((id, index) => [id, index]));
  const places: IReviewPlace[] = [];
  /** Where ghosts stand, by the ids of their cells: a cell may be inserted behind one that is only proposed. */
  const ghosts = new Map<string, Pick<IReviewPlace, 'index' | 'position'>>();
  const between = (after: string | null) => {
    if (after === null) {
      return { index: 0, position: 'above' } as const;
    }
    const index = indices.get(after);
    return index !== undefined
      ? ({ index, position: 'below' } as const)
      : (ghosts.get(after) ??
          ({ index: cells.length - 1, position: 'below' } as const));
  };
  for (const review of cells.length === 0 ? [] : reviews) {
    const index = indices.get(review.cell);
    if (index !== undefined) {
      places.push({ review, index, position: 'in', isMark: false });
      if (review.isMoved) {
        const other =
          review.state === 'proposed' ? review.after : review.wasAfter;
        if (other !== undefined) {
          places.push({ review, ...between(other), isMark: true });
        }
      }
    } else if (
      review.state === 'proposed' ? review.isInserted : review.isDeleted
    ) {
      const place = between(review.after);
      ghosts.set(review.cell, place);
      places.push({ review, ...place, isMark: false });
    }
  }
  return places.sort(
    (left, right) =>
      left.index - right.index ||
      HEIGHTS[left.position] - HEIGHTS[right.position]
  );
}

const HEIGHTS = { above: 0, in: 1, below: 2 };

/** Where the reviews of a notebook are drawn: in their cells, and between cells where a cell would stand or stood. */
import type { ICellReview } from './cellReview';

export interface IReviewPlace {
  review: ICellReview;
  /** The index of the cell in whose frame it is drawn. */
  cellIndex: number;
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
  cellIds: readonly string[]
): readonly IReviewPlace[] {
  const cellIndexes = new Map(cellIds.map((id, index) => [id, index]));
  const places: IReviewPlace[] = [];
  /** Where ghosts stand, by the ids of their cells: a cell may be inserted behind one that is only proposed. */
  const ghostPlaces = new Map<
    string,
    Pick<IReviewPlace, 'cellIndex' | 'position'>
  >();
  const placeAfter = (cellAbove: string | null) => {
    if (cellAbove === null) {
      return { cellIndex: 0, position: 'above' } as const;
    }
    const cellIndex = cellIndexes.get(cellAbove);
    return cellIndex !== undefined
      ? ({ cellIndex, position: 'below' } as const)
      : (ghostPlaces.get(cellAbove) ??
          ({ cellIndex: cellIds.length - 1, position: 'below' } as const));
  };
  for (const review of cellIds.length === 0 ? [] : reviews) {
    const cellIndex = cellIndexes.get(review.cellId);
    if (cellIndex !== undefined) {
      places.push({ review, cellIndex, position: 'in', isMark: false });
      if (review.isMoved) {
        const otherCellAbove =
          review.state === 'proposed' ? review.cellAbove : review.oldCellAbove;
        if (otherCellAbove !== undefined) {
          places.push({ review, ...placeAfter(otherCellAbove), isMark: true });
        }
      }
    } else if (
      review.state === 'proposed' ? review.isInserted : review.isDeleted
    ) {
      const place = placeAfter(review.cellAbove);
      ghostPlaces.set(review.cellId, place);
      places.push({ review, ...place, isMark: false });
    }
  }
  return places.sort(
    (left, right) =>
      left.cellIndex - right.cellIndex ||
      POSITION_ORDER[left.position] - POSITION_ORDER[right.position]
  );
}

const POSITION_ORDER = { above: 0, in: 1, below: 2 };

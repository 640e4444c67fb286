/** The order of a table's rows by the values of a column. */

export type RowOrder = 'ascending' | 'descending';

/** Returns the places of the rows in an order; equal values stay as they are, and rows without a value come last. */
export function sortedIndexes(
  count: number,
  valueAt: (index: number) => number | null,
  order: RowOrder
): number[] {
  const sign = order === 'ascending' ? 1 : -1;
  const values = Array.from({ length: count }, (_, index) => valueAt(index));
  return values
    .map((_, index) => index)
    .sort((left, right) => {
      const [leftValue, rightValue] = [
        values[left] ?? null,
        values[right] ?? null
      ];
      if (leftValue === null || rightValue === null) {
        return Number(leftValue === null) - Number(rightValue === null);
      }
      return sign * (leftValue - rightValue);
    });
}

/** Returns the first row of each page: every page is full, so the last one begins among the rows of the one before. */
export function pageStarts(count: number, pageRows: number): number[] {
  const pageCount = Math.max(Math.ceil(count / pageRows), 1);
  return Array.from({ length: pageCount }, (_, page) =>
    Math.max(Math.min(page * pageRows, count - pageRows), 0)
  );
}

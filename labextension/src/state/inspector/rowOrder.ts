/** The order of a table's rows by the values of a column. */

export type RowOrder = 'ascending' | 'descending';

/** Returns the places of the rows in an order; equal values stay as they are, and rows without a value come last. */
export function sortedPlaces(
  count: number,
  valueAt: (index: number) => number | null,
  order: RowOrder
): number[] {
  const sign = order === 'ascending' ? 1 : -1;
  const values = Array.from({ length: count }, (_, index) => valueAt(index));
  return values
    .map((_, index) => index)
    .sort((left, right) => {
      const [first, second] = [values[left] ?? null, values[right] ?? null];
      if (first === null || second === null) {
        return Number(first === null) - Number(second === null);
      }
      return sign * (first - second);
    });
}

/** Returns the first row of each page: every page is full, so the last one begins among the rows of the one before. */
export function pageStarts(count: number, pageRows: number): number[] {
  const pages = Math.max(Math.ceil(count / pageRows), 1);
  return Array.from({ length: pages }, (_, page) =>
    Math.max(Math.min(page * pageRows, count - pageRows), 0)
  );
}

/** The order of rows, and the pages they stand on. */
import { expect, it } from 'vitest';
import {
  pageStarts,
  sortedIndexes
} from '../../../src/state/inspector/rowOrder';

const VALUES = [3, null, 7, 3, 0];
const valueAt = (place: number) => VALUES[place] ?? null;

it('sorts by value, keeps the order of equal rows, and puts unknown ones last either way', () => {
  expect(sortedIndexes(5, valueAt, 'descending')).toEqual([2, 0, 3, 4, 1]);
  expect(sortedIndexes(5, valueAt, 'ascending')).toEqual([4, 0, 3, 2, 1]);
});

it('fills the last page from the one before', () => {
  expect(pageStarts(0, 25)).toEqual([0]);
  expect(pageStarts(25, 25)).toEqual([0]);
  expect(pageStarts(53, 25)).toEqual([0, 25, 28]);
});

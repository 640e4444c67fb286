/** Numbers are rounded as Python rounds them, so that a view and a table say the same. */
import { expect, it } from 'vitest';
import {
  count,
  durationText,
  roundHalfEven,
  withDecimals
} from '../../../src/state/text/numberFormat';

it.each([
  [2590.5, '2,590'],
  [2591.5, '2,592'],
  [2590.51, '2,591'],
  [0.5, '0'],
  [-1.5, '-2']
])('writes %d as %s', (value, text) => {
  expect(count(value)).toBe(text);
});

it('rounds a half to the even number', () => {
  expect([0.5, 1.5, 2.5, 3.4999, -2.5].map(roundHalfEven)).toEqual([
    0, 2, 2, 3, -2
  ]);
});

it.each([
  [0.125, 2, '0.12'],
  [0.375, 2, '0.38'],
  [-0.125, 2, '-0.12'],
  [0.615, 2, '0.61'], // It is a little less than its half.
  [2.5, 0, '2'],
  [1.005, 2, '1.00'],
  [47.5, 2, '47.50']
])('writes %d with %d decimals as %s', (value, digits, text) => {
  expect(withDecimals(value, digits)).toBe(text);
});

it.each([
  [0.25, '0.2 s'],
  [59.96, '1 min'],
  [65, '1 min 5 s'],
  [7260, '2 h 1 min']
])('writes %d seconds as %s', (value, text) => {
  expect(durationText(value)).toBe(text);
});

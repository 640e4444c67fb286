/** A line passes through the requests whose place and value are known. */
import { describe, expect, it } from 'vitest';
import type { ComparedSession } from '../../../../src/protocol/generated';
import {
  axisPlaces,
  comparedLine,
  costSums,
  haveTimes
} from '../../../../src/state/inspector/figures/comparedLines';

const SESSION = {
  tokens: [100, null, 300],
  costs: [0.5, null, 1],
  seconds: [0, 10, 40]
} as unknown as ComparedSession;
const TIMELESS = { ...SESSION, seconds: [] };

describe('the line of a compared session', () => {
  it('leaves out what is not known, and ends where it ends', () => {
    const line = comparedLine([0, 1, 2], SESSION.tokens, 4, 400, 200, 100);

    expect(line).toEqual({ path: 'M0 75L100 25', endPoint: [100, 25] });
  });

  it('is a point where there is one request, and nothing without any', () => {
    expect(comparedLine([0], [50], 0, 100, 200, 100)).toEqual({
      path: 'M0 50',
      endPoint: [0, 50]
    });
    expect(comparedLine([], [], 0, 100, 200, 100).endPoint).toBeNull();
  });

  it('stands over requests, or over seconds where both have them', () => {
    expect(axisPlaces(SESSION, 'requests')).toEqual([0, 1, 2]);
    expect(axisPlaces(SESSION, 'time')).toEqual([0, 10, 40]);
    expect(haveTimes(SESSION, SESSION)).toBe(true);
    expect(haveTimes(SESSION, TIMELESS)).toBe(false);
  });

  it('adds nothing to the cost for a request of unknown cost', () => {
    expect(costSums(SESSION)).toEqual([0.5, 0.5, 1.5]);
  });
});

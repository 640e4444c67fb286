/** The cost of a request adds up to the recording's, and a break's price is what a warm cache would have saved. */
import { describe, expect, it } from 'vitest';
import type { TimelineView } from '../../../../src/protocol/generated';
import {
  dearestRequest,
  nearestRequest,
  requestCost
} from '../../../../src/state/inspector/figures/requestCost';
import { sample } from '../../../inspector/samples';

const { view, tracks } = sample('pi');
/** The same with costs that the recording holds. */
const own: TimelineView = {
  ...view,
  requests: { ...view.requests, listed: view.requests.listed.map(() => false) }
};
const all = view.requests.id.map((_, at) => at);

describe('the cost of a request', () => {
  it('is what the kernel says, and adds up to the session', () => {
    const told = all
      .map(at => requestCost(view, view.recorded, at))
      .filter(value => value.areTokensReported);

    expect(told.length).toBe(439);
    expect(told.reduce((value, { tokens }) => value + tokens, 0)).toBe(
      view.recorded.facts?.input
    );
    // The sample is shown at another model's prices, so that no cost of it was recorded.
    expect(told.some(value => value.isCostRecorded)).toBe(false);
    expect(
      told.reduce((value, { cost }) => value + (cost ?? 0), 0)
    ).toBeCloseTo(view.recorded.facts?.cost ?? 0, 6);
  });

  it('is a fact where the recording holds it', () => {
    const found = requestCost(own, own.recorded, 208);

    expect(found).toMatchObject({
      areTokensReported: true,
      isCostRecorded: true
    });
    expect(found.cost).toBe(view.requests.cost[208]);
  });

  it('is an estimate where no cost was recorded, though the tokens are a fact', () => {
    const listed = all.map(() => true);
    const other = { ...own, requests: { ...own.requests, listed } };

    const found = requestCost(other, other.recorded, 208);

    expect(found).toMatchObject({
      areTokensReported: true,
      isCostRecorded: false
    });
    expect(found.cost).toBe(requestCost(own, own.recorded, 208).cost);
  });

  it('would have been as of the request before, with a warm cache', () => {
    for (const { request, cost, loss } of view.breaks) {
      const found = requestCost(view, view.recorded, request);
      const { read, write } = view.price;
      expect(found.cacheBreak?.request).toBe(request);
      expect(found.warmCost).toBeCloseTo((found.cost ?? 0) - cost, 6);
      expect(cost).toBeCloseTo((loss * (write - read)) / 1e6, 4);
    }
  });

  it('is an estimate under a policy', () => {
    const [, policy] = tracks;
    if (policy === undefined) {
      throw new Error('The sample has no track.');
    }
    const found = requestCost(view, policy, 208);

    expect(found).toMatchObject({
      tokens: policy.total[208],
      cost: policy.cost[208],
      cacheBreak: null,
      isCostRecorded: false
    });
  });
});

it('finds the dearest request', () => {
  expect(dearestRequest(view, view.recorded)).toBe(415);
});

it('goes from break to break, and ends at the last', () => {
  const breaks = view.breaks.map(row => row.request);

  expect(nearestRequest(breaks, 211, -1)).toBe(208);
  expect(nearestRequest(breaks, 211, 1)).toBe(215);
  expect(nearestRequest(breaks, 415, 1)).toBeNull();
});

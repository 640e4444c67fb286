/** The sums of a range add up to those of the session, and say of how many requests they are. */
import { describe, expect, it } from 'vitest';
import type { TimelineView } from '../../../../src/protocol/generated';
import {
  rangeFigures,
  rangeMovedTo,
  rangeWithin,
  wholeRange
} from '../../../../src/state/inspector/figures/rangeFigures';
import { ItemStates } from '../../../../src/state/inspector/figures/itemStates';
import { ALL_ITEMS, itemRows } from '../../../../src/state/inspector/itemRows';
import { NAMES, sample } from '../../../inspector/samples';

describe('the sums of a range', () => {
  it.each(['pi', 'claude_code', 'cline'] as const)(
    'are the facts of the session where it is all requests (%s)',
    name => {
      const { view } = sample(name);
      const facts = view.recorded.facts;
      const figures = rangeFigures(view, view.recorded, wholeRange(view));

      expect(figures).toMatchObject({
        requestCount: view.requests.id.length,
        tokens: facts?.input,
        requestsWithTokens: facts?.requests,
        cacheBreaks: facts?.breaks,
        areTokensReported: true,
        isCostRecorded: facts?.cost_is_fact,
        policyActionRequests: null
      });
      expect(figures.cost).toBeCloseTo(facts?.cost ?? NaN, 9);
    }
  );

  it.each(NAMES)('add up over neighbouring ranges (%s)', name => {
    const { view } = sample(name);
    const { last } = wholeRange(view);
    const parts = [
      { first: 0, last: 1 },
      { first: 2, last: 2 },
      { first: 3, last }
    ].map(range => rangeFigures(view, view.recorded, range));
    const whole = rangeFigures(view, view.recorded, { first: 0, last });
    const total = (key: 'requestCount' | 'tokens' | 'cost') =>
      parts.reduce((sum, figures) => sum + figures[key], 0);

    expect(total('requestCount')).toBe(whole.requestCount);
    expect(total('tokens')).toBe(whole.tokens);
    expect(total('cost')).toBeCloseTo(whole.cost, 9);
  });

  it('are counted where nothing was reported', () => {
    const { view } = sample('swe_agent');
    const range = { first: 2, last: 4 };
    const figures = rangeFigures(view, view.recorded, range);
    const counted = view.recorded.total.slice(2, 5);

    expect(figures).toMatchObject({
      tokens: counted.reduce((sum, tokens) => sum + tokens, 0),
      requestsWithTokens: 3,
      areTokensReported: false,
      isCostRecorded: false,
      cacheBreaks: null
    });
  });

  it('are facts where every cost was recorded, also without reported tokens', () => {
    const { view } = sample('swe_agent');
    const paid: TimelineView = {
      ...view,
      requests: {
        ...view.requests,
        cost: view.requests.cost.map((_, request) =>
          request === 3 ? null : 1
        ),
        listed: view.requests.cost.map((_, request) => request === 5)
      }
    };

    expect(
      rangeFigures(paid, paid.recorded, { first: 2, last: 4 })
    ).toMatchObject({ cost: 2, requestsWithCost: 2, isCostRecorded: true });
    expect(
      rangeFigures(paid, paid.recorded, { first: 4, last: 5 })
    ).toMatchObject({ cost: 2, requestsWithCost: 2, isCostRecorded: false });
  });
});

describe('a range', () => {
  it('keeps the end that is not at the cursor', () => {
    expect(rangeMovedTo({ first: 3, last: 8 }, 8, 9)).toEqual({
      first: 3,
      last: 9
    });
    expect(rangeMovedTo({ first: 3, last: 8 }, 3, 10)).toEqual({
      first: 8,
      last: 10
    });
    expect(rangeMovedTo({ first: 3, last: 8 }, 5, 4)).toEqual({
      first: 4,
      last: 5
    });
    expect(rangeMovedTo(null, 5, 6)).toEqual({ first: 5, last: 6 });
  });

  it('ends where the requests do', () => {
    expect(rangeWithin({ first: 3, last: 8 }, 6)).toEqual({
      first: 3,
      last: 5
    });
    expect(rangeWithin({ first: 3, last: 8 }, 3)).toBeNull();
    expect(rangeWithin(null, 3)).toBeNull();
  });
});

describe('the rows of a range', () => {
  it.each(NAMES)('are the items that its requests hold (%s)', name => {
    const { view, tracks } = sample(name);
    const { last } = wholeRange(view);
    const track = tracks[0] ?? view.recorded;
    const states = new ItemStates(view, track);
    const range = { first: last >> 1, last: (last >> 1) + 1 };
    const rows = [...itemRows(states, ALL_ITEMS, range)];
    const held = Array.from(itemRows(states, ALL_ITEMS)).filter(item =>
      [range.first, range.last].some(request => {
        const state = states.stateAt(item, request);
        return (
          state !== null &&
          (!['out', 'reverted', 'summarised'].includes(state) ||
            states.tokensAt(item, request) > 0)
        );
      })
    );

    expect(rows.length).toBeGreaterThan(0);
    expect(rows).toEqual(held);
    const changed = itemRows(states, { ...ALL_ITEMS, changed: true }, range);
    const changes = new Set(
      track.transitions.item.filter((_, at) =>
        [range.first, range.last].includes(track.transitions.request[at] ?? -1)
      )
    );
    expect([...changed]).toEqual(rows.filter(item => changes.has(item)));
  });
});

/** A reduction pays back only while what it reduced is still in the context. */
import { describe, expect, it } from 'vitest';
import type { TrackView } from '../../../../src/protocol/generated';
import { ItemStates } from '../../../../src/state/inspector/figures/itemStates';
import { reductionBalance } from '../../../../src/state/inspector/figures/reductionBalance';
import { sample } from '../../../inspector/samples';

const { view } = sample('pi');
const item = view.items.tokens.findIndex(
  (tokens, at) => tokens > 2000 && (view.items.entered[at] ?? 0) > 5
);
const entered = view.items.entered[item] ?? 0;
const since = entered + 40;

/** The recorded track with nothing but a clearing of one item, and its end after so many requests. */
function cleared(gone: number | null): ItemStates {
  const changes: [number, TrackView['transitions']['state'][number], number][] =
    [
      [since, 'cleared', 10],
      ...(gone === null ? [] : [[since + gone, 'summarised', 0] as const])
    ].map(value => [...value] as [number, 'cleared' | 'summarised', number]);
  const track: TrackView = {
    ...view.recorded,
    policy: 'made',
    transitions: {
      item: changes.map(() => item),
      request: changes.map(([at]) => at),
      state: changes.map(([, state]) => state),
      tokens: changes.map(([, , tokens]) => tokens),
      words: changes.map(() => 0)
    }
  };
  return new ItemStates(
    {
      ...view,
      requests: {
        ...view.requests,
        reported: view.requests.reported.map(() => null)
      }
    },
    track
  );
}

describe('what a clearing saves', () => {
  it('pays back after some requests where the item stays', () => {
    const found = reductionBalance(cleared(null), item, since);

    expect(found?.rewrittenTokens).toBeGreaterThan(0);
    expect(found?.requestsUntilPaidBack).toBeGreaterThan(2);
    expect(found?.reducedRequestCount).toBe(view.recorded.total.length - since);
  });

  it('never pays where the item is gone before', () => {
    const found = reductionBalance(cleared(2), item, since);

    expect(found?.reducedRequestCount).toBe(2);
    expect(found?.requestsUntilPaidBack).toBeNull();
  });
});

/** The layers of a track that goes on from an older one are those of the whole track. */
import { describe, expect, it } from 'vitest';
import type { TimelineView } from '../../../src/protocol/generated';
import { ItemStates } from '../../../src/state/inspector/figures/itemStates';
import {
  kindSeries,
  type ICountedTrack,
  type IKindSeries
} from '../../../src/state/inspector/figures/kindSeries';
import { patchedView } from '../../../src/state/inspector/viewPatch';
import { grownViews, NAMES, sample } from '../../inspector/samples';

function counted(
  view: TimelineView,
  before: ICountedTrack | null,
  track = view.recorded
): ICountedTrack {
  const states = new ItemStates(view, track);
  return { states, series: kindSeries(states, before) };
}

/** What is drawn of a series. */
function drawn({ names, layers, totals }: IKindSeries) {
  return { names, layers, total: totals };
}

/** A view with so many of its requests, and what of it happened until then. */
function beginning(view: TimelineView, requests: number): TimelineView {
  const { transitions } = view.recorded;
  const moves = transitions.request.filter(value => value < requests).length;
  const items = view.requests.items[requests - 1] ?? 0;
  const cut = <T extends object>(columns: T, count: number) =>
    Object.fromEntries(
      Object.entries(columns).map(([name, values]: [string, unknown[]]) => [
        name,
        values.slice(0, count)
      ])
    ) as T;
  return {
    ...view,
    items: { ...view.items, ...cut(view.items, items), order: [] },
    requests: cut(view.requests, requests),
    recorded: { ...view.recorded, transitions: cut(transitions, moves) }
  };
}

describe('a track of a session that grows', () => {
  it('has the layers of the whole view after every patch', () => {
    let held: TimelineView | null = null;
    let before: ICountedTrack | null = null;
    let patches = 0;
    for (const { view, patch } of grownViews()) {
      held = held === null || patch === null ? view : patchedView(held, patch);
      if (held === null) {
        throw new Error('The patch is not one of the view before.');
      }
      before = counted(held, before);
      patches += patch === null ? 0 : 1;

      expect(drawn(before.series)).toEqual(drawn(counted(view, null).series));
    }
    expect(patches).toBeGreaterThan(5);
  });

  it.each(NAMES)('has them wherever the session of %s is cut', name => {
    const { view } = sample(name);
    const count = view.requests.id.length;
    const shares = [0.1, 0.3, 0.31, 0.32, 0.5, 0.2, 0.9, 1];
    const places = shares.map(value => Math.max(Math.round(value * count), 1));
    let before: ICountedTrack | null = null;
    for (const place of [1, 2, ...places]) {
      const shorter = beginning(view, place);
      before = counted(shorter, before);

      expect(drawn(before.series)).toEqual(
        drawn(counted(shorter, null).series)
      );
    }
  });

  it.each(NAMES)('has them from one policy of %s to another', name => {
    const { view, tracks } = sample(name);
    let before = counted(view, null);
    for (const track of [...tracks, view.recorded, ...tracks.reverse()]) {
      before = counted(view, before, track);

      expect(drawn(before.series)).toEqual(
        drawn(counted(view, null, track).series)
      );
    }
  });

  it('keeps its layers where nothing of them changed', () => {
    const { view } = sample('pi');
    const first = counted(view, null);

    expect(counted({ ...view, title: 'Another' }, first).series).toBe(
      first.series
    );
  });

  it('is counted anew where tokens are measured anew', () => {
    const { view } = sample('pi');
    const ruler = { ...view.ruler, factor: 2 * view.ruler.factor };
    const other = { ...view, ruler };

    expect(drawn(counted(other, counted(view, null)).series)).toEqual(
      drawn(counted(other, null).series)
    );
  });
});

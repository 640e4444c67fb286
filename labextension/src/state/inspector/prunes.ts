/** The requests at which a track began to show items reduced that the request before had shown otherwise. */
import type { TimelineView, TrackView } from '../../protocol/generated';
import type { ItemState } from './itemStates';

const REDUCED: ReadonlySet<ItemState> = new Set([
  'truncated',
  'cleared',
  'masked',
  'offloaded'
]);

/** Returns how many items were cleared or shortened before each request at which some were. */
export function prunes(
  view: TimelineView,
  track: TrackView
): ReadonlyMap<number, number> {
  const { item, request, state } = track.transitions;
  const found = new Map<number, number>();
  item.forEach((one, at) => {
    const where = request[at] ?? 0;
    const isLater = where > (view.items.entered[one] ?? 0);
    if (
      isLater &&
      where < track.total.length &&
      REDUCED.has(state[at] ?? 'whole')
    ) {
      found.set(where, (found.get(where) ?? 0) + 1);
    }
  });
  return found;
}

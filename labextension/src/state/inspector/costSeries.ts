/** What a session has cost up to each request. */
import type { TimelineView, TrackView } from '../../protocol/generated';

/** Returns the sum of a track's costs up to each request; an estimate. */
export function costSeries(track: TrackView): Float64Array {
  return running(track.cost);
}

/** Returns the sum of the recorded costs; null where a recording has none. */
export function recordedCosts(view: TimelineView): Float64Array | null {
  const { cost } = view.requests;
  return view.price.unit === 'USD' && cost.some(one => one !== null)
    ? running(cost)
    : null;
}

function running(costs: readonly (number | null)[]): Float64Array {
  const sums = new Float64Array(costs.length);
  let sum = 0;
  costs.forEach((cost, request) => {
    sum += cost ?? 0;
    sums[request] = sum;
  });
  return sums;
}

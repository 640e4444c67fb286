/** What a session has cost up to each request. */
import type { TimelineView, TrackView } from '../../protocol/generated';

/** Returns the sum of a track's costs up to each request; an estimate. */
export function costSeries(track: TrackView): Float64Array {
  return running(track.cost);
}

/** Returns the sum of what the requests cost, at the view's prices where no cost was recorded; null where nothing was reported. */
export function recordedCosts(view: TimelineView): Float64Array | null {
  const { cost, reported } = view.requests;
  const isKnown =
    reported.some(one => one !== null) ||
    cost.some(
      (one, at) => one !== null && !(view.requests.listed[at] ?? false)
    );
  return isKnown ? running(cost) : null;
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

/** The cost of a session up to each request. */
import type { TimelineView, TrackView } from '../../../protocol/generated';

/** Returns the sum of a track's costs up to each request; an estimate. */
export function costSeries(track: TrackView): Float64Array {
  return runningSums(track.cost);
}

/** Returns the sum of what the requests cost, at the view's prices where no cost was recorded; null where nothing was reported. */
export function recordedCosts(view: TimelineView): Float64Array | null {
  const { cost, reported } = view.requests;
  const isReported =
    reported.some(value => value !== null) ||
    cost.some(
      (value, request) =>
        value !== null && !(view.requests.listed[request] ?? false)
    );
  return isReported ? runningSums(cost) : null;
}

function runningSums(costs: readonly (number | null)[]): Float64Array {
  const sums = new Float64Array(costs.length);
  let sum = 0;
  costs.forEach((cost, request) => {
    sum += cost ?? 0;
    sums[request] = sum;
  });
  return sums;
}

/** What a session has cost up to each request. */
import type { TimelineView, TrackView } from '../../protocol/generated';
import { foreignPrice } from './labels';
import { requestCost } from './requestCost';

/** Returns the sum of a track's costs up to each request; an estimate. */
export function costSeries(track: TrackView): Float64Array {
  return running(track.cost);
}

/** Returns the sum of the recorded costs, or of the reported usage at another model's price; null where there is none. */
export function recordedCosts(view: TimelineView): Float64Array | null {
  const { cost, reported } = view.requests;
  if (view.price.unit !== 'USD') {
    return null;
  }
  if (foreignPrice(view) === '') {
    return cost.some(one => one !== null) ? running(cost) : null;
  }
  return reported.some(one => one !== null)
    ? running(
        reported.map((one, request) =>
          one === null ? null : requestCost(view, view.recorded, request).cost
        )
      )
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

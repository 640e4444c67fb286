/** The cost of one request and its cause: tokens sent, tokens written anew, and the cost with a warm cache. */
import type {
  BreakView,
  PriceProfile,
  TimelineView,
  TrackView
} from '../../../protocol/generated';

export interface IRequestCost {
  /** Tokens sent, and how many of them came from the cache; null where that is not known. */
  readonly tokens: number;
  readonly cachedTokens: number | null;
  /** In the money of the view's price; null where it is not known. */
  readonly cost: number | null;
  /** The break of the cache at this request, and what the request would have cost without it. */
  readonly cacheBreak: BreakView | null;
  readonly warmCost: number | null;
  /** Whether an estimate loses the cache here as the recording did. */
  readonly isBreakTaken: boolean;
  /** The tokens are what the provider reported. */
  readonly areTokensReported: boolean;
  /** The cost was recorded; else it is an estimate, also where the tokens were reported. */
  readonly isCostRecorded: boolean;
}

/** Returns the cost of a request of a track. */
export function requestCost(
  view: TimelineView,
  track: TrackView,
  request: number
): IRequestCost {
  const reported = view.requests.reported[request] ?? null;
  if (track !== view.recorded || reported === null) {
    return {
      tokens: track.total[request] ?? 0,
      cachedTokens: track.read[request] ?? null,
      cost: track.cost[request] ?? null,
      cacheBreak: null,
      warmCost: null,
      isBreakTaken: track.taken.includes(request),
      areTokensReported: false,
      isCostRecorded: false
    };
  }
  const cost = view.requests.cost[request] ?? null;
  const cacheBreak =
    view.breaks.find(cacheBreak => cacheBreak.request === request) ?? null;
  return {
    tokens: reported,
    cachedTokens: view.requests.read[request] ?? null,
    cost,
    cacheBreak,
    warmCost:
      cacheBreak === null || cost === null
        ? null
        : Math.max(cost - cacheBreak.cost, 0),
    isBreakTaken: false,
    areTokensReported: true,
    isCostRecorded: cost !== null && !(view.requests.listed[request] ?? false)
  };
}

/** Returns the prices by which a request's cost was computed: those of its own model where the view has them. */
export function pricesOfRequest(
  view: TimelineView,
  request: number
): PriceProfile {
  const model = view.models[view.requests.model[request] ?? -1] ?? '';
  return (
    view.price.other_models.find(price => price.name === model) ?? view.price
  );
}

/** Returns the request that cost most; of equal ones the first. */
export function dearestRequest(view: TimelineView, track: TrackView): number {
  let dearest = 0;
  let maxCost = -1;
  for (let request = 0; request < track.total.length; request++) {
    const { cost } = requestCost(view, track, request);
    if (cost !== null && cost > maxCost) {
      maxCost = cost;
      dearest = request;
    }
  }
  return dearest;
}

/** Returns the nearest of the given requests before or after one; null where there is none. */
export function nearestRequest(
  requests: readonly number[],
  from: number,
  direction: 1 | -1
): number | null {
  const candidates = requests.filter(
    request => (request - from) * direction > 0
  );
  return candidates.length === 0
    ? null
    : direction === 1
      ? Math.min(...candidates)
      : Math.max(...candidates);
}

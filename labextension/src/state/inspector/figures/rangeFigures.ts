/** A range of requests that a person chose, and the sums over it. */
import type { TimelineView, TrackView } from '../../../protocol/generated';

/** Requests beside each other, both ends included. */
export interface IRequestRange {
  readonly first: number;
  readonly last: number;
}

/** Returns the range between two requests, in whichever order. */
export function rangeBetween(
  request: number,
  otherRequest: number
): IRequestRange {
  return {
    first: Math.min(request, otherRequest),
    last: Math.max(request, otherRequest)
  };
}

/** Returns all requests of a view. */
export function wholeRange(view: TimelineView): IRequestRange {
  return { first: 0, last: view.requests.id.length - 1 };
}

/** Returns the part of a range below `total` requests; null where it begins later. */
export function rangeWithin(
  range: IRequestRange | null,
  total: number
): IRequestRange | null {
  return range === null || range.first >= total
    ? null
    : { first: range.first, last: Math.min(range.last, total - 1) };
}

/** Returns whether a request is in a range. */
export function isInRange(
  { first, last }: IRequestRange,
  request: number
): boolean {
  return request >= first && request <= last;
}

/**
 * Returns the range after its end at the cursor was moved. The other end stays; without an end at the cursor a new
 * range begins there.
 */
export function rangeMovedTo(
  range: IRequestRange | null,
  cursor: number,
  newCursor: number
): IRequestRange {
  if (range?.last === cursor) {
    return rangeBetween(range.first, newCursor);
  }
  return rangeBetween(range?.first === cursor ? range.last : cursor, newCursor);
}

/** Sums over a range of requests. A sum of no known value is 0. */
export interface IRangeFigures {
  readonly requestCount: number;
  /** Tokens that were sent, and the number of requests of which that is known. */
  readonly tokens: number;
  readonly requestsWithTokens: number;
  /** In the money of the view's price, and the number of requests of which it is known. */
  readonly cost: number;
  readonly requestsWithCost: number;
  /** The tokens are what the provider reported. */
  readonly areTokensReported: boolean;
  /** All of the cost was recorded; else some of it is an estimate. */
  readonly isCostRecorded: boolean;
  /** Breaks of the cache; null where nothing was reported, and of a policy. */
  readonly cacheBreaks: number | null;
  /** Requests at which the rule of a policy acted; null of the recording. */
  readonly policyActionRequests: number | null;
}

/** Returns the sums of a track: of what was reported where something was, else of what was counted. */
export function rangeFigures(
  view: TimelineView,
  track: TrackView,
  range: IRequestRange
): IRangeFigures {
  const { reported, cost, listed } = view.requests;
  const isRecorded = track === view.recorded;
  const valuesInRange = <T>(values: readonly T[]) =>
    values.slice(range.first, range.last + 1);
  const areTokensReported =
    isRecorded && knownValues(valuesInRange(reported)).length > 0;
  // A cost may be recorded of a request whose tokens are not.
  const hasRecordedCost = (requestIndex: number) =>
    (cost[requestIndex] ?? null) !== null && !(listed[requestIndex] ?? false);
  const requests = valuesInRange(reported).map(
    (_, index) => range.first + index
  );
  const usesRecordedCost =
    areTokensReported || (isRecorded && requests.some(hasRecordedCost));
  const knownTokens = knownValues(
    valuesInRange(areTokensReported ? reported : track.total)
  );
  const knownCosts = knownValues(
    valuesInRange(usesRecordedCost ? cost : track.cost)
  );
  return {
    requestCount: requests.length,
    tokens: sum(knownTokens),
    requestsWithTokens: knownTokens.length,
    cost: sum(knownCosts),
    requestsWithCost: knownCosts.length,
    areTokensReported,
    isCostRecorded:
      usesRecordedCost &&
      requests.filter(hasRecordedCost).length === knownCosts.length,
    cacheBreaks: areTokensReported
      ? view.breaks.filter(({ request }) => isInRange(range, request)).length
      : null,
    policyActionRequests: isRecorded
      ? null
      : new Set(track.fired.filter(request => isInRange(range, request))).size
  };
}

function knownValues(values: readonly (number | null)[]): readonly number[] {
  return values.filter(value => value !== null);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** A range of requests that a person chose, and the sums over it. */
import type { TimelineView, TrackView } from '../../../protocol/generated';

/** Requests beside each other, both ends included. */
export interface IRequestRange {
  readonly first: number;
  readonly last: number;
}

/** Returns the range between two requests, in whichever order. */
export function rangeBetween(one: number, other: number): IRequestRange {
  return { first: Math.min(one, other), last: Math.max(one, other) };
}

/** Returns all requests of a view. */
export function wholeRange(view: TimelineView): IRequestRange {
  return { first: 0, last: view.requests.id.length - 1 };
}

/** Returns the range as far as there are so many requests; null where it begins later. */
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
  to: number
): IRequestRange {
  if (range?.last === cursor) {
    return rangeBetween(range.first, to);
  }
  return rangeBetween(range?.first === cursor ? range.last : cursor, to);
}

/** Sums over a range of requests. A sum of no known value is 0. */
export interface IRangeFigures {
  readonly requests: number;
  /** Tokens that were sent, and the number of requests of which that is known. */
  readonly tokens: number;
  readonly tokensKnown: number;
  /** In the money of the view's price, and the number of requests of which it is known. */
  readonly cost: number;
  readonly costKnown: number;
  /** The tokens are what the provider reported. */
  readonly isReported: boolean;
  /** All of the cost was recorded; else some of it is an estimate. */
  readonly isFact: boolean;
  /** Breaks of the cache; null where nothing was reported, and of a policy. */
  readonly breaks: number | null;
  /** Requests at which the rule of a policy acted; null of the recording. */
  readonly acted: number | null;
}

/** Returns the sums of a track: of what was reported where something was, else of what was counted. */
export function rangeFigures(
  view: TimelineView,
  track: TrackView,
  range: IRequestRange
): IRangeFigures {
  const { reported, cost, listed } = view.requests;
  const isRecorded = track === view.recorded;
  const within = <T>(values: readonly T[]) =>
    values.slice(range.first, range.last + 1);
  const isReported = isRecorded && knownValues(within(reported)).length > 0;
  // A cost may be recorded of a request whose tokens are not.
  const isSpent = (at: number) =>
    (cost[at] ?? null) !== null && !(listed[at] ?? false);
  const requests = within(reported).map((_, index) => range.first + index);
  const isPaid = isReported || (isRecorded && requests.some(isSpent));
  const sent = knownValues(within(isReported ? reported : track.total));
  const spent = knownValues(within(isPaid ? cost : track.cost));
  return {
    requests: requests.length,
    tokens: sum(sent),
    tokensKnown: sent.length,
    cost: sum(spent),
    costKnown: spent.length,
    isReported,
    isFact: isPaid && requests.filter(isSpent).length === spent.length,
    breaks: isReported
      ? view.breaks.filter(({ request }) => isInRange(range, request)).length
      : null,
    acted: isRecorded
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

/** The tokens that a reduced item saves in each request, and the cache loss that its reduction caused. */
import { requestDifference } from './difference';
import { isGone, type ItemStates } from './itemStates';
import { writtenAnew } from './writtenAnew';

export interface IReductionBalance {
  /** Tokens saved in the asked request, scaled; and in how many requests up to it some were saved. */
  readonly saved: number;
  readonly requests: number;
  /** The request of the change, counted from 0, and how many items it reduced besides. */
  readonly since: number;
  readonly others: number;
  /** Tokens that it had written anew, and their price in the money of the view; of an estimate: would have. */
  readonly anew: number;
  readonly cost: number;
  readonly isFact: boolean;
  /** The number of requests after which the savings have paid for the change; null where they never do. */
  readonly paidBack: number | null;
  /** The number of requests that show at least one of the reduced items reduced. */
  readonly following: number;
}

/** Returns what a reduction that holds at a request saves and cost; null where nothing is saved. */
export function reductionBalance(
  states: ItemStates,
  item: number,
  request: number
): IReductionBalance | null {
  const { view, track } = states;
  const { request: at, state, tokens } = track.transitions;
  const transition = states.transitionAt(item, request);
  const since = at[transition] ?? 0;
  if (transition < 0 || !states.existsAt(item, request) || since < 1) {
    return null;
  }
  // An item that a summary, a revert or a person removed saves nothing by itself: other text replaces it, or none should.
  if (isGone(state[transition] ?? 'whole')) {
    return null;
  }
  const { factor } = view.ruler;
  const saved =
    ((view.items.tokens[item] ?? 0) - (tokens[transition] ?? 0)) * factor;
  if (saved < 1) {
    return null;
  }
  const change = requestDifference(states, since - 1, since);
  const paid = writtenAnew(view, change);
  const { read, input } = view.price;
  const perToken = (read || input) / 1e6;
  const reductions = change.changed.map(reduction => ({
    saved: (reduction.before - reduction.since) * perToken,
    requests: requestsReduced(states, reduction.item, since)
  }));
  return {
    saved,
    requests: request - since + 1,
    since,
    others: Math.max(change.changed.length - 1, 0),
    anew: paid.isBreak ? paid.anew : 0,
    cost: paid.isBreak ? paid.cost : 0,
    isFact: paid.isFact,
    paidBack: requestsUntilPaid(reductions, paid.cost),
    following: Math.max(0, ...reductions.map(reduction => reduction.requests))
  };
}

interface ISaving {
  /** Its savings in each request, in the unit of the view's prices. */
  readonly saved: number;
  /** How many requests show it reduced, from the change on. */
  readonly requests: number;
}

/** Returns for how many requests an item stays reduced: until it is gone, whole again, or the track ends. */
function requestsReduced(
  states: ItemStates,
  item: number,
  since: number
): number {
  const { request, state } = states.track.transitions;
  for (const reduction of states.transitionsOf(item)) {
    const at = request[reduction] ?? 0;
    const now = state[reduction] ?? 'whole';
    if (at > since && (isGone(now) || now === 'whole')) {
      return at - since;
    }
  }
  return states.track.total.length - since;
}

/** Returns after how many requests the savings reach a cost; null where they do not. */
function requestsUntilPaid(
  reductions: readonly ISaving[],
  cost: number
): number | null {
  const longest = Math.max(
    0,
    ...reductions.map(reduction => reduction.requests)
  );
  let unpaid = cost;
  for (let after = 1; after <= longest; after++) {
    unpaid -= reductions.reduce(
      (sum, reduction) =>
        after <= reduction.requests ? sum + reduction.saved : sum,
      0
    );
    if (unpaid <= 0) {
      return after;
    }
  }
  return null;
}

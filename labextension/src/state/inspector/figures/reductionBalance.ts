/** The tokens that a reduced item saves in each request, and the cache loss that its reduction caused. */
import { requestDifference } from './difference';
import { isGone, type ItemStates } from './itemStates';
import { writtenAnew } from './writtenAnew';

export interface IReductionBalance {
  /** Tokens saved in the asked request, scaled; and in how many requests up to it some were saved. */
  readonly savedTokens: number;
  readonly requestCount: number;
  /** The request of the change, counted from 0, and how many items it reduced besides. */
  readonly changeRequest: number;
  readonly otherItemCount: number;
  /** Tokens that it had written anew, and their price in the money of the view; of an estimate: would have. */
  readonly rewrittenTokens: number;
  readonly cost: number;
  readonly isFact: boolean;
  /** The number of requests after which the savings have paid for the change; null where they never do. */
  readonly requestsUntilPaidBack: number | null;
  /** The number of requests that show at least one of the reduced items reduced. */
  readonly reducedRequestCount: number;
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
  const changeRequest = at[transition] ?? 0;
  if (transition < 0 || !states.existsAt(item, request) || changeRequest < 1) {
    return null;
  }
  // An item that a summary, a revert or a person removed saves nothing by itself: other text replaces it, or none should.
  if (isGone(state[transition] ?? 'whole')) {
    return null;
  }
  const { factor } = view.ruler;
  const savedTokens =
    ((view.items.tokens[item] ?? 0) - (tokens[transition] ?? 0)) * factor;
  if (savedTokens < 1) {
    return null;
  }
  const change = requestDifference(states, changeRequest - 1, changeRequest);
  const rewritten = writtenAnew(view, change);
  const { read, input } = view.price;
  const priceOfToken = (read || input) / 1e6;
  const savings = change.changedItems.map(reduction => ({
    savedCost: (reduction.tokensBefore - reduction.tokensSince) * priceOfToken,
    requestCount: reducedRequestCountOf(states, reduction.item, changeRequest)
  }));
  return {
    savedTokens,
    requestCount: request - changeRequest + 1,
    changeRequest,
    otherItemCount: Math.max(change.changedItems.length - 1, 0),
    rewrittenTokens: rewritten.isBreak ? rewritten.rewrittenTokens : 0,
    cost: rewritten.isBreak ? rewritten.cost : 0,
    isFact: rewritten.isFact,
    requestsUntilPaidBack: requestsUntilPaid(savings, rewritten.cost),
    reducedRequestCount: Math.max(
      0,
      ...savings.map(reduction => reduction.requestCount)
    )
  };
}

interface ISaving {
  /** Its savings in each request, in the unit of the view's prices. */
  readonly savedCost: number;
  /** How many requests show it reduced, from the change on. */
  readonly requestCount: number;
}

/** Returns for how many requests an item stays reduced: until it is gone, whole again, or the track ends. */
function reducedRequestCountOf(
  states: ItemStates,
  item: number,
  changeRequest: number
): number {
  const { request, state } = states.track.transitions;
  for (const reduction of states.transitionsOf(item)) {
    const at = request[reduction] ?? 0;
    const newState = state[reduction] ?? 'whole';
    if (at > changeRequest && (isGone(newState) || newState === 'whole')) {
      return at - changeRequest;
    }
  }
  return states.track.total.length - changeRequest;
}

/** Returns after how many requests the savings reach a cost; null where they do not. */
function requestsUntilPaid(
  savings: readonly ISaving[],
  cost: number
): number | null {
  const maxRequestCount = Math.max(
    0,
    ...savings.map(reduction => reduction.requestCount)
  );
  let unpaidCost = cost;
  for (let requestCount = 1; requestCount <= maxRequestCount; requestCount++) {
    unpaidCost -= savings.reduce(
      (sum, reduction) =>
        requestCount <= reduction.requestCount
          ? sum + reduction.savedCost
          : sum,
      0
    );
    if (unpaidCost <= 0) {
      return requestCount;
    }
  }
  return null;
}

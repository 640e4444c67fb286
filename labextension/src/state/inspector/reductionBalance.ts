/** What a reduced item saves in each request, and what the change that reduced it had read anew. */
import { difference } from './difference';
import { isGone, type ItemStates } from './itemStates';
import { readAnew } from './readAnew';

export interface IReductionBalance {
  /** Tokens that a request is smaller by, and how many requests up to the asked one were; scaled. */
  readonly saved: number;
  readonly requests: number;
  /** The request of the change, counted from 0, and how many items it reduced besides. */
  readonly since: number;
  readonly others: number;
  /** Tokens that it had read anew, and their price in the money of the view; of an estimate: would have. */
  readonly anew: number;
  readonly cost: number;
  readonly isFact: boolean;
  /** After how many requests all that it reduced has paid for that; null where it had not when it was gone or whole again. */
  readonly paidBack: number | null;
  /** How many requests of the track show any of what it reduced so, or smaller still. */
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
  const found = states.transition(item, request);
  const since = at[found] ?? 0;
  if (found < 0 || !states.exists(item, request) || since < 1) {
    return null;
  }
  // What a summary, a revert or a person took out is no saving of its own: other words stand for it, or none should.
  if (isGone(state[found] ?? 'whole')) {
    return null;
  }
  const { factor } = view.ruler;
  const saved =
    ((view.items.tokens[item] ?? 0) - (tokens[found] ?? 0)) * factor;
  if (saved < 1) {
    return null;
  }
  const change = difference(states, since - 1, since);
  const paid = readAnew(view, change);
  const { read, input } = view.price;
  const perToken = (read || input) / 1e6;
  const kept = change.rewritten.map(one => ({
    saved: (one.before - one.since) * perToken,
    requests: keptFor(states, one.item, since)
  }));
  return {
    saved,
    requests: request - since + 1,
    since,
    others: Math.max(change.rewritten.length - 1, 0),
    anew: paid.isBreak ? paid.anew : 0,
    cost: paid.isBreak ? paid.cost : 0,
    isFact: paid.isFact,
    paidBack: paidAfter(kept, paid.cost),
    following: Math.max(0, ...kept.map(one => one.requests))
  };
}

interface IKept {
  /** What it saves in each request, in the money of the view. */
  readonly saved: number;
  /** How many requests show it reduced, from the change on. */
  readonly requests: number;
}

/** Returns for how many requests an item stays reduced: until it is gone, whole again, or the track ends. */
function keptFor(states: ItemStates, item: number, since: number): number {
  const { request, state } = states.track.transitions;
  for (const one of states.transitionsOf(item)) {
    const at = request[one] ?? 0;
    const now = state[one] ?? 'whole';
    if (at > since && (isGone(now) || now === 'whole')) {
      return at - since;
    }
  }
  return states.track.total.length - since;
}

/** Returns after how many requests the savings reach a cost; null where they do not. */
function paidAfter(kept: readonly IKept[], cost: number): number | null {
  const longest = Math.max(0, ...kept.map(one => one.requests));
  let rest = cost;
  for (let after = 1; after <= longest; after++) {
    rest -= kept.reduce(
      (sum, one) => (after <= one.requests ? sum + one.saved : sum),
      0
    );
    if (rest <= 0) {
      return after;
    }
  }
  return null;
}

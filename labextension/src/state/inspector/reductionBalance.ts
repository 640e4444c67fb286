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
  /** After how many requests all that it reduced has paid for that; null where it never does. */
  readonly paidBack: number | null;
  /** How many requests the track has from the change on. */
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
  const smaller = change.rewritten.reduce(
    (sum, one) => sum + one.before - one.since,
    0
  );
  const { read, input } = view.price;
  const perRequest = (smaller * (read || input)) / 1e6;
  return {
    saved,
    requests: request - since + 1,
    since,
    others: Math.max(change.rewritten.length - 1, 0),
    anew: paid.isBreak ? paid.anew : 0,
    cost: paid.isBreak ? paid.cost : 0,
    isFact: paid.isFact,
    paidBack: perRequest > 0 ? Math.ceil(paid.cost / perRequest) : null,
    following: track.total.length - since
  };
}

/** The state of each item in each request, computed from a track's transitions. */
import {
  GONE_STATES,
  type TimelineView,
  type TrackView
} from '../../../protocol/generated';

export type ItemState = TrackView['transitions']['state'][number];

/** The states in which an item is not in the request; a summary takes the tokens of the first item it covers. */
const GONE: ReadonlySet<ItemState> = new Set(GONE_STATES);

/** Returns whether an item in this state is not in the request. */
export function isGone(state: ItemState): boolean {
  return GONE.has(state);
}

/**
 * A track's transitions by item, for questions about single items.
 *
 * Responsibilities: find the transition that holds at a request (a binary search), the tokens that are shown,
 * and where an item's row changes next.
 */
export class ItemStates {
  /** Where the transitions of each item begin in `_order`; one more at the end. */
  private readonly _firstIndexes: Int32Array;
  /** Transitions by item, each item's in the order of requests. */
  private readonly _transitionsByItem: Int32Array;

  constructor(
    readonly view: TimelineView,
    readonly track: TrackView
  ) {
    const itemCount = view.items.id.length;
    const { item } = track.transitions;
    this._firstIndexes = new Int32Array(itemCount + 1);
    for (const itemIndex of item) {
      this._firstIndexes[itemIndex + 1] =
        (this._firstIndexes[itemIndex + 1] ?? 0) + 1;
    }
    for (let index = 0; index < itemCount; index++) {
      this._firstIndexes[index + 1] =
        (this._firstIndexes[index + 1] ?? 0) + (this._firstIndexes[index] ?? 0);
    }
    const nextIndexes = this._firstIndexes.slice(0, itemCount);
    this._transitionsByItem = new Int32Array(item.length);
    item.forEach((itemIndex, transition) => {
      const index = nextIndexes[itemIndex] ?? 0;
      this._transitionsByItem[index] = transition;
      nextIndexes[itemIndex] = index + 1;
    });
  }

  /** Returns the transition that holds for an item at a request; -1 while it is whole. */
  transitionAt(item: number, request: number): number {
    const { request: at, state } = this.track.transitions;
    let low = this._firstIndexes[item] ?? 0;
    let high = this._firstIndexes[item + 1] ?? low;
    const firstIndex = low;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((at[this._transitionsByItem[middle] ?? 0] ?? 0) <= request) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    if (low === firstIndex) {
      return -1;
    }
    const transition = this._transitionsByItem[low - 1] ?? -1;
    return state[transition] === 'whole' ? -1 : transition;
  }

  /** Returns the transitions of an item, in the order of requests. */
  transitionsOf(item: number): Int32Array {
    return this._transitionsByItem.subarray(
      this._firstIndexes[item] ?? 0,
      this._firstIndexes[item + 1] ?? 0
    );
  }

  /** Returns whether the item existed when the request was sent. */
  existsAt(item: number, request: number): boolean {
    return item < (this.view.requests.items[request] ?? 0);
  }

  /** Returns an item's state at a request; null where it did not exist yet. */
  stateAt(item: number, request: number): ItemState | null {
    if (!this.existsAt(item, request)) {
      return null;
    }
    const transition = this.transitionAt(item, request);
    return transition < 0
      ? 'whole'
      : (this.track.transitions.state[transition] ?? 'whole');
  }

  /** Returns the tokens that a request shows of an item, by the ruler's estimator. */
  tokensAt(item: number, request: number): number {
    if (!this.existsAt(item, request)) {
      return 0;
    }
    const transition = this.transitionAt(item, request);
    return transition < 0
      ? (this.view.items.tokens[item] ?? 0)
      : (this.track.transitions.tokens[transition] ?? 0);
  }

  /** Returns the next request at which an item's row changes; null where it does not any more. */
  nextChange(item: number, request: number): number | null {
    const entered = this.view.items.entered[item] ?? 0;
    if (request < entered) {
      return entered < this.view.requests.id.length ? entered : null;
    }
    for (const transition of this.transitionsOf(item)) {
      const at = this.track.transitions.request[transition] ?? 0;
      if (at > request) {
        return at;
      }
    }
    return null;
  }

  /** Returns the request before this one at which an item's row changed; null where there is none. */
  previousChange(item: number, request: number): number | null {
    const changes = [
      this.view.items.entered[item] ?? 0,
      ...[...this.transitionsOf(item)].map(
        transition => this.track.transitions.request[transition] ?? 0
      )
    ];
    return changes.filter(changedAt => changedAt < request).at(-1) ?? null;
  }
}

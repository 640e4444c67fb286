/**
 * The difference of two requests: what came, went and changed, and what they have in common from the
 * beginning on, which is what a provider's cache can read.
 */
import type { TimelineView } from '../../../protocol/generated';
import { isGone, type ItemStates } from './itemStates';
import { scaleAt } from './requestScale';

export interface IChangedItem {
  readonly item: number;
  /** Tokens before and since, scaled. */
  readonly before: number;
  readonly since: number;
}

export interface IDifference {
  readonly from: number;
  readonly to: number;
  readonly came: readonly IChangedItem[];
  readonly went: readonly IChangedItem[];
  readonly changed: readonly IChangedItem[];
  readonly unchanged: number;
  /** Tokens of the unchanged items, scaled. */
  readonly unchangedTokens: number;
  /** Tokens that both have in common from the beginning on, whole messages; scaled. */
  readonly common: number;
  /** Tokens of the later request after the common beginning: unchanged, and new or changed; scaled. */
  readonly again: number;
  readonly fresh: number;
  /** The first place where they differ; null where the later only grew. */
  readonly firstChanged: number | null;
  /** The reported usage of the later request, where the two follow each other in the recording. */
  readonly reported: { read: number; written: number; input: number } | null;
  /** The cache as the track estimates it for the later request, where the two follow each other; else null. */
  readonly estimated: {
    /** Tokens that came from it. */
    readonly read: number;
    /** Whether the estimate loses the cache because the recording did. */
    readonly isTaken: boolean;
  } | null;
}

/** Returns the difference of two requests of one track; `to` is the later one. */
export function requestDifference(
  states: ItemStates,
  from: number,
  to: number
): IDifference {
  const { view } = states;
  const older = scaleAt(states, from);
  const newer = scaleAt(states, to);
  const came: IChangedItem[] = [];
  const went: IChangedItem[] = [];
  const changedItems: IChangedItem[] = [];
  const order = view.items.order;
  const count = Math.max(
    view.requests.items[from] ?? 0,
    view.requests.items[to] ?? 0
  );
  let unchanged = 0;
  let unchangedTokens = 0;
  let common = newer.unseen;
  let again = 0;
  let fresh = 0;
  let firstChanged: number | null = null;
  let block = -1;
  let blockTokens = 0;
  const total = order.length > 0 ? order.length : view.items.id.length;
  for (let index = 0; index < total; index++) {
    const item = order.length > 0 ? (order[index] ?? 0) : index;
    if (item >= count) {
      if (order.length > 0) {
        continue;
      }
      break;
    }
    const oldTransition = states.transitionAt(item, from);
    const newTransition = states.transitionAt(item, to);
    const isInOlder = isIn(states, item, from, oldTransition);
    const isInNewer = isIn(states, item, to, newTransition);
    if (!isInOlder && !isInNewer) {
      continue;
    }
    const before = isInOlder ? states.tokensAt(item, from) * older.factor : 0;
    const since = isInNewer ? states.tokensAt(item, to) * newer.factor : 0;
    const changed = { item, before, since };
    const isSame =
      isInOlder &&
      isInNewer &&
      isShownAlike(states, oldTransition, newTransition);
    if (isSame) {
      unchanged += 1;
      unchangedTokens += since;
    } else if (!isInOlder) {
      came.push(changed);
    } else if (!isInNewer) {
      went.push(changed);
    } else {
      changedItems.push(changed);
    }
    const itemBlock = view.items.block[item] ?? 0;
    if (itemBlock !== block) {
      block = itemBlock;
      blockTokens = 0;
    }
    if (firstChanged === null && isSame) {
      common += since;
      blockTokens += since;
    } else {
      if (firstChanged === null && isInOlder) {
        firstChanged = item;
        // The cache holds whole messages: earlier items of this message are written anew, too.
        common -= blockTokens;
        again += blockTokens;
      }
      if (firstChanged === null || !isSame) {
        fresh += since;
      } else {
        again += since;
      }
    }
  }
  return {
    from,
    to,
    came,
    went,
    changed: changedItems,
    unchanged,
    unchangedTokens,
    // A request that only grew begins with the whole of the other one.
    common:
      firstChanged === null ? (states.track.total[from] ?? common) : common,
    again,
    fresh,
    firstChanged,
    reported: reportedOf(view, states, from, to),
    estimated: estimatedOf(states, from, to)
  };
}

/** Returns whether a request holds an item: whole, in part, or through the summary that replaces it. */
function isIn(
  states: ItemStates,
  item: number,
  request: number,
  transition: number
): boolean {
  if (!states.existsAt(item, request)) {
    return false;
  }
  if (transition < 0) {
    return true;
  }
  const { state, tokens } = states.track.transitions;
  const itemState = state[transition] ?? 'whole';
  return (
    !isGone(itemState) ||
    (itemState === 'summarised' && (tokens[transition] ?? 0) > 0)
  );
}

function isShownAlike(
  states: ItemStates,
  oldTransition: number,
  newTransition: number
): boolean {
  if (oldTransition === newTransition) {
    return true;
  }
  const { state, tokens, words } = states.track.transitions;
  return (
    oldTransition >= 0 &&
    newTransition >= 0 &&
    state[oldTransition] === state[newTransition] &&
    tokens[oldTransition] === tokens[newTransition] &&
    words[oldTransition] === words[newTransition] &&
    state[newTransition] !== 'summarised'
  );
}

function reportedOf(
  view: TimelineView,
  states: ItemStates,
  from: number,
  to: number
): IDifference['reported'] {
  const input = view.requests.reported[to];
  const read = view.requests.read[to];
  if (
    states.track !== view.recorded ||
    to !== from + 1 ||
    typeof input !== 'number' ||
    typeof read !== 'number'
  ) {
    return null;
  }
  return { input, read, written: view.requests.written[to] ?? 0 };
}

function estimatedOf(
  { track }: ItemStates,
  from: number,
  to: number
): IDifference['estimated'] {
  const read = track.read[to];
  return to !== from + 1 || read === undefined
    ? null
    : { read, isTaken: track.taken.includes(to) };
}

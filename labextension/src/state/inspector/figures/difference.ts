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
  readonly tokensBefore: number;
  readonly tokensSince: number;
}

export interface IDifference {
  readonly olderRequest: number;
  readonly newerRequest: number;
  readonly addedItems: readonly IChangedItem[];
  readonly removedItems: readonly IChangedItem[];
  readonly changedItems: readonly IChangedItem[];
  readonly unchangedCount: number;
  /** Tokens of the unchanged items, scaled. */
  readonly unchangedTokens: number;
  /** Tokens that both have in common from the beginning on, whole messages; scaled. */
  readonly commonTokens: number;
  /** Tokens of the later request after the common beginning: unchanged, and new or changed; scaled. */
  readonly repeatedTokens: number;
  readonly newTokens: number;
  /** The first place where they differ; null where the later only grew. */
  readonly firstChangedItem: number | null;
  /** The reported usage of the later request, where the two follow each other in the recording. */
  readonly reported: {
    readTokens: number;
    writtenTokens: number;
    inputTokens: number;
  } | null;
  /** The cache as the track estimates it for the later request, where the two follow each other; else null. */
  readonly estimated: {
    /** Tokens that came from it. */
    readonly readTokens: number;
    /** Whether the estimate loses the cache because the recording did. */
    readonly isBreakTaken: boolean;
  } | null;
}

/** Returns the difference of two requests of one track; `to` is the later one. */
export function requestDifference(
  states: ItemStates,
  olderRequest: number,
  newerRequest: number
): IDifference {
  const { view } = states;
  const olderScale = scaleAt(states, olderRequest);
  const newerScale = scaleAt(states, newerRequest);
  const addedItems: IChangedItem[] = [];
  const removedItems: IChangedItem[] = [];
  const changedItems: IChangedItem[] = [];
  const order = view.items.order;
  const itemCount = Math.max(
    view.requests.items[olderRequest] ?? 0,
    view.requests.items[newerRequest] ?? 0
  );
  let unchangedCount = 0;
  let unchangedTokens = 0;
  let commonTokens = newerScale.unseenTokens;
  let repeatedTokens = 0;
  let newTokens = 0;
  let firstChangedItem: number | null = null;
  let block = -1;
  let blockTokens = 0;
  const indexCount = order.length > 0 ? order.length : view.items.id.length;
  for (let index = 0; index < indexCount; index++) {
    const item = order.length > 0 ? (order[index] ?? 0) : index;
    if (item >= itemCount) {
      if (order.length > 0) {
        continue;
      }
      break;
    }
    const oldTransition = states.transitionAt(item, olderRequest);
    const newTransition = states.transitionAt(item, newerRequest);
    const isInOlder = isIn(states, item, olderRequest, oldTransition);
    const isInNewer = isIn(states, item, newerRequest, newTransition);
    if (!isInOlder && !isInNewer) {
      continue;
    }
    const tokensBefore = isInOlder
      ? states.tokensAt(item, olderRequest) * olderScale.factor
      : 0;
    const tokensSince = isInNewer
      ? states.tokensAt(item, newerRequest) * newerScale.factor
      : 0;
    const itemChange = { item, tokensBefore, tokensSince };
    const isSame =
      isInOlder &&
      isInNewer &&
      isShownAlike(states, oldTransition, newTransition);
    if (isSame) {
      unchangedCount += 1;
      unchangedTokens += tokensSince;
    } else if (!isInOlder) {
      addedItems.push(itemChange);
    } else if (!isInNewer) {
      removedItems.push(itemChange);
    } else {
      changedItems.push(itemChange);
    }
    const itemBlock = view.items.block[item] ?? 0;
    if (itemBlock !== block) {
      block = itemBlock;
      blockTokens = 0;
    }
    if (firstChangedItem === null && isSame) {
      commonTokens += tokensSince;
      blockTokens += tokensSince;
    } else {
      if (firstChangedItem === null && isInOlder) {
        firstChangedItem = item;
        // The cache holds whole messages: earlier items of this message are written anew, too.
        commonTokens -= blockTokens;
        repeatedTokens += blockTokens;
      }
      if (firstChangedItem === null || !isSame) {
        newTokens += tokensSince;
      } else {
        repeatedTokens += tokensSince;
      }
    }
  }
  return {
    olderRequest,
    newerRequest,
    addedItems,
    removedItems,
    changedItems,
    unchangedCount,
    unchangedTokens,
    // A request that only grew begins with the whole of the other one.
    commonTokens:
      firstChangedItem === null
        ? (states.track.total[olderRequest] ?? commonTokens)
        : commonTokens,
    repeatedTokens,
    newTokens,
    firstChangedItem,
    reported: reportedUsageOf(view, states, olderRequest, newerRequest),
    estimated: estimatedCacheOf(states, olderRequest, newerRequest)
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

function reportedUsageOf(
  view: TimelineView,
  states: ItemStates,
  from: number,
  to: number
): IDifference['reported'] {
  const inputTokens = view.requests.reported[to];
  const readTokens = view.requests.read[to];
  if (
    states.track !== view.recorded ||
    to !== from + 1 ||
    typeof inputTokens !== 'number' ||
    typeof readTokens !== 'number'
  ) {
    return null;
  }
  return {
    inputTokens,
    readTokens,
    writtenTokens: view.requests.written[to] ?? 0
  };
}

function estimatedCacheOf(
  { track }: ItemStates,
  from: number,
  to: number
): IDifference['estimated'] {
  const readTokens = track.read[to];
  return to !== from + 1 || readTokens === undefined
    ? null
    : { readTokens, isBreakTaken: track.taken.includes(to) };
}

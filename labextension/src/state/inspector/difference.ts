/**
 * The difference of two requests: what came, went and was rewritten, and what they have in common from the
 * beginning on, which is what a provider's cache can read.
 */
import type { TimelineView } from '../../protocol/generated';
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
  readonly rewritten: readonly IChangedItem[];
  readonly unchanged: number;
  /** Tokens of the unchanged items, scaled. */
  readonly unchangedTokens: number;
  /** Tokens that both have in common from the beginning on, whole messages; scaled. */
  readonly common: number;
  /** Tokens of the later request after that: the same words, and new or rewritten ones; scaled. */
  readonly again: number;
  readonly fresh: number;
  /** The first place where they differ; null where the later only grew. */
  readonly firstChanged: number | null;
  /** What the provider reported of it, where the two follow each other in the recording. */
  readonly reported: { read: number; written: number; input: number } | null;
}

/** Returns the difference of two requests of one track; the later one is the second. */
export function difference(
  states: ItemStates,
  from: number,
  to: number
): IDifference {
  const { view } = states;
  const older = scaleAt(states, from);
  const newer = scaleAt(states, to);
  const came: IChangedItem[] = [];
  const went: IChangedItem[] = [];
  const rewritten: IChangedItem[] = [];
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
  for (let place = 0; place < total; place++) {
    const item = order.length > 0 ? (order[place] ?? 0) : place;
    if (item >= count) {
      if (order.length > 0) {
        continue;
      }
      break;
    }
    const was = states.transition(item, from);
    const now = states.transition(item, to);
    const wasIn = isIn(states, item, from, was);
    const isNow = isIn(states, item, to, now);
    if (!wasIn && !isNow) {
      continue;
    }
    const before = wasIn ? states.tokens(item, from) * older.factor : 0;
    const since = isNow ? states.tokens(item, to) * newer.factor : 0;
    const changed = { item, before, since };
    const same = wasIn && isNow && sameShown(states, was, now);
    if (same) {
      unchanged += 1;
      unchangedTokens += since;
    } else if (!wasIn) {
      came.push(changed);
    } else if (!isNow) {
      went.push(changed);
    } else {
      rewritten.push(changed);
    }
    const ofBlock = view.items.block[item] ?? 0;
    if (ofBlock !== block) {
      block = ofBlock;
      blockTokens = 0;
    }
    if (firstChanged === null && same) {
      common += since;
      blockTokens += since;
    } else {
      if (firstChanged === null && wasIn) {
        firstChanged = item;
        // The cache is kept by whole messages: what stands before in this one is read anew, too.
        common -= blockTokens;
        again += blockTokens;
      }
      if (firstChanged === null || !same) {
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
    rewritten,
    unchanged,
    unchangedTokens,
    // A request that only grew begins with the whole of the other one.
    common:
      firstChanged === null ? (states.track.total[from] ?? common) : common,
    again,
    fresh,
    firstChanged,
    reported: reportedOf(view, states, from, to)
  };
}

/** Whether a request holds an item: whole, in part, or by the summary that stands in its place. */
function isIn(
  states: ItemStates,
  item: number,
  request: number,
  transition: number
): boolean {
  if (!states.exists(item, request)) {
    return false;
  }
  if (transition < 0) {
    return true;
  }
  const { state, tokens } = states.track.transitions;
  const found = state[transition] ?? 'whole';
  return (
    !isGone(found) || (found === 'summarised' && (tokens[transition] ?? 0) > 0)
  );
}

function sameShown(states: ItemStates, was: number, now: number): boolean {
  if (was === now) {
    return true;
  }
  const { state, tokens, words } = states.track.transitions;
  return (
    was >= 0 &&
    now >= 0 &&
    state[was] === state[now] &&
    tokens[was] === tokens[now] &&
    words[was] === words[now] &&
    state[now] !== 'summarised'
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

/**
 * Why a request shows an item as it does, in a sentence or two: the same words as the kernel's `session.why`
 * (`review/tables/explanation.py`), which the tests hold this to.
 */
import { STATE_WORDS, type TimelineView } from '../../protocol/generated';
import { count } from '../text/numberFormat';
import type { ItemStates } from './figures/itemStates';

/** Returns the name of a state. */
export function stateWords(state: string): string {
  return (STATE_WORDS as Readonly<Record<string, string>>)[state] ?? state;
}

/** Returns the sentences about an item at a request, both counted from 0. */
export function whyText(
  states: ItemStates,
  item: number,
  request: number
): string {
  const { view, track } = states;
  const name = itemName(view, item);
  const where = `request ${request + 1}`;
  const entered = view.items.entered[item] ?? 0;
  if (!states.existsAt(item, request)) {
    return entered >= view.requests.id.length
      ? `${name} is not in ${where}: it came after the last request.`
      : `${name} is not in ${where}: it came later, before request ${entered + 1}${sentAt(view, entered)}.`;
  }
  const transition = states.transitionAt(item, request);
  if (transition < 0) {
    const used = usedLater(view, item, request);
    const tokens = (view.items.tokens[item] ?? 0) * view.ruler.factor;
    const since = wholeSince(states, item, request);
    const pinned = `${since.includes(';') ? ',' : ''} and the user keeps it (pinned)`;
    const pinnedText = view.items.pinned.includes(item) ? pinned : '';
    return (
      `${name} is in ${where} whole, ~${count(tokens)} tokens, ` +
      `${since}${pinnedText}${lostLater(states, item, request)}.${used}`
    );
  }
  const { state, request: at, words } = track.transitions;
  const since = at[transition] ?? 0;
  const stateNow = stateWords(state[transition] ?? 'whole');
  const used = usedLater(view, item, request, ` after it was ${stateNow}`);
  return (
    `${name} is ${stateNow} in ${where}, since request ${since + 1}` +
    `${sentAt(view, since)}, ${track.words[words[transition] ?? 0] ?? ''}.${used}`
  );
}

/** Returns an item's name at the beginning of a sentence. */
export function itemName(view: TimelineView, item: number): string {
  const kind = view.kinds[view.items.kind[item] ?? 0] ?? '';
  const tool = view.items.tool[item] ?? '';
  const label = view.items.label[item] ?? '';
  if (kind === 'output' || kind === 'call') {
    const toolName = tool === '' ? 'a tool without a name' : tool;
    const about = label !== '' && label !== tool ? ` (${label})` : '';
    return `${kind === 'output' ? 'The result of' : 'The call of'} ${toolName}${about}`;
  }
  if (kind === 'summary') {
    return 'The summary';
  }
  return label !== '' ? `“${label}” (${kind})` : `Item ${item + 1} (${kind})`;
}

/** Returns the requests whose answers used a name that the item holds, in order. */
export function usesOf(view: TimelineView, item: number): number[] {
  return view.used.flatMap((items, request) =>
    isInAscending(items, item) ? [request] : []
  );
}

/** Returns whether an ascending list holds a number. */
function isInAscending(items: readonly number[], item: number): boolean {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((items[middle] ?? 0) < item) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return items[low] === item;
}

/** Returns since when a request shows an item whole: since it came, or since it was shown whole again. */
function wholeSince(states: ItemStates, item: number, request: number): string {
  const { view, track } = states;
  const { request: at, state, words } = track.transitions;
  const transitions = [...states.transitionsOf(item)].filter(
    transition => (at[transition] ?? 0) <= request
  );
  const last = transitions.findLastIndex(
    transition => state[transition] !== 'whole'
  );
  const before = transitions[last];
  const again = transitions[last + 1];
  if (before === undefined || again === undefined) {
    const entered = view.items.entered[item] ?? 0;
    return `since request ${entered + 1}${sentAt(view, entered)}`;
  }
  const since = at[again] ?? 0;
  return (
    `again since request ${since + 1}${sentAt(view, since)}, ${track.words[words[again] ?? 0] ?? ''}; ` +
    `from request ${(at[before] ?? 0) + 1} on it had been ${stateWords(state[before] ?? 'whole')}`
  );
}

function usedLater(
  view: TimelineView,
  item: number,
  request: number,
  after = ''
): string {
  const [first, ...others] = usesOf(view, item).filter(use => use >= request);
  if (first === undefined) {
    return '';
  }
  const more = others.length > 0 ? `, and ${others.length} more did` : '';
  return ` The answer to request ${first + 1} used a name in it${after}${more}.`;
}

function lostLater(states: ItemStates, item: number, request: number): string {
  const { request: at, state } = states.track.transitions;
  for (const transition of states.transitionsOf(item)) {
    const itemState = state[transition] ?? 'whole';
    if ((at[transition] ?? 0) > request && itemState !== 'whole') {
      return `; from request ${(at[transition] ?? 0) + 1} on it is ${stateWords(itemState)}`;
    }
  }
  return '';
}

/** Returns when a request was sent, in parentheses; empty where that is not known. */
export function sentAt(view: TimelineView, request: number): string {
  const started = view.requests.started[request];
  return typeof started === 'number'
    ? ` (${new Date(started).toISOString().slice(0, 16).replace('T', ' ')} UTC)`
    : '';
}

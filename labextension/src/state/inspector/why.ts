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
  const name = sentenceName(view, item);
  const requestName = `request ${request + 1}`;
  const firstRequest = view.items.entered[item] ?? 0;
  if (!states.existsAt(item, request)) {
    return firstRequest >= view.requests.id.length
      ? `${name} is not in ${requestName}: it came after the last request.`
      : `${name} is not in ${requestName}: it came later, before request ${firstRequest + 1}${sentTimeText(view, firstRequest)}.`;
  }
  const transition = states.transitionAt(item, request);
  if (transition < 0) {
    const useSentence = laterUseSentence(view, item, request);
    const tokens = (view.items.tokens[item] ?? 0) * view.ruler.factor;
    const sinceText = wholeSinceText(states, item, request);
    const pinnedWords = `${sinceText.includes(';') ? ',' : ''} and the user keeps it (pinned)`;
    const pinnedText = view.items.pinned.includes(item) ? pinnedWords : '';
    return (
      `${name} is in ${requestName} whole, ~${count(tokens)} tokens, ` +
      `${sinceText}${pinnedText}${laterLossText(states, item, request)}.${useSentence}`
    );
  }
  const { state, request: at, words } = track.transitions;
  const firstStateRequest = at[transition] ?? 0;
  const stateNow = stateWords(state[transition] ?? 'whole');
  const useSentence = laterUseSentence(
    view,
    item,
    request,
    ` after it was ${stateNow}`
  );
  return (
    `${name} is ${stateNow} in ${requestName}, since request ${firstStateRequest + 1}` +
    `${sentTimeText(view, firstStateRequest)}, ${track.words[words[transition] ?? 0] ?? ''}.${useSentence}`
  );
}

/** Returns an item's name at the beginning of a sentence. */
export function sentenceName(view: TimelineView, item: number): string {
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
export function requestsUsing(view: TimelineView, item: number): number[] {
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
function wholeSinceText(
  states: ItemStates,
  item: number,
  request: number
): string {
  const { view, track } = states;
  const { request: at, state, words } = track.transitions;
  const transitions = [...states.transitionsOf(item)].filter(
    transition => (at[transition] ?? 0) <= request
  );
  const lastIndex = transitions.findLastIndex(
    transition => state[transition] !== 'whole'
  );
  const reducingTransition = transitions[lastIndex];
  const restoringTransition = transitions[lastIndex + 1];
  if (reducingTransition === undefined || restoringTransition === undefined) {
    const entered = view.items.entered[item] ?? 0;
    return `since request ${entered + 1}${sentTimeText(view, entered)}`;
  }
  const restoreRequest = at[restoringTransition] ?? 0;
  return (
    `again since request ${restoreRequest + 1}${sentTimeText(view, restoreRequest)}, ${track.words[words[restoringTransition] ?? 0] ?? ''}; ` +
    `from request ${(at[reducingTransition] ?? 0) + 1} on it had been ${stateWords(state[reducingTransition] ?? 'whole')}`
  );
}

function laterUseSentence(
  view: TimelineView,
  item: number,
  request: number,
  addedWords = ''
): string {
  const [first, ...others] = requestsUsing(view, item).filter(
    use => use >= request
  );
  if (first === undefined) {
    return '';
  }
  const more = others.length > 0 ? `, and ${others.length} more did` : '';
  return ` The answer to request ${first + 1} used a name in it${addedWords}${more}.`;
}

function laterLossText(
  states: ItemStates,
  item: number,
  request: number
): string {
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
export function sentTimeText(view: TimelineView, request: number): string {
  const started = view.requests.started[request];
  return typeof started === 'number'
    ? ` (${new Date(started).toISOString().slice(0, 16).replace('T', ' ')} UTC)`
    : '';
}

/** The items that the grid shows as rows, filtered and sorted. */
import type { ItemFilter } from '../../protocol/generated';
import {
  definitionRows,
  definitionsOf,
  largestDefinitions,
  MAX_ITEMS
} from './definitionRows';
import { itemLabel } from './labels';
import { isGone, type ItemStates } from './figures/itemStates';
import { isInRange, type IRequestRange } from './figures/rangeFigures';

export const ALL_ITEMS: ItemFilter = {
  kind: '',
  tool: '',
  text: '',
  changed: false,
  sort: 'order'
};

/**
 * Returns the rows of items that match the filter, largest first or in the order of appearance; with a range only those that one
 * of its requests holds something of. Tool definitions are rows below their item where that is unfolded, and where
 * a tool or a text is looked for and they match.
 */
export function itemRows(
  states: ItemStates,
  filter: ItemFilter,
  range: IRequestRange | null = null,
  unfolded: ReadonlySet<string> = NO_ITEMS
): Int32Array {
  const { view } = states;
  const { items } = view;
  const kind = filter.kind === '' ? -1 : view.kinds.indexOf(filter.kind);
  const text = filter.text.trim().toLowerCase();
  const matches: number[] = [];
  const isLookedFor = filter.tool !== '' || text !== '';
  const below = new Map<number, number[]>();
  for (let item = 0; item < items.id.length; item++) {
    const matchingTools =
      isLookedFor && definitionsOf(view, item).count > 0
        ? definitionRows(view, item, { tool: filter.tool, text })
        : [];
    if (
      (filter.kind === '' || items.kind[item] === kind) &&
      (range === null || isHeld(states, item, range)) &&
      (!filter.changed || isChanged(states, item, range)) &&
      (matchingTools.length > 0 ||
        ((filter.tool === '' || items.tool[item] === filter.tool) &&
          (text === '' || itemLabel(view, item).toLowerCase().includes(text))))
    ) {
      matches.push(item);
      const rows =
        matchingTools.length === 0 && unfolded.has(items.id[item] ?? '')
          ? definitionRows(view, item, { tool: '', text: '' })
          : matchingTools;
      if (rows.length > 0) {
        below.set(item, rows);
      }
    }
  }
  const isBySize = filter.sort === 'size';
  const ordered = isBySize
    ? largestFirst(matches, items.tokens)
    : Int32Array.from(matches);
  if (below.size === 0) {
    return ordered;
  }
  return Int32Array.from(
    [...ordered].flatMap(item => [
      item,
      ...(isBySize
        ? largestDefinitions(view, below.get(item) ?? [])
        : (below.get(item) ?? []))
    ])
  );
}

const NO_ITEMS: ReadonlySet<string> = new Set();

/** Returns whether some request of a range holds an item, or what stands in its place. */
function isHeld(
  states: ItemStates,
  item: number,
  range: IRequestRange
): boolean {
  const { entered } = states.view.items;
  const first = Math.max(range.first, entered[item] ?? 0);
  const { request } = states.track.transitions;
  return [
    first,
    ...[...states.transitionsOf(item)].map(at => request[at] ?? 0)
  ].some(at => {
    const state = isInRange(range, at) ? states.stateAt(item, at) : null;
    return state !== null && (!isGone(state) || states.tokensAt(item, at) > 0);
  });
}

/** Returns whether an item's row changes, in a range where there is one. */
function isChanged(
  states: ItemStates,
  item: number,
  range: IRequestRange | null
): boolean {
  const transitions = states.transitionsOf(item);
  const { request } = states.track.transitions;
  return range === null
    ? transitions.length > 0
    : transitions.some(at => isInRange(range, request[at] ?? 0));
}

/** Returns items by their tokens, the earlier of two equal ones first. */
function largestFirst(
  matches: readonly number[],
  tokens: readonly number[]
): Int32Array {
  // Numbers are sorted much faster than by a function that compares two.
  const keys = Float64Array.from(
    matches,
    item => item - (tokens[item] ?? 0) * MAX_ITEMS
  ).sort();
  return Int32Array.from(
    keys,
    key => ((key % MAX_ITEMS) + MAX_ITEMS) % MAX_ITEMS
  );
}

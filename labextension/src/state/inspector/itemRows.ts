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
  unfoldedIds: ReadonlySet<string> = NO_ITEMS
): Int32Array {
  const { view } = states;
  const { items } = view;
  const kindIndex = filter.kind === '' ? -1 : view.kinds.indexOf(filter.kind);
  const text = filter.text.trim().toLowerCase();
  const matchingItems: number[] = [];
  const isLookedFor = filter.tool !== '' || text !== '';
  const rowsBelow = new Map<number, number[]>();
  for (let item = 0; item < items.id.length; item++) {
    const matchingDefinitions =
      isLookedFor && definitionsOf(view, item).count > 0
        ? definitionRows(view, item, { tool: filter.tool, text })
        : [];
    if (
      (filter.kind === '' || items.kind[item] === kindIndex) &&
      (range === null || isHeld(states, item, range)) &&
      (!filter.changed || isChanged(states, item, range)) &&
      (matchingDefinitions.length > 0 ||
        ((filter.tool === '' || items.tool[item] === filter.tool) &&
          (text === '' || itemLabel(view, item).toLowerCase().includes(text))))
    ) {
      matchingItems.push(item);
      const rows =
        matchingDefinitions.length === 0 &&
        unfoldedIds.has(items.id[item] ?? '')
          ? definitionRows(view, item, { tool: '', text: '' })
          : matchingDefinitions;
      if (rows.length > 0) {
        rowsBelow.set(item, rows);
      }
    }
  }
  const isBySize = filter.sort === 'size';
  const orderedItems = isBySize
    ? largestFirst(matchingItems, items.tokens)
    : Int32Array.from(matchingItems);
  if (rowsBelow.size === 0) {
    return orderedItems;
  }
  return Int32Array.from(
    [...orderedItems].flatMap(item => [
      item,
      ...(isBySize
        ? largestDefinitions(view, rowsBelow.get(item) ?? [])
        : (rowsBelow.get(item) ?? []))
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
  const firstRequest = Math.max(range.first, entered[item] ?? 0);
  const { request } = states.track.transitions;
  return [
    firstRequest,
    ...[...states.transitionsOf(item)].map(
      transition => request[transition] ?? 0
    )
  ].some(requestIndex => {
    const state = isInRange(range, requestIndex)
      ? states.stateAt(item, requestIndex)
      : null;
    return (
      state !== null &&
      (!isGone(state) || states.tokensAt(item, requestIndex) > 0)
    );
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
    : transitions.some(transition =>
        isInRange(range, request[transition] ?? 0)
      );
}

/** Returns items by their tokens, the earlier of two equal ones first. */
function largestFirst(
  items: readonly number[],
  tokens: readonly number[]
): Int32Array {
  // Numbers are sorted much faster than by a function that compares two.
  const sortKeys = Float64Array.from(
    items,
    item => item - (tokens[item] ?? 0) * MAX_ITEMS
  ).sort();
  return Int32Array.from(
    sortKeys,
    key => ((key % MAX_ITEMS) + MAX_ITEMS) % MAX_ITEMS
  );
}

/** The items that the grid shows as rows, filtered and sorted. */
import type { ItemFilter } from '../../protocol/generated';
import { itemLabel } from './labels';
import type { ItemStates } from './figures/itemStates';

export const ALL_ITEMS: ItemFilter = {
  kind: '',
  tool: '',
  text: '',
  changed: false,
  sort: 'order'
};

/** Returns the items that match, largest first or in the order of their appearance. */
export function itemRows(states: ItemStates, filter: ItemFilter): Int32Array {
  const { view } = states;
  const { items } = view;
  const kind = filter.kind === '' ? -1 : view.kinds.indexOf(filter.kind);
  const text = filter.text.trim().toLowerCase();
  const matches: number[] = [];
  for (let item = 0; item < items.id.length; item++) {
    if (
      (filter.kind === '' || items.kind[item] === kind) &&
      (filter.tool === '' || items.tool[item] === filter.tool) &&
      (!filter.changed || states.transitionsOf(item).length > 0) &&
      (text === '' || itemLabel(view, item).toLowerCase().includes(text))
    ) {
      matches.push(item);
    }
  }
  return filter.sort === 'size'
    ? largestFirst(matches, items.tokens)
    : Int32Array.from(matches);
}

/** More than the items of any session; multiplied by an item's tokens it is still an exact integer. */
const MAX_ITEMS = 2 ** 21;

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

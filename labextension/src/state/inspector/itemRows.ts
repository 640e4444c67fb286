/** Which items the grid has rows for, and in which order. */
import { itemLabel } from './labels';
import type { ItemStates } from './itemStates';

export interface IItemFilter {
  /** A kind, a tool, or '' for all. */
  readonly kind: string;
  readonly tool: string;
  /** Text that the label holds, whatever the case of its letters. */
  readonly text: string;
  /** Only items that are shown otherwise somewhere. */
  readonly changed: boolean;
  readonly sort: 'size' | 'order';
}

export const ALL_ITEMS: IItemFilter = {
  kind: '',
  tool: '',
  text: '',
  changed: false,
  sort: 'size'
};

/** Returns the items that match, largest first or in the order of their appearance. */
export function itemRows(states: ItemStates, filter: IItemFilter): Int32Array {
  const { view } = states;
  const { items } = view;
  const kind = filter.kind === '' ? -1 : view.kinds.indexOf(filter.kind);
  const text = filter.text.trim().toLowerCase();
  const found: number[] = [];
  for (let item = 0; item < items.id.length; item++) {
    if (
      (filter.kind === '' || items.kind[item] === kind) &&
      (filter.tool === '' || items.tool[item] === filter.tool) &&
      (!filter.changed || states.transitionsOf(item).length > 0) &&
      (text === '' || itemLabel(view, item).toLowerCase().includes(text))
    ) {
      found.push(item);
    }
  }
  return filter.sort === 'size'
    ? largestFirst(found, items.tokens)
    : Int32Array.from(found);
}

/** More than the items of any session; with the tokens of one it stays a whole number that is exact. */
const MOST_ITEMS = 2 ** 21;

/** Returns items by their tokens, the earlier of two equal ones first. */
function largestFirst(
  found: readonly number[],
  tokens: readonly number[]
): Int32Array {
  // Numbers are sorted much faster than by a function that compares two.
  const keys = Float64Array.from(
    found,
    item => item - (tokens[item] ?? 0) * MOST_ITEMS
  ).sort();
  return Int32Array.from(
    keys,
    key => ((key % MOST_ITEMS) + MOST_ITEMS) % MOST_ITEMS
  );
}

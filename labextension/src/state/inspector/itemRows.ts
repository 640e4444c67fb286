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
  if (filter.sort === 'size') {
    found.sort(
      (one, other) => (items.tokens[other] ?? 0) - (items.tokens[one] ?? 0)
    );
  }
  return Int32Array.from(found);
}

/** The tool definitions as rows of the grid: below the item that holds them, when that is unfolded. */
import type { TimelineView } from '../../protocol/generated';
import { oncePerObject } from '../../protocol/oncePerObject';
import { oneLine } from '../text/oneLine';

/** Rows below this number are items; from it on, tool definitions. No session has so many items. */
export const MAX_ITEMS = 2 ** 21;

/** The definitions of an item: their places in the view, one behind the other. */
interface IHeldDefinitions {
  readonly firstIndex: number;
  readonly count: number;
}

const NO_DEFINITIONS: IHeldDefinitions = { firstIndex: 0, count: 0 };

const definitionsByItem = oncePerObject((view: TimelineView) => {
  const heldByItem = new Map<number, IHeldDefinitions>();
  for (const [index, item] of view.definitions.item.entries()) {
    const { firstIndex, count } = heldByItem.get(item) ?? {
      firstIndex: index,
      count: 0
    };
    heldByItem.set(item, { firstIndex, count: count + 1 });
  }
  return heldByItem;
});

/** Returns the definitions that an item holds; none for an item that is not of tools, or whose text is no list. */
export function definitionsOf(
  view: TimelineView,
  item: number
): IHeldDefinitions {
  return definitionsByItem(view).get(item) ?? NO_DEFINITIONS;
}

/** Returns the row of an item, or of one of its definitions, counted from 0. */
export function rowOf(
  view: TimelineView,
  item: number,
  definition: number | null
): number {
  const { firstIndex, count } = definitionsOf(view, item);
  return definition === null || definition >= count
    ? item
    : MAX_ITEMS + firstIndex + definition;
}

/** Returns the item that a row stands for, or that holds its definition. */
export function itemOfRow(view: TimelineView, row: number): number {
  return row < MAX_ITEMS ? row : (view.definitions.item[row - MAX_ITEMS] ?? 0);
}

/** Returns the place to which a click on a row leads: its item, or its tool definition. */
export function placeOfRow(
  view: TimelineView,
  row: number
): { item: number; definition: number | null } {
  const item = itemOfRow(view, row);
  return {
    item,
    definition:
      row < MAX_ITEMS
        ? null
        : row - MAX_ITEMS - definitionsOf(view, item).firstIndex
  };
}

/** Returns the rows of an item's definitions that a tool's name and a text choose; all where both are empty. */
export function definitionRows(
  view: TimelineView,
  item: number,
  { tool, text }: { tool: string; text: string }
): number[] {
  const { firstIndex, count } = definitionsOf(view, item);
  const rows: number[] = [];
  for (let index = firstIndex; index < firstIndex + count; index++) {
    const name = view.definitions.name[index] ?? '';
    if (
      (tool === '' || name === tool) &&
      (text === '' || name.toLowerCase().includes(text))
    ) {
      rows.push(MAX_ITEMS + index);
    }
  }
  return rows;
}

/** Returns the name and the tokens of a definition's row, by the ruler's estimator. */
export function definitionOfRow(
  view: TimelineView,
  row: number
): { name: string; tokens: number } {
  const index = row - MAX_ITEMS;
  return {
    name: oneLine(view.definitions.name[index] ?? '') || '(no name)',
    tokens: view.definitions.tokens[index] ?? 0
  };
}

/** Returns rows of definitions, the largest first. */
export function largestDefinitions(
  view: TimelineView,
  rows: readonly number[]
): number[] {
  const tokensOf = (row: number) => definitionOfRow(view, row).tokens;
  return [...rows].sort((left, right) => tokensOf(right) - tokensOf(left));
}

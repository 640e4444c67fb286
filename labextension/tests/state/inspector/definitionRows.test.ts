/** Tool definitions are rows below the item that holds them. */
import { describe, expect, it } from 'vitest';
import type { TimelineView } from '../../../src/protocol/generated';
import {
  definitionOfRow,
  definitionsOf,
  itemOfRow,
  MAX_ITEMS,
  placeOfRow,
  rowOf
} from '../../../src/state/inspector/definitionRows';
import {
  callCount,
  removedToolNames
} from '../../../src/state/inspector/definitionUse';
import { ItemStates } from '../../../src/state/inspector/figures/itemStates';
import { ALL_ITEMS, itemRows } from '../../../src/state/inspector/itemRows';
import { rowName } from '../../../src/state/inspector/rowNames';
import { withDefinitions } from '../../inspector/definedTools';
import { sample } from '../../inspector/samples';

const VIEW = withDefinitions(sample('pi').view, [
  ['read', 'edit', 'browser_open'],
  ['read', 'browser_open', 'browser_close']
]);
const STATES = new ItemStates(VIEW, VIEW.recorded);
const [FIRST, SECOND] = [0, 1];
const read = MAX_ITEMS;

function rows(
  filter: Partial<typeof ALL_ITEMS>,
  unfolded: readonly number[] = []
): number[] {
  const ids = new Set(unfolded.map(item => VIEW.items.id[item] ?? ''));
  return [...itemRows(STATES, { ...ALL_ITEMS, ...filter }, null, ids)];
}

describe('the definitions of an item', () => {
  it('are folded, and their item says how many there are', () => {
    expect(rows({}).every(row => row < MAX_ITEMS)).toBe(true);
    expect(rowName(VIEW, FIRST, 60)).toMatch(/\(3\)$/);
  });

  it('follow their item when it is unfolded', () => {
    expect(rows({}, [FIRST]).slice(0, 5)).toEqual([
      FIRST,
      read,
      read + 1,
      read + 2,
      SECOND
    ]);
  });

  it('are found by a text, folded or not', () => {
    const found = rows({ text: 'BROWSER_' });

    expect(found).toEqual([FIRST, read + 2, SECOND, read + 4, read + 5]);
  });

  it('are found by the name of a tool', () => {
    expect(rows({ tool: 'edit' }).slice(0, 2)).toEqual([FIRST, read + 1]);
  });

  it('are sorted by size below their item', () => {
    const below = rows({ sort: 'size' }, [FIRST]);
    const at = below.indexOf(FIRST);
    const tokens = below
      .slice(at + 1, at + 4)
      .map(row => definitionOfRow(VIEW, row).tokens);

    expect(tokens).toEqual([...tokens].sort((one, other) => other - one));
    expect(new Set(tokens).size).toBeGreaterThan(1);
  });

  it('are numbered in their item, and back', () => {
    const row = rowOf(VIEW, SECOND, 2);

    expect(definitionOfRow(VIEW, row).name).toBe('browser_close');
    expect(itemOfRow(VIEW, row)).toBe(SECOND);
    expect(placeOfRow(VIEW, row)).toEqual({ item: SECOND, definition: 2 });
    expect(rowOf(VIEW, SECOND, 3)).toBe(SECOND);
  });

  it('share the tokens of their item', () => {
    const { firstIndex, count } = definitionsOf(VIEW, SECOND);
    const sum = VIEW.definitions.tokens
      .slice(firstIndex, firstIndex + count)
      .reduce((all, tokens) => all + tokens, 0);

    expect(sum).toBe(VIEW.items.tokens[SECOND]);
  });

  it('tell how often they were called, and which are no longer offered', () => {
    const { kinds, items } = VIEW;
    const calls = items.tool.filter(
      (tool, item) => tool === 'read' && kinds[items.kind[item] ?? 0] === 'call'
    ).length;

    expect(calls).toBeGreaterThan(0);
    expect(callCount(VIEW, 'read')).toBe(calls);
    expect(callCount(VIEW, 'browser_open')).toBe(0);
    expect(removedToolNames(VIEW, FIRST)).toEqual([]);
    expect(removedToolNames(VIEW, SECOND)).toEqual(['edit']);
  });
});

it('an item without definitions is as it was', () => {
  const plain: TimelineView = sample('pi').view;

  expect(plain.definitions.item).toEqual([]);
  expect(rowOf(plain, 4, 0)).toBe(4);
});

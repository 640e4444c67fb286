/** What becomes of cells when changes are made to them. */
import { describe, expect, it } from 'vitest';
import {
  planChanges,
  shortestReplacement,
  stayingCells,
  type IKnownCell
} from '../../../src/notebook/cells/plannedChanges';
import type { CellChange } from '../../../src/protocol/generated';

/** Cells `a`, `b`, … with these sources. */
function cells(...sources: string[]): IKnownCell[] {
  return sources.map((source, index) => ({
    id: 'abcdefgh'.charAt(index),
    source,
    isHidden: source.includes('hidden'),
    isEditable: !source.includes('locked'),
    isDeletable: !source.includes('locked')
  }));
}

function change(
  action: CellChange['action'],
  cell: string,
  fields: Partial<CellChange> = {}
): CellChange {
  return { action, cell, kind: 'code', ...fields };
}

/** The ids and sources after changes, or the problems. */
function outcome(before: IKnownCell[], ...changes: CellChange[]) {
  const { results, cells: after } = planChanges(before, changes);
  const problems = results.flatMap(({ problem }) => problem ?? []);
  return problems.length > 0
    ? problems
    : after.map(({ id, source }) => `${id}=${source}`);
}

describe('changes of cells', () => {
  it('are planned one after another', () => {
    expect(
      outcome(
        cells('1', '2', '3'),
        change('insert', 'x', { after: 'a', new: 'new' }),
        change('insert', 'y', { after: 'x', new: 'newer' }),
        change('edit', 'x', { old: 'new', new: 'newest' }),
        change('move', 'c', { old: '3' }),
        change('delete', 'b', { old: '2' })
      )
    ).toEqual(['c=3', 'a=1', 'x=newest', 'y=newer']);
  });

  it.each([
    ['changed', change('edit', 'a', { old: 'was', new: 'x' })],
    ['changed', change('edit', 'a', { new: 'x' })],
    ['changed', change('delete', 'a', { old: '' })],
    ['changed', change('insert', 'a', { new: 'taken' })],
    ['missing', change('edit', 'z', { old: '', new: 'x' })],
    ['missing', change('insert', 'x', { after: 'z', new: 'x' })],
    ['missing', change('move', 'a', { after: 'z', old: '1' })],
    ['hidden', change('edit', 'b', { old: 'hidden', new: 'x' })],
    ['hidden', change('move', 'b', { old: 'hidden' })],
    ['hidden', change('delete', 'b', { old: 'hidden' })],
    ['locked', change('edit', 'c', { old: 'locked', new: 'x' })],
    ['locked', change('delete', 'c', { old: 'locked' })]
  ])('are %s', (problem, wrong) => {
    expect(outcome(cells('1', 'hidden', 'locked'), wrong)).toEqual([problem]);
  });

  it('say what a changed cell has now, and nothing of a hidden one', () => {
    const { results } = planChanges(cells('1', 'hidden'), [
      change('edit', 'a', { old: 'was', new: 'x' }),
      change('edit', 'b', { old: 'was', new: 'x' })
    ]);

    expect(results).toEqual([
      { cell: 'a', problem: 'changed', source: '1' },
      { cell: 'b', problem: 'hidden' }
    ]);
  });

  it('are taken back by their inverse in the opposite order', () => {
    const before = cells('1', '2', '3', '4');
    const made = [
      change('move', 'a', { after: 'c', old: '1' }),
      change('delete', 'b', { old: '2' }),
      change('move', 'd', { old: '4' })
    ];
    const { results, cells: after } = planChanges(before, made);
    const again = planChanges(
      after.map(({ id, source }) => ({
        id,
        source,
        isHidden: false,
        isEditable: true,
        isDeletable: true
      })),
      [
        change('move', 'd', { after: results[2]?.was_after, old: '4' }),
        change('insert', 'b', { after: results[1]?.was_after, new: '2' }),
        change('move', 'a', { after: results[0]?.was_after, old: '1' })
      ]
    );

    expect(after.map(({ id }) => id)).toEqual(['d', 'c', 'a']);
    expect(again.cells.map(({ id }) => id)).toEqual(['a', 'b', 'c', 'd']);
  });

  it('make as few cells again as they can, and not the one that a person is in', () => {
    const { cells: after } = planChanges(cells('1', '2', '3', '4'), [
      change('move', 'a', { after: 'b', old: '1' })
    ]);
    const staying = (heavy: number) =>
      [...stayingCells(after, index => (index === heavy ? 10 : 1))].sort();

    expect(staying(0)).toEqual([0, 2, 3]);
    expect(staying(1)).toEqual([1, 2, 3]);
  });
});

describe('the shortest replacement', () => {
  const replaced = (was: string, now: string) => {
    const { start, end, text } = shortestReplacement(was, now);
    expect(was.slice(0, start) + text + was.slice(end)).toBe(now);
    return [was.slice(start, end), text];
  };

  it.each([
    ['x = 1\ny = 2', 'x = 1\ny = 3', ['2', '3']],
    ['aa', 'aaa', ['', 'a']],
    ['abc', '', ['abc', '']],
    ['same', 'same', ['', '']],
    ['a😀b', 'a😁b', ['😀', '😁']],
    ['a😀', 'a🐀', ['😀', '🐀']],
    ['\uD83D\uDE00', '\uD83E\uDE00', ['\uD83D\uDE00', '\uD83E\uDE00']]
  ])('of %j by %j divides no character', (was, now, expected) => {
    expect(replaced(was, now)).toEqual(expected);
  });
});

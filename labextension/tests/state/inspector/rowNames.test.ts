/** The names of the grid's rows leave out what all share. */
import { describe, expect, it } from 'vitest';
import { rowName } from '../../../src/state/inspector/rowNames';
import { sample } from '../../inspector/samples';

/** Returns a session's view whose items are results of a tool with these labels. */
function labelled(...label: string[]) {
  const { view } = sample('pi');
  const kind = label.map(() => view.kinds.indexOf('output'));
  const tool = label.map(() => 'read');
  return { ...view, items: { ...view.items, label, kind, tool } };
}

const names = (letters: number, ...labels: string[]) =>
  labels.map((_, item) => rowName(labelled(...labels), item, letters));

describe('the name of a row', () => {
  it('has a number, and of a path its last two parts', () => {
    expect(
      names(40, '/home/me/work/app/src/ui/tree.ts', '/home/me/work/app/a.md')
    ).toEqual(['1 read → …/ui/tree.ts', '2 read → a.md']);
  });

  it('keeps a path outside the common folder', () => {
    const inside = Array.from({ length: 9 }, (_, at) => `/w/app/f${at}.ts`);
    expect(names(40, ...inside, '/etc/hosts').slice(-2)).toEqual([
      '9 read → f8.ts',
      '10 read → …/etc/hosts'
    ]);
  });

  it('leaves out the folder in which a command runs', () => {
    expect(
      names(40, 'cd /home/me/work && npm test', 'cd "a b"; ls -l', 'cd /w')
    ).toEqual(['1 read → npm test', '2 read → ls -l', '3 read → cd /w']);
  });

  it('has the file alone, or its end, where there are few letters', () => {
    const path = 'src/a-very-long-folder/and-a-long-file.ts';
    expect(names(30, path)).toEqual(['1 read → and-a-long-file.ts']);
    expect(names(18, path)[0]).toHaveLength(18);
  });
});

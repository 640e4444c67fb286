/** A diff of two short texts. */
import { describe, expect, it } from 'vitest';
import { lineDiff } from '../../../src/state/text/lineDiff';

describe('a diff of lines', () => {
  it('is empty where nothing differs', () => {
    expect(lineDiff('a\nb', 'a\nb')).toBe('');
  });

  it('shows what was changed between what stayed', () => {
    expect(lineDiff('import x\ny = x.f()\ny', 'import x\ny = x.g()\ny')).toBe(
      '@@ -1,3 +1,3 @@\n import x\n-y = x.f()\n+y = x.g()\n y'
    );
  });

  it('leaves out what is far from a change', () => {
    const lines = Array.from({ length: 30 }, (_, n) => `line ${n + 1}`);
    const now = lines.with(1, 'two').toSpliced(20, 0, 'new');

    expect(lineDiff(lines.join('\n'), now.join('\n'))).toBe(
      [
        '@@ -1,5 +1,5 @@',
        ' line 1',
        '-line 2',
        '+two',
        ' line 3',
        ' line 4',
        ' line 5',
        '@@ -18,6 +18,7 @@',
        ' line 18',
        ' line 19',
        ' line 20',
        '+new',
        ' line 21',
        ' line 22',
        ' line 23'
      ].join('\n')
    );
  });

  it('replaces the whole of texts that are too long to compare', () => {
    const many = (word: string) =>
      Array.from({ length: 1_100 }, (_, n) => `${word} ${n}`).join('\n');
    const diff = lineDiff(many('a'), many('b')).split('\n');

    expect(diff).toHaveLength(1 + 2 * 1_100);
    expect([diff[1], diff[1_101]]).toEqual(['-a 0', '+b 0']);
  });
});

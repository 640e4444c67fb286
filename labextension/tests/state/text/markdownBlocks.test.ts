/** Splitting of streaming Markdown into blocks. */
import { describe, expect, it } from 'vitest';
import {
  markdownBlocks,
  NO_BLOCKS
} from '../../../src/state/text/markdownBlocks';

const WHOLE = [
  ['a code fence', '```python\na\n\nb\n```\n\nxxxx'],
  ['a fence in a fence', '````md\n```\n\n```\n\n````\n\nxxxx'],
  ['displayed maths', '$$\na\n\nb\n$$\n\nxxxx'],
  ['a list with loose items', '- a\n\n- b\n\n  still b\n\nxxxx\n'],
  ['numbered items', '1. a\n\n2. b\n\nxxxx\n'],
  ['HTML', '<details>\n\nwords\n\n</details>\n'],
  ['a table', '| a |\n|---|\n| 1 |\n\nxxxx']
] as const;

describe('growing Markdown', () => {
  it('is closed block by block at blank lines', () => {
    const { closedBlocks, openBlock } = markdownBlocks(
      'One.\n\nTwo\nlines.\n\nThree'
    );

    expect(closedBlocks).toEqual(['One.\n\n', 'Two\nlines.\n\n']);
    expect(openBlock).toBe('Three');
  });

  it.each(WHOLE)('keeps %s whole', (_what, text) => {
    const { closedBlocks } = markdownBlocks(text);
    const whole = text.replace(/x+\n?$/, '');

    expect(closedBlocks).toEqual(whole === text ? [] : [whole]);
  });

  it('keeps what it cut, and loses nothing, wherever the words break off', () => {
    const text = `${WHOLE.map(([, words]) => words).join('\n\n')}\n\nEnd.`;
    let now = NO_BLOCKS;
    for (let length = 1; length <= text.length; length += 1) {
      const before = now;
      now = markdownBlocks(text.slice(0, length), before);

      expect(now.closedBlocks.slice(0, before.closedBlocks.length)).toEqual(
        before.closedBlocks
      );
      expect(now.closedBlocks.join('') + now.openBlock).toBe(
        text.slice(0, length)
      );
    }
    expect(now.closedBlocks).toEqual(markdownBlocks(text).closedBlocks);
  });

  it('closes a long paragraph piece by piece, between words', () => {
    const text = 'The **mean of** $x^2$ over `all rows` is taken. '.repeat(100);
    const { closedBlocks, openBlock } = markdownBlocks(text);

    expect(closedBlocks.length).toBeGreaterThan(3);
    expect(closedBlocks.join('') + openBlock).toBe(text);
    for (const piece of closedBlocks) {
      expect(piece.split('$').length % 2).toBe(1);
      expect(piece.split('*').length % 2).toBe(1);
      expect(piece.endsWith(' ')).toBe(true);
    }
  });

  it('begins anew when the words are others', () => {
    const before = markdownBlocks('One.\n\nTwo.\n\nThree');

    expect(markdownBlocks('Other.\n\nwords', before).closedBlocks).toEqual([
      'Other.\n\n'
    ]);
  });

  it('returns the same list of closed blocks while only the open one grows', () => {
    const before = markdownBlocks('One.\n\nTwo more');

    expect(markdownBlocks('One.\n\nTwo more words', before).closedBlocks).toBe(
      before.closedBlocks
    );
  });
});

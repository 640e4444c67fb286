/** The code and the tables of an answer, as they are copied. */
import { describe, expect, it } from 'vitest';
import {
  listingsInside,
  splitAtListings,
  wholeListing
} from '../../../src/state/text/codeListing';
import { tableIn } from '../../../src/state/text/markdownTable';

describe('the code of a block', () => {
  it('is a piece of its own, though a paragraph stands right before and after it', () => {
    const text = 'Run this:\n```sql\nselect 1\n```\nand look.\n';

    const pieces = splitAtListings(text);

    expect(pieces.join('')).toBe(text);
    expect(pieces.map(piece => wholeListing(piece)?.code)).toEqual([
      undefined,
      'select 1',
      undefined
    ]);
  });

  it.each([
    ['a fence that is open', 'So:\n```sql\nselect 1'],
    ['marks in a paragraph', 'So ```a``` is\n```b``` here\n'],
    ['HTML around it', '<details>\n\n```sql\nselect 1\n```\n\n</details>\n'],
    ['a shorter fence inside', '````md\n```sql\nselect 1\n```\n````\n']
  ])('is not cut out of %s', (_name, text) => {
    const pieces = splitAtListings(text);

    expect(pieces.join('')).toBe(text);
    expect(
      pieces.every(value => wholeListing(value)?.code !== 'select 1')
    ).toBe(true);
  });

  it('is found inside of a list, without the indentation of its item', () => {
    const text =
      '1. First:\n   ```sh\n   ls\n     -l\n   ```\n2. ~~~\n   pwd\n   ~~~\n- ```\n  ```\n';

    expect(listingsInside(text)).toEqual(['ls\n  -l', 'pwd', '']);
    expect(listingsInside('No code, `one word` only.')).toEqual([]);
  });
});

describe('the table of a block', () => {
  const TABLE = [
    '| island | **mass** | a\\|b |',
    '|:---|---:|---|',
    '| Biscoe | -4,716.0 | `x` |',
    '| Dream | [3,712.9](https://example.org) |'
  ].join('\n');

  it('is copied as it was written, without the text around it', () => {
    expect(tableIn(`By island:\n${TABLE}\n\nAnd more.`)?.markdown).toBe(TABLE);
  });

  it('is copied as plain values, with as many in each row', () => {
    expect(tableIn(TABLE)?.tsv).toBe(
      'island\tmass\ta|b\nBiscoe\t-4,716.0\tx\nDream\t3,712.9\t'
    );
  });

  it('needs no bars at the ends of its rows', () => {
    expect(tableIn('a | b\n--- | ---\n1 | 2\n')?.tsv).toBe('a\tb\n1\t2');
  });

  it.each([
    ['=HYPERLINK("x")', `'=HYPERLINK("x")`],
    ['@SUM(A1)', "'@SUM(A1)"],
    ['+1+cmd', "'+1+cmd"],
    ['-2+3', "'-2+3"],
    ['-5', '-5'],
    ['+5.5 %', '+5.5 %'],
    ['-1e-5', '-1e-5'],
    ['-', '-'],
    ['a=b', 'a=b']
  ])('gives a spreadsheet no formula to run: %s', (cell, copied) => {
    expect(tableIn(`| n |\n|---|\n| ${cell} |`)?.tsv).toBe(`n\n${copied}`);
  });

  it.each(['A | b', 'Title\n---\n', '---\n| a |', '| a | b |\n|---|\n| 1 |'])(
    'is none: %s',
    text => {
      expect(tableIn(text)).toBeNull();
    }
  );

  it.each([
    ['a rule of many spaces', `a | b\n-${' '.repeat(200_000)}x|`, null],
    [
      'a cell of many digits',
      `a | b\n- | -\n+${'1'.repeat(200_000)}x | 2`,
      `a\tb\n'+${'1'.repeat(200_000)}x\t2`
    ]
  ])('is read once, also %s', (_name, text, tsv) => {
    // In time that grows with the square, this would take minutes.
    expect(tableIn(text)?.tsv ?? null).toBe(tsv);
  });

  it.each([
    ['-1,234.5 %', '-1,234.5 %'],
    ['+.5e-3', '+.5e-3'],
    ['-a1', "'-a1"],
    ['+,', "'+,"]
  ])('keeps a number as it is, and quotes a formula: %s', (cell, copied) => {
    expect(tableIn(`a | b\n- | -\n${cell} | c`)?.tsv).toBe(
      `a\tb\n${copied}\tc`
    );
  });
});

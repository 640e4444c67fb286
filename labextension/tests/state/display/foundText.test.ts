/** Words are found in everything that was said and done, in order, and counted as the page shows them. */
import { describe, expect, it } from 'vitest';
import {
  hitsInTurn,
  wordPattern,
  type IHit
} from '../../../src/state/display/foundText';
import { turnsOf } from '../../../src/state/display/turns';
import * as build from '../../builders';

function found(wanted: string, ...said: Parameters<typeof build.assistant>[0]) {
  const prompt = build.user([build.text('Which penguins?')]);
  const entries = [prompt, build.assistant(said)].map(message => ({
    id: message.info.id,
    message
  }));
  const pattern = wordPattern(wanted);
  return turnsOf({ entries }).flatMap((turn): readonly IHit[] =>
    pattern === null ? [] : hitsInTurn(turn, pattern)
  );
}

describe('the words', () => {
  it('are found in prompt, text, thoughts and calls, whatever is folded', () => {
    const hits = found(
      'PENGUINS',
      build.thought('The penguins first.'),
      build.ran('python', { code: 'penguins.head()' }, 'penguins: 344'),
      build.text('The **penguins** are three.')
    );

    expect(
      hits.map(({ kind, index, isInside }) => [kind, index, isInside])
    ).toEqual([
      ['prompt', 0, false],
      ['reasoning', 0, true],
      ['tool', 0, true],
      ['tool', 1, true],
      ['text', 0, false]
    ]);
  });

  it('are those that the page shows of Markdown, with any space between them', () => {
    const text = build.text(
      '# A `mass_g`  of\n\n| a | b |\n|--|--|\n\n```py\n**a**\n```'
    );

    expect(found('mass_g of', text)).toHaveLength(1);
    expect(found('|--', text)).toEqual([]);
    expect(found('```', text)).toEqual([]);
    expect(found('**a**', text)).toHaveLength(1);
  });

  it('are no pattern', () => {
    expect(
      found('a.b', build.text('axb a.b [x](https://x.y) \\d+'))
    ).toHaveLength(1);
    expect(wordPattern('  ')).toBeNull();
    expect(found('(', build.text('f('))).toHaveLength(1);
  });

  it('of a row count only where it opens to none', () => {
    const call = build.ran('read', { path: 'data.csv' }, 'id,mass');

    expect(found('read', call).map(({ isInside }) => isInside)).toEqual([
      false
    ]);
    expect(found('data.csv', call).map(({ isInside }) => isInside)).toEqual([
      true
    ]);
  });
});

// @vitest-environment jsdom
/** The interruption mark written into a notebook whose kernel has ended. */
import { describe, expect, it } from 'vitest';
import { interruptedBundle } from '../../../src/notebook/savedOutputs/outputCompletion';
import { SEGMENT_MIME } from '../../../src/protocol/segment';

const TOLD = '*Interrupted: it ended.*';

function written(markdown: string | string[], plain: string, status: string) {
  const data = interruptedBundle(
    {
      [SEGMENT_MIME]: { status, open: true, messages: [] },
      'text/markdown': markdown,
      'text/plain': plain
    },
    ['all that the page received'],
    status,
    TOLD
  );
  return [data['text/markdown'], data['text/plain'], data[SEGMENT_MIME]];
}

describe('the end of an answer whose kernel died', () => {
  it('takes the place of the line that tells what is done', () => {
    expect(
      written(['I begin\n', '\n*works*'], 'I begin\n\nworks', '*works*')
    ).toEqual([
      `I begin\n\n${TOLD}`,
      'I begin\n\nInterrupted: it ended.',
      {
        status: TOLD,
        open: true,
        messages: ['all that the page received']
      }
    ]);
    expect(written('*works*', 'works', '*works*').slice(0, 2)).toEqual([
      TOLD,
      'Interrupted: it ended.'
    ]);
  });

  it('leaves no call that seems to run', () => {
    const markdown =
      '◐ **`python`** · `x = 1` · *running* · *allowed once*\n\n○ **`read`** · *being written*';
    const plain = '◐ python · x = 1 · running\n\n○ read · pending';

    expect(written(markdown, plain, '').slice(0, 2)).toEqual([
      `■ **\`python\`** · \`x = 1\` · *interrupted* · *allowed once*\n\n■ **\`read\`** · *interrupted*\n\n${TOLD}`,
      '■ python · x = 1 · interrupted\n\n■ read · interrupted\n\nInterrupted: it ended.'
    ]);
  });

  it('leaves words alone that only speak of running', () => {
    const words = 'It is running · running\n\n*running*';

    expect(written(words, words, '')[0]).toBe(`${words}\n\n${TOLD}`);
  });
});

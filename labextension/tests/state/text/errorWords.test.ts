/**
 * The messages are the kernel's (tests/model/errors/test_error_words.py): what it says of failed requests must be
 * known here.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { errorWords, retryReason } from '../../../src/state/text/errorWords';

interface ICase {
  name: string;
  message: string;
  page: string;
  offered: string;
  reason: string;
}

const CASES = JSON.parse(
  readFileSync('../tests/fixtures/error_words.json', 'utf8')
) as ICase[];

describe('the message of a failed request', () => {
  it.each(CASES.map(entry => [entry.name, entry] as const))(
    'names nothing that is typed in a cell: %s',
    (_name, { message, offered, page, reason }) => {
      expect(errorWords(message)).toBe(page);
      expect(errorWords(message, true)).toBe(offered);
      expect(retryReason(message)).toBe(reason);
    }
  );

  it.each([
    [
      'Begin a new session with %agent --new, or choose a model with a larger window with --model.',
      'Begin a new session, or choose a model with a larger window.'
    ],
    [
      'take the largest pin off with %agent unpin prt_1, and ask again.',
      'take the largest pin off, and ask again.'
    ],
    ['Run it with --models 3.', 'Run it with --models 3.']
  ])('of a request that is too long, too', (message, page) => {
    expect(errorWords(message)).toBe(page);
  });
});

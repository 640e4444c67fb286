/**
 * What was scraped off an output for the model: how much is left, why, and by which rule.
 *
 * The sentences are those of the kernel (render/reasons.py), made of the numbers that the decision
 * keeps; numbers of a log are data, and where one is missing the sentence says less.
 */
import type { Decision } from '../protocol/generated';
import { count } from '../state/format';
import { useHost, type IWords } from './host';

/** Draws the strip under an output. */
export function Scraped({ decision }: { decision: Decision }) {
  const { words } = useHost();
  const { tokens_after, tokens_before, rule } = decision;
  return (
    <p className="plm-Strip plm-Strip-line" title={rule}>
      {decision.action === 'clear'
        ? words.__(
            'The model no longer sees this output (%1 of %2 tokens are left).',
            count(tokens_after),
            count(tokens_before)
          )
        : words.__(
            'The model sees %1 of %2 tokens of this output.',
            count(tokens_after),
            count(tokens_before)
          )}{' '}
      {why(decision, words)} {words.__('The whole text is kept.')}
    </p>
  );
}

/** Says in the row of a call that its output is not, or not whole, in what the model sees. */
export function trimmed(decision: Decision, words: IWords): string {
  return decision.action === 'clear'
    ? words.__('cleared')
    : words.__('shortened');
}

function why({ rule, numbers }: Decision, words: IWords): string {
  const of = (name: string): string | null => {
    const value: unknown = numbers[name];
    return typeof value === 'number' && Math.abs(value) < 1e15
      ? count(Math.round(value))
      : null;
  };
  switch (rule) {
    case 'truncate': {
      const [lines, bytes] = [of('max_lines'), of('max_bytes')];
      return lines === null || bytes === null
        ? ''
        : words.__(
            'When the tool ended it was longer than %1 lines or %2 bytes.',
            lines,
            bytes
          );
    }
    case 'prune/batch':
      return batch(numbers, of('used_tokens'), words);
    case 'prune/opencode': {
      const protect = of('protect_tokens');
      return protect === null
        ? ''
        : words.__('Older than the newest %1 tokens of tool output.', protect);
    }
    case 'prune/cache-ttl':
      return words.__(
        'The provider’s cache was cold, so that a change cost nothing.'
      );
    case 'recover/oversized':
      return words.__('The request did not fit otherwise.');
    default:
      return words.__('Decided by the rule %1.', rule);
  }
}

function batch(
  numbers: Decision['numbers'],
  used: string | null,
  words: IWords
): string {
  switch (numbers.reason) {
    case 'read-again':
      return words.__('The same file was read again later.');
    case 'changed':
      return words.__('The file was changed later.');
    default:
      break;
  }
  if (numbers.cold === true) {
    return words.__(
      'The provider’s cache was cold, so that a change cost nothing.'
    );
  }
  return used === null
    ? ''
    : words.__('It was old, and the request had grown to %1 tokens.', used);
}

/** What a request cost and why, in words: for the sentence below the tracks, and for a screen reader. */
import type { PriceProfile } from '../../../protocol/generated';
import { count } from '../../../state/display/numberFormat';
import { money } from '../../../state/inspector/labels';
import type { IRequestCost } from '../../../state/inspector/requestCost';
import type { IWords } from '../../host';

export interface ICostWords {
  /** The size and the cost. */
  readonly amount: string;
  /** What was read anew; '' where nothing was. */
  readonly anew: string;
  /** Sentences: why it was read anew and what would have avoided it, or what came from the cache. */
  readonly rest: readonly string[];
}

/** Returns the words about a request. */
export function costWords(
  found: IRequestCost,
  { unit, recorded: isFact }: Pick<PriceProfile, 'unit' | 'recorded'>,
  words: IWords
): ICostWords {
  const { broken, warm } = found;
  const amount = amountOf(found, unit, words);
  if (broken === null) {
    return { amount, anew: '', rest: [fromCache(found, words)] };
  }
  const rest = [`${broken.words || broken.cause}.`];
  if (warm !== null) {
    rest.push(
      words.__(
        'With a warm cache it would have cost %1.',
        money(warm, unit, false)
      )
    );
  }
  if (broken.avoided_by !== '') {
    rest.push(words.__('Avoided by: %1.', broken.avoided_by));
  }
  return {
    amount,
    anew: words.__(
      '%1 of them were read anew for %2 more',
      count(broken.loss),
      money(broken.cost, unit, isFact)
    ),
    rest
  };
}

/** Returns the words as one text. */
export function costText({ amount, anew, rest }: ICostWords): string {
  return [amount, anew === '' ? '' : `${anew}:`, ...rest]
    .filter(one => one !== '')
    .join(' ');
}

function amountOf(
  found: IRequestCost,
  unit: PriceProfile['unit'],
  words: IWords
): string {
  const tokens = `${found.isReported ? '' : '~'}${count(found.tokens)}`;
  return found.cost === null
    ? words.__('%1 tokens, cost unknown.', tokens)
    : words.__('%1 tokens, %2.', tokens, money(found.cost, unit, found.isFact));
}

function fromCache({ read }: IRequestCost, words: IWords): string {
  if (read === null) {
    return words.__('What came from the cache was not reported.');
  }
  return read < 1
    ? words.__('Nothing came from the cache.')
    : words.__('%1 of them came from the cache.', count(read));
}

/** The cost of a request and its cause as text, for the sentence below the tracks and for a screen reader. */
import type { PriceProfile } from '../../../protocol/generated';
import { count } from '../../../state/text/numberFormat';
import {
  ESTIMATE_MARK,
  GIVEN_PRICE_SOURCE,
  money
} from '../../../state/inspector/labels';
import type { IRequestCost } from '../../../state/inspector/figures/requestCost';
import type { IWords } from '../../host';

export interface ICostWords {
  /** The size and the cost. */
  readonly amount: string;
  /** The tokens written anew; '' where there are none. */
  readonly anew: string;
  /** Sentences: why it was written anew and what would have avoided it, or what came from the cache. */
  readonly sentences: readonly string[];
}

/** Returns the size and the cost of a request in words, and why it cost so much. */
export function costWords(
  requestCost: IRequestCost,
  {
    unit,
    matches_recorded: isFact
  }: Pick<PriceProfile, 'unit' | 'matches_recorded'>,
  words: IWords
): ICostWords {
  const { cacheBreak: broken, warmCost: warm } = requestCost;
  const amount = amountOf(requestCost, unit, words);
  if (broken === null) {
    const sentences = [cacheSentence(requestCost, words)];
    if (requestCost.isBreakTaken) {
      sentences.push(words.__('The cache was lost as in the recording.'));
    }
    return { amount, anew: '', sentences };
  }
  const sentences = [`${broken.words || broken.cause}.`];
  if (warm !== null) {
    sentences.push(
      words.__(
        'With a warm cache it would have cost %1.',
        money(warm, unit, false)
      )
    );
  }
  if (broken.avoided_by !== '') {
    sentences.push(words.__('Avoided by: %1.', broken.avoided_by));
  }
  return {
    amount,
    anew: words.__(
      '%1 of them were written anew for %2 more',
      count(broken.loss),
      money(broken.cost, unit, isFact)
    ),
    sentences
  };
}

/** Returns the sentence about the prices of some models; `source` as `priceSource` returns it. */
export function priceSentence(
  names: string,
  source: string,
  words: IWords
): string {
  if (source === '') {
    return words.__('By the prices of %1.', names);
  }
  return source === GIVEN_PRICE_SOURCE
    ? words.__('By the prices of %1, as given.', names)
    : words.__('By the prices of %1, from %2.', names, source);
}

/** Returns the words as one text. */
export function costText({ amount, anew, sentences }: ICostWords): string {
  return [amount, anew === '' ? '' : `${anew}:`, ...sentences]
    .filter(sentence => sentence !== '')
    .join(' ');
}

function amountOf(
  requestCost: IRequestCost,
  unit: PriceProfile['unit'],
  words: IWords
): string {
  const tokens = tokensText(requestCost.tokens, requestCost);
  return requestCost.cost === null
    ? words.__('%1 tokens, cost unknown.', tokens)
    : words.__(
        '%1 tokens, %2.',
        tokens,
        money(requestCost.cost, unit, requestCost.isCostRecorded)
      );
}

/** Returns a number of tokens, marked where it was not reported. */
function tokensText(
  tokens: number,
  { areTokensReported }: Pick<IRequestCost, 'areTokensReported'>
): string {
  return `${areTokensReported ? '' : ESTIMATE_MARK}${count(tokens)}`;
}

function cacheSentence(requestCost: IRequestCost, words: IWords): string {
  const { cachedTokens: read } = requestCost;
  if (read === null) {
    return words.__('What came from the cache was not reported.');
  }
  return read < 1
    ? words.__('Nothing came from the cache.')
    : words.__(
        '%1 of them came from the cache.',
        tokensText(read, requestCost)
      );
}

/** A sentence about a reduced item: its savings, the cost of the change, and when that is paid back. */
import { memo, useMemo } from 'react';
import { count } from '../../../state/text/numberFormat';
import { ESTIMATE_MARK, money } from '../../../state/inspector/labels';
import {
  reductionBalance,
  type IReductionBalance
} from '../../../state/inspector/figures/reductionBalance';
import type { TimelineView } from '../../../protocol/generated';
import { useHost, type IWords } from '../../host';
import { useInspection } from '../controls/inspection';

/** Draws the sentence; nothing where the item is whole or gone. */
export const ReductionSentence = memo(function ReductionSentence({
  item
}: {
  item: number;
}) {
  const { words } = useHost();
  const { view, shownTrack, request, hiddenParts } = useInspection();
  const balance = useMemo(
    () => reductionBalance(shownTrack.states, item, request),
    [shownTrack.states, item, request]
  );
  if (
    balance === null ||
    hiddenParts.has('cost') ||
    hiddenParts.has('breaks')
  ) {
    return null;
  }
  const sentences = [
    savedWords(balance, words),
    costWords(balance, view.price, words),
    paidWords(balance, words)
  ];
  return (
    <p className="plm-ItemCard-balance">
      {sentences.filter(sentence => sentence !== '').join(' ')}
    </p>
  );
});

function savedWords(balance: IReductionBalance, words: IWords): string {
  return balance.requestCount === 1
    ? words.__(
        'It saves ~%1 tokens in this request.',
        count(balance.savedTokens)
      )
    : words.__(
        'It saves ~%1 tokens a request, ~%2 in %3 requests so far.',
        count(balance.savedTokens),
        count(balance.savedTokens * balance.requestCount),
        count(balance.requestCount)
      );
}

function costWords(
  {
    rewrittenTokens: anew,
    cost,
    isFact,
    otherItemCount: others,
    changeRequest: since
  }: IReductionBalance,
  { matches_recorded: pricesMatch, unit }: TimelineView['price'],
  words: IWords
): string {
  const what =
    others === 0
      ? words.__('The change at request %1', since + 1)
      : words.__(
          'The change at request %1, with %2,',
          since + 1,
          words._n('%1 other item', '%1 other items', others)
        );
  return anew < 1
    ? words.__('%1 has no cache break of its own.', what)
    : words.__(
        '%1 had %2 tokens written anew, for %3 more.',
        what,
        `${isFact ? '' : ESTIMATE_MARK}${count(anew)}`,
        money(cost, unit, isFact && pricesMatch)
      );
}

function paidWords(
  {
    rewrittenTokens: anew,
    requestsUntilPaidBack: paidBack,
    reducedRequestCount: following
  }: IReductionBalance,
  words: IWords
): string {
  if (anew < 1) {
    return '';
  }
  const shown = words._n(
    '%2 request',
    '%2 requests',
    following,
    count(following)
  );
  return paidBack === null
    ? words.__(
        'What it leaves out does not pay for that: it stays so in %1.',
        shown
      )
    : words.__(
        'What it leaves out pays for that after %1; it stays so in %2.',
        words._n('%2 request', '%2 requests', paidBack, count(paidBack)),
        shown
      );
}

/** The chosen range and its sums as text, for the sentence below the tracks and for a screen reader. */
import { count } from '../../../state/text/numberFormat';
import { ESTIMATE_MARK, money } from '../../../state/inspector/labels';
import {
  rangeFigures,
  type IRangeFigures,
  type IRequestRange
} from '../../../state/inspector/figures/rangeFigures';
import type { IWords } from '../../host';
import type { IInspectedSession } from '../controls/inspection';

/** Returns the name of a range: "Requests 182–227". */
export function rangeName(
  { first, last }: IRequestRange,
  words: IWords
): string {
  return first === last
    ? words.__('Request %1', count(first + 1))
    : words.__('Requests %1–%2', count(first + 1), count(last + 1));
}

/** Returns the sums of the shown track over a range: its cost, its breaks and its tokens, and of how many requests. */
function rangeSums(
  { view, shownTrack }: IInspectedSession,
  range: IRequestRange,
  words: IWords
): string {
  const figures = rangeFigures(view, shownTrack.track, range);
  const {
    requestCount: requests,
    requestsWithCost: costKnown,
    requestsWithTokens: tokensKnown
  } = figures;
  const tokens = words.__(
    '%1%2 tokens',
    figures.areTokensReported ? '' : ESTIMATE_MARK,
    count(figures.tokens)
  );
  const cost = money(figures.cost, view.price.unit, figures.isCostRecorded);
  return [
    costKnown === 0
      ? words.__('cost unknown')
      : costKnown === tokensKnown
        ? cost
        : `${cost} ${shareWords(costKnown, requests, words)}`,
    ...eventWords(figures, words),
    `${tokens} ${shareWords(tokensKnown, requests, words)}`
  ].join(', ');
}

/** Returns what follows the range's name: its sums, unless they are hidden, and a stop. */
export function rangeRest(
  session: IInspectedSession,
  range: IRequestRange,
  words: IWords
): string {
  return session.hiddenParts.has('sentence')
    ? '.'
    : `: ${rangeSums(session, range, words)}.`;
}

/** Returns over how many of the range's requests a sum goes, where not over all. */
function shareWords(known: number, requests: number, words: IWords): string {
  return known < requests
    ? words.__('in %1 of %2 requests', count(known), count(requests))
    : words._n('in %2 request', 'in %2 requests', requests, count(requests));
}

/** Returns how often the cache broke, or the rule of a policy acted. */
function eventWords(
  { cacheBreaks: breaks, policyActionRequests: acted }: IRangeFigures,
  words: IWords
): readonly string[] {
  return [
    ...(breaks === null
      ? []
      : [words._n('%2 break', '%2 breaks', breaks, count(breaks))]),
    ...(acted === null
      ? []
      : [
          words._n(
            'the rule acted at %2 request',
            'the rule acted at %2 requests',
            acted,
            count(acted)
          )
        ])
  ];
}

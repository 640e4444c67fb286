/** The difference of two requests: items added, removed and changed, and tokens written anew. */
import { memo, useMemo } from 'react';
import { count } from '../../../state/text/numberFormat';
import {
  requestDifference,
  type IDifference
} from '../../../state/inspector/figures/difference';
import {
  writtenAnew,
  type IWrittenAnew
} from '../../../state/inspector/figures/writtenAnew';
import {
  ESTIMATE_MARK,
  foreignPriceModel,
  money
} from '../../../state/inspector/labels';
import { sentTimeText } from '../../../state/inspector/why';
import { useHost, type IWords } from '../../host';
import { useInspection } from '../controls/inspection';
import { ItemLink } from '../controls/placeLinks';
import { RequestField } from '../controls/requestField';
import { ChangedItems } from './changedItems';
import { TermButton } from '../glossary/term';

/** Draws the shown request beside the one before it, or beside another that is chosen. */
export const DifferenceView = memo(function DifferenceView() {
  const { words } = useHost();
  const { view, shownTrack, recordedTrack, request, against, goTo } =
    useInspection();
  const fromRequest = Math.max(against ?? request - 1, 0);
  const difference = useMemo(
    () => requestDifference(shownTrack.states, fromRequest, request),
    [shownTrack.states, fromRequest, request]
  );
  const isSameRequest = fromRequest === request;
  const model = view.models[view.requests.model[request] ?? -1] ?? '';
  const headerTexts = [
    shownTrack === recordedTrack
      ? words.__('recorded')
      : shownTrack.track.policy,
    sentTimeText(view, request).replace(/^ \(|\)$/g, ''),
    model
  ].filter(text => text !== '');
  return (
    <section
      role="group"
      className="plm-Difference"
      aria-label={words.__('The difference of two requests')}
    >
      <header className="plm-Inspector-head">
        <h3>
          {isSameRequest
            ? words.__('Request %1', request + 1)
            : words.__('Request %1 → %2', fromRequest + 1, request + 1)}
        </h3>
        <span className="plm-Muted plm-Difference-about">
          {headerTexts.join(' · ')}
        </span>
      </header>
      {!isSameRequest && <PaidBar difference={difference} />}
      <FirstDifference change={difference} />
      {[
        { sign: '+', name: words.__('came'), changes: difference.addedItems },
        { sign: '−', name: words.__('went'), changes: difference.removedItems },
        {
          sign: '~',
          name: words.__('changed'),
          changes: difference.changedItems
        }
      ].map(section => (
        <ChangedItems
          key={section.sign}
          {...section}
          fromRequest={fromRequest}
          toRequest={request}
        />
      ))}
      {!isSameRequest && (
        <p className="plm-Muted">{unchangedWords(difference, words)}</p>
      )}
      <label className="plm-Difference-against">
        {words.__('compare with request')}
        <RequestField
          request={fromRequest}
          onRequest={chosenRequest => {
            goTo({ against: chosenRequest });
          }}
        />
      </label>
    </section>
  );
});

function unchangedWords(difference: IDifference, words: IWords): string {
  const tokens = count(difference.unchangedTokens);
  switch (difference.unchangedCount) {
    case 0:
      return words.__('No item is unchanged.');
    case 1:
      return words.__('1 item is unchanged, %1 tokens.', tokens);
    default:
      return words.__(
        '%1 items are unchanged, %2 tokens.',
        count(difference.unchangedCount),
        tokens
      );
  }
}

/** Draws the tokens read from the cache, written anew, and new. */
function PaidBar({ difference }: { difference: IDifference }) {
  const { words } = useHost();
  const { view } = useInspection();
  const {
    cachedTokens: read,
    rewrittenTokens: anew,
    newTokens: fresh,
    isFact
  } = writtenAnew(view, difference);
  const estimateSign = isFact ? '' : '~';
  const shares = [
    {
      kind: 'read',
      term: 'read from cache' as const,
      tokens: read,
      name: words.__('same, read from cache %1%2', estimateSign, count(read))
    },
    {
      kind: 'anew',
      term: 'written anew' as const,
      tokens: anew,
      name: words.__('same words, written anew %1%2', estimateSign, count(anew))
    },
    {
      kind: 'new',
      term: null,
      tokens: fresh,
      name: words.__('new %1%2', estimateSign, count(fresh))
    }
  ];
  return (
    <>
      <div className="plm-Inspector-bar" aria-hidden="true">
        {shares.map(({ kind, tokens }) => (
          <span key={kind} data-paid={kind} style={{ flexGrow: tokens }} />
        ))}
      </div>
      <ul
        className="plm-Difference-legend"
        aria-label={words.__('What was paid, in tokens')}
      >
        {shares.map(({ kind, name, term }) => (
          <li key={kind}>
            <span className="plm-Inspector-square" data-paid={kind} />
            {term === null ? name : <TermButton term={term}>{name}</TermButton>}
          </li>
        ))}
      </ul>
    </>
  );
}

/** Draws the first difference of the two requests, and its cost. */
function FirstDifference({ change }: { change: IDifference }) {
  const { words } = useHost();
  const { view } = useInspection();
  const writtenTokens = writtenAnew(view, change);
  const {
    rewrittenTokens: anew,
    cost,
    reason: why,
    isBreak,
    isBreakTaken: isTaken,
    isFact
  } = writtenTokens;
  const priceModelName = foreignPriceModel(view, change.newerRequest);
  const firstPlace =
    change.firstChangedItem === null ? null : (
      <>
        {' '}
        {words.__('The first difference is')}{' '}
        <ItemLink item={change.firstChangedItem} />
        {'.'}
      </>
    );
  if (change.olderRequest === change.newerRequest) {
    return (
      <p>
        {words.__(
          'It is the first request, or the same: there is nothing to compare.'
        )}
      </p>
    );
  }
  if (!isBreak) {
    return (
      <p>
        {unbrokenWords(change, writtenTokens, words)}
        {firstPlace}
      </p>
    );
  }
  return (
    <p className="plm-Difference-break">
      <strong>
        {isTaken
          ? words.__('The cache breaks here, as in the recording:')
          : words.__('The cache breaks here:')}
      </strong>{' '}
      {isFact
        ? words.__(
            '%1 tokens were written anew, %2.',
            count(anew),
            money(cost, view.price.unit, view.price.matches_recorded)
          )
        : words.__(
            '%1 tokens are written anew, %2.',
            `${ESTIMATE_MARK}${count(anew)}`,
            money(cost, view.price.unit, false)
          )}
      {priceModelName !== '' && (
        <bdi> {words.__('That is by the price of %1.', priceModelName)}</bdi>
      )}
      {why !== '' && <bdi> {words.__('The cause: %1.', why)}</bdi>}
      {firstPlace}
    </p>
  );
}

/** Returns how much came from the cache and how much was new, where the cache did not break. */
function unbrokenWords(
  difference: IDifference,
  {
    cachedTokens: read,
    rewrittenTokens: anew,
    newTokens: fresh,
    isFact
  }: IWrittenAnew,
  words: IWords
): string {
  const uncachedTokens = count(anew + fresh);
  const isChanged = difference.firstChangedItem !== null;
  if (isFact && read < 1) {
    return isChanged
      ? words.__(
          'Nothing was read from the cache: %1 tokens of the same words and %2 new ones were paid in full.',
          count(anew),
          count(fresh)
        )
      : words.__(
          'Nothing was read from the cache: all %1 tokens were paid in full.',
          uncachedTokens
        );
  }
  if (isFact && isChanged) {
    return words.__(
      '%1 tokens were read from the cache; the other %2 are new, or stand after the first difference.',
      count(read),
      uncachedTokens
    );
  }
  if (isFact) {
    return anew < 1
      ? words.__(
          '%1 tokens were read from the cache, and %2 were new: nothing was written anew.',
          count(read),
          uncachedTokens
        )
      : words.__(
          '%1 tokens were read from the cache, and %2 were not in it.',
          count(read),
          uncachedTokens
        );
  }
  if (read < 1) {
    return difference.commonTokens < 1
      ? words.__(
          'They have no beginning in common that a cache could read: about %1 tokens are new.',
          uncachedTokens
        )
      : words.__(
          'Nothing is read from the cache: all of about %1 tokens are paid in full.',
          uncachedTokens
        );
  }
  return anew >= 1
    ? words.__(
        'About %1 tokens are read from the cache, and about %2 are not in it.',
        count(read),
        uncachedTokens
      )
    : words.__(
        'They have about %1 tokens in common from the beginning on, which a warm cache reads; about %2 are new.',
        count(read),
        uncachedTokens
      );
}

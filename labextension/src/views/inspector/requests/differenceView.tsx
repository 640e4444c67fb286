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
  const { view, shown, recorded, request, against, go } = useInspection();
  const from = Math.max(against ?? request - 1, 0);
  const change = useMemo(
    () => requestDifference(shown.states, from, request),
    [shown.states, from, request]
  );
  const isSameRequest = from === request;
  const model = view.models[view.requests.model[request] ?? -1] ?? '';
  const mark = [
    shown === recorded ? words.__('recorded') : shown.track.policy,
    sentTimeText(view, request).replace(/^ \(|\)$/g, ''),
    model
  ].filter(piece => piece !== '');
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
            : words.__('Request %1 → %2', from + 1, request + 1)}
        </h3>
        <span className="plm-Muted plm-Difference-about">
          {mark.join(' · ')}
        </span>
      </header>
      {!isSameRequest && <PaidBar change={change} />}
      <FirstDifference change={change} />
      {[
        { sign: '+', name: words.__('came'), changes: change.addedItems },
        { sign: '−', name: words.__('went'), changes: change.removedItems },
        { sign: '~', name: words.__('changed'), changes: change.changedItems }
      ].map(piece => (
        <ChangedItems
          key={piece.sign}
          {...piece}
          fromRequest={from}
          toRequest={request}
        />
      ))}
      {!isSameRequest && (
        <p className="plm-Muted">{unchangedWords(change, words)}</p>
      )}
      <label className="plm-Difference-against">
        {words.__('compare with request')}
        <RequestField
          request={from}
          onRequest={at => {
            go({ against: at });
          }}
        />
      </label>
    </section>
  );
});

function unchangedWords(change: IDifference, words: IWords): string {
  const tokens = count(change.unchangedTokens);
  switch (change.unchangedCount) {
    case 0:
      return words.__('No item is unchanged.');
    case 1:
      return words.__('1 item is unchanged, %1 tokens.', tokens);
    default:
      return words.__(
        '%1 items are unchanged, %2 tokens.',
        count(change.unchangedCount),
        tokens
      );
  }
}

/** Draws the tokens read from the cache, written anew, and new. */
function PaidBar({ change }: { change: IDifference }) {
  const { words } = useHost();
  const { view } = useInspection();
  const {
    cachedTokens: read,
    rewrittenTokens: anew,
    newTokens: fresh,
    isFact
  } = writtenAnew(view, change);
  const mark = isFact ? '' : '~';
  const pieces = [
    {
      kind: 'read',
      term: 'read from cache' as const,
      tokens: read,
      name: words.__('same, read from cache %1%2', mark, count(read))
    },
    {
      kind: 'anew',
      term: 'written anew' as const,
      tokens: anew,
      name: words.__('same words, written anew %1%2', mark, count(anew))
    },
    {
      kind: 'new',
      term: null,
      tokens: fresh,
      name: words.__('new %1%2', mark, count(fresh))
    }
  ];
  return (
    <>
      <div className="plm-Inspector-bar" aria-hidden="true">
        {pieces.map(({ kind, tokens }) => (
          <span key={kind} data-paid={kind} style={{ flexGrow: tokens }} />
        ))}
      </div>
      <ul
        className="plm-Difference-legend"
        aria-label={words.__('What was paid, in tokens')}
      >
        {pieces.map(({ kind, name, term }) => (
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
  const paid = writtenAnew(view, change);
  const {
    rewrittenTokens: anew,
    cost,
    reason: why,
    isBreak,
    isBreakTaken: isTaken,
    isFact
  } = paid;
  const price = foreignPriceModel(view, change.newerRequest);
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
        {unbrokenWords(change, paid, words)}
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
      {price !== '' && (
        <bdi> {words.__('That is by the price of %1.', price)}</bdi>
      )}
      {why !== '' && <bdi> {words.__('The cause: %1.', why)}</bdi>}
      {firstPlace}
    </p>
  );
}

/** Returns how much came from the cache and how much was new, where the cache did not break. */
function unbrokenWords(
  change: IDifference,
  {
    cachedTokens: read,
    rewrittenTokens: anew,
    newTokens: fresh,
    isFact
  }: IWrittenAnew,
  words: IWords
): string {
  const unread = count(anew + fresh);
  const isChanged = change.firstChangedItem !== null;
  if (isFact && read < 1) {
    return isChanged
      ? words.__(
          'Nothing was read from the cache: %1 tokens of the same words and %2 new ones were paid in full.',
          count(anew),
          count(fresh)
        )
      : words.__(
          'Nothing was read from the cache: all %1 tokens were paid in full.',
          unread
        );
  }
  if (isFact && isChanged) {
    return words.__(
      '%1 tokens were read from the cache; the other %2 are new, or stand after the first difference.',
      count(read),
      unread
    );
  }
  if (isFact) {
    return anew < 1
      ? words.__(
          '%1 tokens were read from the cache, and %2 were new: nothing was written anew.',
          count(read),
          unread
        )
      : words.__(
          '%1 tokens were read from the cache, and %2 were not in it.',
          count(read),
          unread
        );
  }
  if (read < 1) {
    return change.commonTokens < 1
      ? words.__(
          'They have no beginning in common that a cache could read: about %1 tokens are new.',
          unread
        )
      : words.__(
          'Nothing is read from the cache: all of about %1 tokens are paid in full.',
          unread
        );
  }
  return anew >= 1
    ? words.__(
        'About %1 tokens are read from the cache, and about %2 are not in it.',
        count(read),
        unread
      )
    : words.__(
        'They have about %1 tokens in common from the beginning on, which a warm cache reads; about %2 are new.',
        count(read),
        unread
      );
}

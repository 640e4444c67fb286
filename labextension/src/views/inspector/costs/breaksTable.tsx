/** The cache's breaks: depth, price, cause, and what would have avoided each. */
import { memo, useMemo, useState } from 'react';
import type { TimelineView } from '../../../protocol/generated';
import { count } from '../../../state/text/numberFormat';
import {
  foreignPriceModel,
  money,
  usdDecimals
} from '../../../state/inspector/labels';
import {
  isInRange,
  rangeFigures,
  type IRequestRange
} from '../../../state/inspector/figures/rangeFigures';
import { useHost } from '../../host';
import { useInspectedSession } from '../controls/inspection';
import { FoldedRest } from '../controls/foldedRest';
import { RequestLink } from '../controls/placeLinks';
import { TermButton } from '../glossary/term';

const FIRST_ROWS = 3;
const SOME_ROWS = 12;

/** Draws the breaks, dearest first; `isShort` shows the first few of them, `isWhole` all. */
export const BreaksTable = memo(function BreaksTable(props: {
  isShort?: boolean;
  isWhole?: boolean;
}) {
  const { isShort = false, isWhole = false } = props;
  const { words } = useHost();
  const { view, range } = useInspectedSession();
  const [isUnfolded, setUnfolded] = useState(false);
  // The tokens are facts; what they cost is one only at prices that the recording holds.
  const { unit, matches_recorded: isFact } = view.price;
  const price = foreignPriceModel(view);
  const breaks = useMemo(
    () =>
      view.breaks
        .filter(({ request }) => range === null || isInRange(range, request))
        .sort((left, right) => right.cost - left.cost),
    [view, range]
  );
  const facts = useMemo(() => rangeFacts(view, range), [view, range]);
  // The recorded cost is at the recorded model's price.
  const recordedCost = price === '' ? facts.cost : 0;
  const total = breaks.reduce((sum, entry) => sum + entry.cost, 0);
  const firstRows = isShort ? FIRST_ROWS : SOME_ROWS;
  const shown = isUnfolded || isWhole ? breaks : breaks.slice(0, firstRows);
  const digits = Math.max(0, ...shown.map(entry => usdDecimals(entry.cost)));
  return (
    <section role="group" aria-label={words.__('Cache breaks')}>
      <header className="plm-Inspector-head">
        <h3>{words.__('Cache breaks')}</h3>
        <span className="plm-Muted">
          {recordedCost > 0
            ? words.__(
                '%1 · %2 of %3',
                breaks.length,
                money(total, unit, isFact).replace(` ${unit}`, ''),
                money(recordedCost, unit, facts.isFact)
              )
            : words.__('%1 · %2', breaks.length, money(total, unit, isFact))}
          {price !== '' && words.__(' by the price of %1', price)}
        </span>
      </header>
      {breaks.length === 0 ? (
        <p className="plm-Muted">
          {(view.recorded.facts ?? null) === null
            ? words.__(
                'No usage was reported, so that nobody knows where the cache broke.'
              )
            : range !== null && view.breaks.length > 0
              ? words.__('The cache breaks at none of the chosen requests.')
              : words.__(
                  'No reported request read less from the cache than it could.'
                )}
        </p>
      ) : (
        <div
          className="plm-Inspector-scroll"
          role="group"
          aria-label={words.__('Cache breaks')}
          tabIndex={0}
        >
          <table>
            <caption className="plm-Hidden">
              {words.__('Cache breaks, dearest first')}
            </caption>
            <thead>
              <tr>
                <th scope="col">{words.__('request')}</th>
                <th scope="col" data-number="true">
                  {words.__('price')}
                </th>
                <th scope="col" data-number="true">
                  <TermButton term="written anew">
                    {words.__('written anew')}
                  </TermButton>
                </th>
                <th scope="col">{words.__('cause')}</th>
                <th scope="col">{words.__('avoided by')}</th>
              </tr>
            </thead>
            <tbody>
              {shown.map(entry => (
                <tr key={entry.request}>
                  <th scope="row">
                    <RequestLink
                      request={entry.request}
                      text={String(entry.request + 1)}
                    />
                  </th>
                  <td data-number="true" data-head={words.__('price')}>
                    {money(entry.cost, unit, isFact, digits)}
                  </td>
                  <td data-number="true" data-head={words.__('written anew')}>
                    {count(entry.loss)}
                  </td>
                  <td
                    className="plm-Inspector-words"
                    data-head={words.__('cause')}
                  >
                    <bdi>{entry.cause}</bdi>
                    {!isShort && (
                      <span className="plm-Muted">
                        : <bdi>{entry.words}</bdi>
                      </span>
                    )}
                  </td>
                  <td
                    className="plm-Muted plm-Inspector-words"
                    data-head={words.__('avoided by')}
                  >
                    <bdi>{entry.avoided_by || '–'}</bdi>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {breaks.length > firstRows && !isWhole && (
        <FoldedRest
          isUnfolded={isUnfolded}
          moreLabel={words.__('%1 more', breaks.length - firstRows)}
          onFold={setUnfolded}
        />
      )}
      {!isShort &&
        view.break_notes.map(note => (
          <p key={note} className="plm-Muted">
            <bdi>{note}</bdi>
          </p>
        ))}
    </section>
  );
});

/** Returns what was reported to cost in a range, or in all; 0 where nothing was. */
function rangeFacts(
  view: TimelineView,
  range: IRequestRange | null
): { cost: number; isFact: boolean } {
  const facts = view.recorded.facts ?? null;
  if (facts === null) {
    return { cost: 0, isFact: false };
  }
  if (range === null) {
    return { cost: facts.cost, isFact: facts.cost_is_fact };
  }
  const { areTokensReported, cost, isCostRecorded } = rangeFigures(
    view,
    view.recorded,
    range
  );
  return areTokensReported
    ? { cost, isFact: isCostRecorded }
    : { cost: 0, isFact: false };
}

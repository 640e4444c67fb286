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

const MAX_SHORT_ROWS = 3;
const MAX_FOLDED_ROWS = 12;

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
  const priceModelName = foreignPriceModel(view);
  const breaks = useMemo(
    () =>
      view.breaks
        .filter(({ request }) => range === null || isInRange(range, request))
        .sort((left, right) => right.cost - left.cost),
    [view, range]
  );
  const reportedCost = useMemo(
    () => reportedCostIn(view, range),
    [view, range]
  );
  // The recorded cost is at the recorded model's price.
  const recordedCost = priceModelName === '' ? reportedCost.cost : 0;
  const totalCost = breaks.reduce(
    (sum, cacheBreak) => sum + cacheBreak.cost,
    0
  );
  const foldedRows = isShort ? MAX_SHORT_ROWS : MAX_FOLDED_ROWS;
  const shownBreaks =
    isUnfolded || isWhole ? breaks : breaks.slice(0, foldedRows);
  const digits = Math.max(
    0,
    ...shownBreaks.map(cacheBreak => usdDecimals(cacheBreak.cost))
  );
  return (
    <section role="group" aria-label={words.__('Cache breaks')}>
      <header className="plm-Inspector-head">
        <h3>{words.__('Cache breaks')}</h3>
        <span className="plm-Muted">
          {recordedCost > 0
            ? words.__(
                '%1 · %2 of %3',
                breaks.length,
                money(totalCost, unit, isFact).replace(` ${unit}`, ''),
                money(recordedCost, unit, reportedCost.isCostRecorded)
              )
            : words.__(
                '%1 · %2',
                breaks.length,
                money(totalCost, unit, isFact)
              )}
          {priceModelName !== '' &&
            words.__(' by the price of %1', priceModelName)}
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
              {shownBreaks.map(cacheBreak => (
                <tr key={cacheBreak.request}>
                  <th scope="row">
                    <RequestLink
                      request={cacheBreak.request}
                      text={String(cacheBreak.request + 1)}
                    />
                  </th>
                  <td data-number="true" data-head={words.__('price')}>
                    {money(cacheBreak.cost, unit, isFact, digits)}
                  </td>
                  <td data-number="true" data-head={words.__('written anew')}>
                    {count(cacheBreak.loss)}
                  </td>
                  <td
                    className="plm-Inspector-words"
                    data-head={words.__('cause')}
                  >
                    <bdi>{cacheBreak.cause}</bdi>
                    {!isShort && (
                      <span className="plm-Muted">
                        : <bdi>{cacheBreak.words}</bdi>
                      </span>
                    )}
                  </td>
                  <td
                    className="plm-Muted plm-Inspector-words"
                    data-head={words.__('avoided by')}
                  >
                    <bdi>{cacheBreak.avoided_by || '–'}</bdi>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {breaks.length > foldedRows && !isWhole && (
        <FoldedRest
          isUnfolded={isUnfolded}
          moreLabel={words.__('%1 more', breaks.length - foldedRows)}
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

/** Returns the reported cost of a range, or of all requests; 0 where none was reported. */
function reportedCostIn(
  view: TimelineView,
  range: IRequestRange | null
): { cost: number; isCostRecorded: boolean } {
  const facts = view.recorded.facts ?? null;
  if (facts === null) {
    return { cost: 0, isCostRecorded: false };
  }
  if (range === null) {
    return { cost: facts.cost, isCostRecorded: facts.cost_is_fact };
  }
  const figures = rangeFigures(view, view.recorded, range);
  return figures.areTokensReported
    ? figures
    : { cost: 0, isCostRecorded: false };
}

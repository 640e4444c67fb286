/** The content of the window at the cursor: a bar by kind, and one row for each item. */
import { useMemo, useState } from 'react';
import { count } from '../../../state/text/numberFormat';
import { percent } from '../../../state/inspector/labels';
import {
  largestFirst,
  windowRows
} from '../../../state/inspector/figures/windowRows';
import { stateWords } from '../../../state/inspector/why';
import { TickBox } from '../../controls/fields';
import { useHost } from '../../host';
import { useInspection } from '../controls/inspection';
import { PagedRows } from '../controls/pagedRows';
import { ItemLink } from '../controls/placeLinks';
import { kindWords } from '../timeline/kinds';

/** The number of largest items whose share is shown, where there are more. */
const MAX_SHARES = 10;

/** Draws the bar by kind and the items, largest first or as they are sent. */
export function WindowTable() {
  const { words } = useHost();
  const { shownTrack, request } = useInspection();
  const [isOrdered, setOrdered] = useState(false);
  const rows = useMemo(
    () => windowRows(shownTrack.states, request),
    [shownTrack.states, request]
  );
  const sorted = useMemo(
    () => (isOrdered ? rows : largestFirst(rows)),
    [rows, isOrdered]
  );
  const columns = useMemo(
    () => [
      { head: words.__('item') },
      {
        head: words.__('tokens'),
        isNumber: true,
        valueAt: (index: number) => sorted[index]?.tokens ?? null
      },
      { head: words.__('share'), isNumber: true },
      {
        head: words.__('age'),
        isNumber: true,
        valueAt: (index: number) => sorted[index]?.age ?? null
      },
      { head: words.__('kind') },
      { head: words.__('state') }
    ],
    [sorted, words]
  );
  const { names, layers, totals: total } = shownTrack.series;
  const windowTokens = Math.max(total[request] ?? 0, 1);
  const share = percent(
    largestFirst(rows)
      .slice(0, MAX_SHARES)
      .reduce((sum, row) => sum + row.tokens, 0) / windowTokens
  );
  return (
    <section
      role="group"
      aria-label={words.__('The window at request %1', request + 1)}
    >
      <h3>{words.__('The window at request %1', request + 1)}</h3>
      <div className="plm-Inspector-bar" aria-hidden="true">
        {names.map((name, layer) => (
          <span
            key={name}
            className="plm-Kind"
            data-kind={name}
            title={kindWords(name, words)}
            style={{ flexGrow: (layers[layer]?.[request] ?? 0) / windowTokens }}
          />
        ))}
      </div>
      <p>
        {rows.length === 1
          ? words.__('It holds 1 item with %1 tokens.', count(windowTokens))
          : words.__(
              'It holds %1 items with %2 tokens',
              count(rows.length),
              count(windowTokens)
            ) +
            (rows.length > MAX_SHARES
              ? words.__('; %1 of it is in the ten largest.', share)
              : '.') +
            ` ${words.__('An age is counted in requests.')}`}
      </p>
      <TickBox
        className="plm-GridFilter-check"
        isTicked={isOrdered}
        onTick={setOrdered}
      >
        {words.__('in the order in which they are sent')}
      </TickBox>
      <PagedRows
        caption={words.__('Items in the window')}
        columns={columns}
        rowCount={sorted.length}
        cellsOf={index => {
          const windowRow = sorted[index];
          return windowRow === undefined
            ? []
            : [
                <ItemLink key="item" item={windowRow.item} />,
                count(windowRow.tokens),
                percent(windowRow.tokens / windowTokens),
                count(windowRow.age),
                kindWords(windowRow.kind, words),
                stateWords(windowRow.state)
              ];
        }}
      />
    </section>
  );
}

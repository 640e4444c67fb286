/** The cache's breaks: depth, price, cause, and what would have avoided each. */
import { useMemo, useState } from 'react';
import { count } from '../../../state/display/numberFormat';
import { money } from '../../../state/inspector/labels';
import { useHost } from '../../host';
import { useInspection } from '../controls/inspection';
import { RequestLink } from '../controls/placeLinks';

const FIRST_ROWS = 3;
const SOME_ROWS = 12;

/** Draws the breaks, dearest first; `isShort` shows the first few of them. */
export function BreaksTable({ isShort = false }: { isShort?: boolean }) {
  const { words } = useHost();
  const { view } = useInspection();
  const [all, setAll] = useState(false);
  const { unit } = view.price;
  const breaks = useMemo(
    () => [...view.breaks].sort((one, other) => other.cost - one.cost),
    [view]
  );
  const total = breaks.reduce((sum, one) => sum + one.cost, 0);
  const some = isShort ? FIRST_ROWS : SOME_ROWS;
  const shown = all ? breaks : breaks.slice(0, some);
  return (
    <section aria-label={words.__('Cache breaks')}>
      <header className="plm-Inspector-head">
        <h3>{words.__('Cache breaks')}</h3>
        <span className="plm-Muted">
          {words.__('%1 · %2', breaks.length, money(total, unit))}
        </span>
      </header>
      {breaks.length === 0 ? (
        <p className="plm-Muted">
          {words.__(
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
            <thead>
              <tr>
                <th scope="col">{words.__('request')}</th>
                <th scope="col" data-number="true">
                  {words.__('read anew')}
                </th>
                <th scope="col">{words.__('cause')}</th>
                <th scope="col">{words.__('avoided by')}</th>
                <th scope="col" data-number="true">
                  {words.__('price')}
                </th>
              </tr>
            </thead>
            <tbody>
              {shown.map(one => (
                <tr key={one.request}>
                  <th scope="row">
                    <RequestLink
                      request={one.request}
                      text={String(one.request + 1)}
                    />
                  </th>
                  <td data-number="true">{count(one.loss)}</td>
                  <td>
                    <bdi>{one.cause}</bdi>
                    {!isShort && (
                      <span className="plm-Muted">
                        : <bdi>{one.words}</bdi>
                      </span>
                    )}
                  </td>
                  <td className="plm-Muted">
                    <bdi>{one.avoided_by || '–'}</bdi>
                  </td>
                  <td data-number="true">{money(one.cost, unit)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {breaks.length > shown.length && (
        <button
          type="button"
          className="plm-Link plm-Inspector-link"
          onClick={() => {
            setAll(true);
          }}
        >
          {words.__('%1 more', breaks.length - shown.length)}
        </button>
      )}
    </section>
  );
}

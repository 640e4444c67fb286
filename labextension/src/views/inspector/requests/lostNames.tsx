/** What a compaction lost: how many names of each kind, which they are, and which of them were needed later. */
import { useState } from 'react';
import type { CompactionText, LostWord } from '../../../protocol/generated';
import { count } from '../../../state/display/numberFormat';
import { oneLine } from '../../../state/display/oneLine';
import { useHost } from '../../host';
import { PagedRows } from '../controls/pagedRows';
import { RequestLink } from '../controls/placeLinks';

/** Requests that a row names; the others are counted. */
const MOST_REQUESTS = 3;

/** Draws the numbers by kind, and the list of names. */
export function LostNames({ found }: { found: CompactionText }) {
  const { words } = useHost();
  const [isNeeded, setNeeded] = useState(false);
  const total = found.kinds.reduce((sum, one) => sum + one.lost, 0);
  const needed = found.kinds.reduce((sum, one) => sum + one.needed, 0);
  const shown = isNeeded
    ? found.lost.filter(one => one.needed.length > 0)
    : found.lost;
  const untold = (isNeeded ? needed : total) - shown.length;
  if (found.kinds.length === 0) {
    return (
      <p className="plm-Muted">
        {words.__(
          'What it replaced held no path, error, identifier or number.'
        )}
      </p>
    );
  }
  return (
    <>
      <h4>{words.__('Kept and lost, by kind')}</h4>
      <PagedRows
        caption={words.__(
          'Compaction %1: names kept and lost, by kind',
          found.number + 1
        )}
        heads={[
          words.__('kind'),
          words.__('before'),
          words.__('kept'),
          words.__('lost'),
          words.__('needed later')
        ]}
        count={found.kinds.length}
        row={place => kindCells(found, place)}
      />
      {total > 0 && (
        <>
          <h4>{words.__('Lost names: %1', count(total))}</h4>
          <label className="plm-GridFilter-check">
            <input
              type="checkbox"
              checked={isNeeded}
              onChange={event => {
                setNeeded(event.target.checked);
              }}
            />
            {words.__('only the %1 that were needed later', count(needed))}
          </label>
          {shown.length > 0 && (
            <PagedRows
              caption={words.__('Compaction %1: lost names', found.number + 1)}
              heads={[
                words.__('name'),
                words.__('kind'),
                words.__('needed at'),
                words.__('uses later')
              ]}
              count={shown.length}
              row={place => nameCells(shown[place])}
              numbersFrom={3}
            />
          )}
          {untold > 0 && (
            <p className="plm-Muted">
              {words.__('%1 more are counted, and not listed.', count(untold))}
            </p>
          )}
        </>
      )}
    </>
  );
}

function kindCells({ kinds }: CompactionText, place: number) {
  const one = kinds[place];
  return one === undefined
    ? []
    : [
        one.kind,
        count(one.found),
        count(one.found - one.lost),
        count(one.lost),
        count(one.needed)
      ];
}

function nameCells(one: LostWord | undefined) {
  return one === undefined
    ? []
    : [
        <bdi key="name" className="plm-Inspector-mono plm-Compactions-name">
          {oneLine(one.name)}
        </bdi>,
        one.kind,
        <NeededAt key="needed" requests={one.needed} />,
        count(one.needed.length)
      ];
}

function NeededAt({ requests }: { requests: readonly number[] }) {
  const { words } = useHost();
  const more = requests.length - MOST_REQUESTS;
  if (requests.length === 0) {
    return <span className="plm-Muted">{words.__('not needed')}</span>;
  }
  return (
    <>
      {requests.slice(0, MOST_REQUESTS).map((request, place) => (
        <span key={request}>
          {place > 0 && ', '}
          <RequestLink request={request} />
        </span>
      ))}
      {more > 0 && ` ${words.__('and %1 more', count(more))}`}
    </>
  );
}

/** The names that a compaction lost, by kind, and which of them were needed later. */
import { useState } from 'react';
import type { CompactionText, LostWord } from '../../../protocol/generated';
import { count } from '../../../state/text/numberFormat';
import { oneLine } from '../../../state/text/oneLine';
import { TickBox } from '../../controls/fields';
import { useHost } from '../../host';
import { PagedRows } from '../controls/pagedRows';
import { RequestLink } from '../controls/placeLinks';

/** Requests that a row names; the others are counted. */
const MAX_REQUESTS = 3;

/** Draws the numbers by kind, and the list of names. */
export function LostNames({ compaction }: { compaction: CompactionText }) {
  const { words } = useHost();
  const [showsOnlyNeeded, setShowsOnlyNeeded] = useState(false);
  const lostCount = compaction.kinds.reduce((sum, row) => sum + row.lost, 0);
  const neededCount = compaction.kinds.reduce(
    (sum, row) => sum + row.needed,
    0
  );
  const shownRows = showsOnlyNeeded
    ? compaction.lost.filter(row => row.needed.length > 0)
    : compaction.lost;
  const unlistedCount =
    (showsOnlyNeeded ? neededCount : lostCount) - shownRows.length;
  if (compaction.kinds.length === 0) {
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
          compaction.number + 1
        )}
        columns={[
          { head: words.__('kind') },
          { head: words.__('before'), isNumber: true },
          { head: words.__('kept'), isNumber: true },
          { head: words.__('lost'), isNumber: true },
          { head: words.__('needed later'), isNumber: true }
        ]}
        rowCount={compaction.kinds.length}
        cellsOf={index => kindCells(compaction, index)}
      />
      {lostCount > 0 && (
        <>
          <h4>{words.__('Lost names: %1', count(lostCount))}</h4>
          <TickBox
            className="plm-GridFilter-check"
            isTicked={showsOnlyNeeded}
            onTick={setShowsOnlyNeeded}
          >
            {words.__('only the %1 that were needed later', count(neededCount))}
          </TickBox>
          {shownRows.length > 0 && (
            <PagedRows
              caption={words.__(
                'Compaction %1: lost names',
                compaction.number + 1
              )}
              columns={[
                { head: words.__('name') },
                { head: words.__('kind') },
                { head: words.__('needed at') },
                { head: words.__('uses later'), isNumber: true }
              ]}
              rowCount={shownRows.length}
              cellsOf={index => nameCells(shownRows[index])}
            />
          )}
          {unlistedCount > 0 && (
            <p className="plm-Muted">
              {words.__(
                '%1 more are counted, and not listed.',
                count(unlistedCount)
              )}
            </p>
          )}
        </>
      )}
    </>
  );
}

function kindCells({ kinds }: CompactionText, index: number) {
  const row = kinds[index];
  return row === undefined
    ? []
    : [
        row.kind,
        count(row.found),
        count(row.found - row.lost),
        count(row.lost),
        count(row.needed)
      ];
}

function nameCells(row: LostWord | undefined) {
  return row === undefined
    ? []
    : [
        <bdi key="name" className="plm-Inspector-mono plm-Compactions-name">
          {oneLine(row.name)}
        </bdi>,
        row.kind,
        <NeededAt key="needed" requests={row.needed} />,
        count(row.needed.length)
      ];
}

function NeededAt({ requests }: { requests: readonly number[] }) {
  const { words } = useHost();
  const moreCount = requests.length - MAX_REQUESTS;
  if (requests.length === 0) {
    return <span className="plm-Muted">{words.__('not needed')}</span>;
  }
  return (
    <>
      {requests.slice(0, MAX_REQUESTS).map((request, index) => (
        <span key={request}>
          {index > 0 && ', '}
          <RequestLink request={request} />
        </span>
      ))}
      {moreCount > 0 && ` ${words.__('and %1 more', count(moreCount))}`}
    </>
  );
}

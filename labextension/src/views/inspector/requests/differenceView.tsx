/** The difference of two requests: what came, went and was rewritten, and what was paid anew. */
import { memo, useMemo, useState } from 'react';
import { count } from '../../../state/display/numberFormat';
import {
  difference,
  type IChangedItem,
  type IDifference
} from '../../../state/inspector/difference';
import { readAnew } from '../../../state/inspector/readAnew';
import { money } from '../../../state/inspector/labels';
import { time } from '../../../state/inspector/why';
import { useHost } from '../../host';
import { useInspection } from '../controls/inspection';
import { ItemLink } from '../controls/placeLinks';

const FIRST_ROWS = 8;

/** Draws the shown request beside the one before it, or beside another that is chosen. */
export const DifferenceView = memo(function DifferenceView() {
  const { words } = useHost();
  const { view, shown, recorded, request, against, go } = useInspection();
  const from = Math.max(against ?? request - 1, 0);
  const found = useMemo(
    () => difference(shown.states, from, request),
    [shown.states, from, request]
  );
  const model = view.models[view.requests.model[request] ?? -1] ?? '';
  const about = [
    shown === recorded ? words.__('recorded') : shown.track.policy,
    time(view, request).replace(/^ \(|\)$/g, ''),
    model
  ].filter(one => one !== '');
  return (
    <section
      className="plm-Difference"
      aria-label={words.__('The difference of two requests')}
    >
      <header className="plm-Inspector-head">
        <h3>{words.__('Request %1 → %2', from + 1, request + 1)}</h3>
        <span className="plm-Muted">{about.join(' · ')}</span>
      </header>
      <PaidBar found={found} />
      <FirstDifference found={found} />
      <ChangedItems sign="+" name={words.__('came')} changes={found.came} />
      <ChangedItems sign="−" name={words.__('went')} changes={found.went} />
      <ChangedItems
        sign="~"
        name={words.__('rewritten')}
        changes={found.rewritten}
      />
      <p className="plm-Muted">
        {words.__(
          '%1 items are unchanged, %2 tokens.',
          count(found.unchanged),
          count(found.unchangedTokens)
        )}
      </p>
      <label className="plm-Difference-against">
        {words.__('compare with request')}
        <input
          className="plm-Field"
          type="number"
          min={1}
          max={view.requests.id.length}
          value={from + 1}
          onChange={event => {
            const at = Number(event.target.value) - 1;
            if (at >= 0 && at < view.requests.id.length) {
              go({ against: at });
            }
          }}
        />
      </label>
    </section>
  );
});

/** What the provider read from its cache, what was paid anew, and what is new. */
function PaidBar({ found }: { found: IDifference }) {
  const { words } = useHost();
  const { view } = useInspection();
  const { read, anew, fresh, isFact } = readAnew(view, found);
  const about = isFact ? '' : '~';
  const pieces = [
    {
      kind: 'read',
      tokens: read,
      name: words.__('same, read from the cache %1%2', about, count(read))
    },
    {
      kind: 'anew',
      tokens: anew,
      name: words.__('same words, paid anew %1%2', about, count(anew))
    },
    {
      kind: 'new',
      tokens: fresh,
      name: words.__('new %1%2', about, count(fresh))
    }
  ];
  return (
    <>
      <div className="plm-Inspector-bar" aria-hidden="true">
        {pieces.map(({ kind, tokens }) => (
          <span key={kind} data-paid={kind} style={{ flexGrow: tokens }} />
        ))}
      </div>
      <ul className="plm-Difference-legend">
        {pieces.map(({ kind, name }) => (
          <li key={kind}>
            <span className="plm-Inspector-square" data-paid={kind} />
            {name}
          </li>
        ))}
      </ul>
    </>
  );
}

/** Where the two part, and what that cost. */
function FirstDifference({ found }: { found: IDifference }) {
  const { words } = useHost();
  const { view } = useInspection();
  const { anew, cost, why, isFact } = readAnew(view, found);
  const place =
    found.firstChanged === null ? null : (
      <>
        {' '}
        {words.__('The first difference is')}{' '}
        <ItemLink item={found.firstChanged} />
      </>
    );
  if (found.from === found.to) {
    return (
      <p>
        {words.__(
          'It is the first request, or the same: there is nothing to compare.'
        )}
      </p>
    );
  }
  if (anew < 1) {
    return (
      <p>
        {isFact
          ? words.__('The cache held: nothing was read anew.')
          : words.__(
              'The later request begins as the earlier one: a warm cache holds.'
            )}
        {place}
      </p>
    );
  }
  return (
    <p className="plm-Difference-break">
      <strong>{words.__('The cache breaks here:')}</strong>{' '}
      {isFact
        ? words.__(
            '%1 tokens were read anew, %2.',
            count(anew),
            money(cost, view.price.unit)
          )
        : words.__(
            'about %1 tokens are read anew, about %2.',
            count(anew),
            money(cost, view.price.unit)
          )}
      {why !== '' && <bdi> {words.__('The cause: %1.', why)}</bdi>}
      {place}
    </p>
  );
}

interface IChangesProps {
  sign: string;
  name: string;
  changes: readonly IChangedItem[];
}

function ChangedItems({ sign, name, changes }: IChangesProps) {
  const { words } = useHost();
  const [all, setAll] = useState(false);
  if (changes.length === 0) {
    return null;
  }
  const shown = all ? changes.slice(0, 500) : changes.slice(0, FIRST_ROWS);
  return (
    <>
      <ul className="plm-Difference-rows" aria-label={name}>
        {shown.map(({ item, before, since }) => (
          <li key={item}>
            <span
              className="plm-Difference-sign"
              data-sign={sign}
              aria-hidden="true"
            >
              {sign}
            </span>
            <span className="plm-Hidden">{name}</span>
            <ItemLink item={item} />
            <span className="plm-Inspector-number">
              {sign === '~'
                ? words.__('%1 → %2', count(before), count(since))
                : count(sign === '+' ? since : before)}
            </span>
          </li>
        ))}
      </ul>
      {changes.length > shown.length && (
        <button
          type="button"
          className="plm-Link plm-Inspector-link"
          onClick={() => {
            setAll(true);
          }}
        >
          {words.__('%1 more %2', changes.length - shown.length, name)}
        </button>
      )}
    </>
  );
}

/** The compactions of a session: before beside after, what each lost, and what of it was needed later. */
import { memo, useId, useState } from 'react';
import type { CompactionText } from '../../../protocol/generated';
import { count } from '../../../state/display/numberFormat';
import { oneLine } from '../../../state/display/oneLine';
import { Disclosure } from '../../controls/disclosure';
import { useHost } from '../../host';
import { useText } from '../controls/answers';
import { FoundText, timesFound } from '../controls/foundText';
import { useInspectedSession } from '../controls/inspection';
import { ItemLink, RequestLink } from '../controls/placeLinks';
import { LostNames } from './lostNames';

const MOST_ITEMS = 60;

/** Draws a disclosure for each compaction; an only one is open, and all are where `isWhole`. */
export const Compactions = memo(function Compactions({
  isWhole = false
}: {
  isWhole?: boolean;
}) {
  const { words } = useHost();
  const { view } = useInspectedSession();
  const found = view.events.filter(one => one.kind === 'compact');
  const failed = view.events.filter(one => one.kind === 'compact failed');
  const requests = view.requests.id.length;
  return (
    <section
      role="group"
      className="plm-Compactions"
      aria-label={words.__('Compactions')}
    >
      <h3>{words.__('Compactions')}</h3>
      {found.length === 0 && (
        <p className="plm-Muted">
          {words.__(
            'No summary took the place of older turns in this session.'
          )}
        </p>
      )}
      {found.map(({ request, cause }, number) => (
        <Disclosure
          key={number}
          className="plm-Compactions-one"
          open={isWhole || found.length === 1}
          head={
            request < requests
              ? words.__(
                  'Compaction %1, before request %2, %3',
                  number + 1,
                  request + 1,
                  oneLine(cause)
                )
              : words.__(
                  'Compaction %1, after the last request, %2',
                  number + 1,
                  oneLine(cause)
                )
          }
        >
          <CompactionDetails number={number} />
        </Disclosure>
      ))}
      {failed.map(({ request, cause }, number) => (
        <p key={number} className="plm-Muted">
          {request < requests
            ? words.__(
                'Before request %1 a summary (%2) failed or was stopped, so that it replaced nothing.',
                request + 1,
                oneLine(cause)
              )
            : words.__(
                'After the last request a summary (%1) failed or was stopped, so that it replaced nothing.',
                oneLine(cause)
              )}
        </p>
      ))}
    </section>
  );
});

function CompactionDetails({ number }: { number: number }) {
  const { words } = useHost();
  const { source, view, price } = useInspectedSession();
  const { answer } = useText(
    source,
    { ask: 'compaction', number, ...(price === null ? {} : { price }) },
    undefined,
    // A later answer may need what was lost.
    view.seq
  );
  const found = answer?.compaction ?? null;
  if (found === null) {
    return (
      <p className="plm-Muted" role="status">
        {answer?.error || (source.waits ?? words.__('Reading…'))}
      </p>
    );
  }
  return (
    <>
      <p>
        {found.sentences.map((one, place) => (
          <bdi key={place}>{one} </bdi>
        ))}
        {found.request < view.requests.id.length && (
          <RequestLink
            request={found.request}
            text={words.__('Show request %1', found.request + 1)}
          />
        )}
      </p>
      <div className="plm-Compactions-sides">
        <Before found={found} />
        <After found={found} />
      </div>
      <LostNames found={found} />
    </>
  );
}

function Before({ found }: { found: CompactionText }) {
  const { words } = useHost();
  const { items, item_tokens: tokens } = found;
  return (
    <div>
      <h4>
        {words.__(
          'Before: %1 items, ~%2 tokens',
          count(items.length),
          count(found.tokens_before)
        )}
      </h4>
      <SideBar share={1} />
      <ul className="plm-Difference-rows plm-Compactions-items">
        {items.slice(0, MOST_ITEMS).map((item, place) => (
          <li key={item}>
            <ItemLink item={item} />
            <span className="plm-Muted plm-Inspector-number">
              {words.__('~%1 tokens', count(tokens[place] ?? 0))}
            </span>
          </li>
        ))}
      </ul>
      {items.length > MOST_ITEMS && (
        <p className="plm-Muted">
          {words.__('and %1 more', count(items.length - MOST_ITEMS))}
        </p>
      )}
    </div>
  );
}

function After({ found }: { found: CompactionText }) {
  const { words } = useHost();
  const [find, setFind] = useState('');
  const field = useId();
  const { summary, summary_chars: chars, tokens_before: before } = found;
  const times = timesFound(summary, find);
  return (
    <div>
      <h4>
        {words.__('After: a summary, ~%1 tokens', count(found.tokens_after))}
      </h4>
      <SideBar share={before > 0 ? found.tokens_after / before : 1} />
      <div className="plm-Compactions-find">
        <label htmlFor={field} className="plm-Hidden">
          {words.__('Find in summary %1', found.number + 1)}
        </label>
        <input
          id={field}
          className="plm-Field"
          type="search"
          maxLength={300}
          placeholder={words.__('Find in the summary')}
          value={find}
          onChange={event => {
            setFind(event.target.value);
          }}
        />
        <span className="plm-Muted" role="status">
          {find !== '' && words.__('%1 times', count(times))}
        </span>
      </div>
      <pre
        className="plm-Inspector-text"
        dir="auto"
        tabIndex={0}
        role="group"
        aria-label={words.__('Text of summary %1', found.number + 1)}
      >
        <FoundText text={summary} find={find} />
      </pre>
      {chars > summary.length && (
        <p className="plm-Muted">
          {words.__(
            'The first %1 of %2 characters.',
            count(summary.length),
            count(chars)
          )}
        </p>
      )}
    </div>
  );
}

/** Draws how large a side is; the heading says it in numbers. */
function SideBar({ share }: { share: number }) {
  return (
    <div className="plm-Compactions-bar" aria-hidden="true">
      <span
        style={{ width: `${Math.min(100, Math.max(0.5, 100 * share))}%` }}
      />
    </div>
  );
}

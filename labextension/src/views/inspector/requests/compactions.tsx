/** The compactions of a session: content before and after, lost names, and which of them were needed later. */
import { memo, useId, useState } from 'react';
import type { CompactionText } from '../../../protocol/generated';
import { count } from '../../../state/text/numberFormat';
import { oneLine } from '../../../state/text/oneLine';
import { Disclosure } from '../../controls/disclosure';
import { useHost } from '../../host';
import { useText } from '../controls/answers';
import {
  BoxedText,
  MAX_QUERY_CHARS,
  MarkedText,
  MissingText,
  matchCount
} from '../controls/sessionTexts';
import { useInspectedSession } from '../controls/inspection';
import { ItemLink, RequestLink } from '../controls/placeLinks';
import { LostNames } from './lostNames';

const MAX_ITEMS = 60;
/** A smaller side would not be seen. */
const MIN_BAR_PERCENT = 0.5;

/** Draws a disclosure for each compaction; a single one is open, and with `isWhole` all are. */
export const Compactions = memo(function Compactions({
  isWhole = false
}: {
  isWhole?: boolean;
}) {
  const { words } = useHost();
  const { view } = useInspectedSession();
  const compactions = view.events.filter(event => event.kind === 'compact');
  const failedCompactions = view.events.filter(
    event => event.kind === 'compact failed'
  );
  const requestCount = view.requests.id.length;
  return (
    <section
      role="group"
      className="plm-Compactions"
      aria-label={words.__('Compactions')}
    >
      <h3>{words.__('Compactions')}</h3>
      {compactions.length === 0 && (
        <p className="plm-Muted">
          {words.__(
            'No summary took the place of older turns in this session.'
          )}
        </p>
      )}
      {compactions.map(({ request, cause }, index) => (
        <Disclosure
          key={index}
          className="plm-Compactions-one"
          open={isWhole || compactions.length === 1}
          head={
            request < requestCount
              ? words.__(
                  'Compaction %1, before request %2, %3',
                  index + 1,
                  request + 1,
                  oneLine(cause)
                )
              : words.__(
                  'Compaction %1, after the last request, %2',
                  index + 1,
                  oneLine(cause)
                )
          }
        >
          <CompactionDetails index={index} />
        </Disclosure>
      ))}
      {failedCompactions.map(({ request, cause }, index) => (
        <p key={index} className="plm-Muted">
          {request < requestCount
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

function CompactionDetails({ index }: { index: number }) {
  const { words } = useHost();
  const { source, view, price } = useInspectedSession();
  const { answer } = useText(
    source,
    { ask: 'compaction', number: index, ...(price === null ? {} : { price }) },
    undefined,
    // A later answer may need what was lost.
    view.seq
  );
  const compaction = answer?.compaction ?? null;
  if (compaction === null) {
    return <MissingText answer={answer} />;
  }
  return (
    <>
      <p>
        {compaction.sentences.map((sentence, place) => (
          <bdi key={place}>{sentence} </bdi>
        ))}
        {compaction.request < view.requests.id.length && (
          <RequestLink
            request={compaction.request}
            text={words.__('Show request %1', compaction.request + 1)}
          />
        )}
      </p>
      <div className="plm-Compactions-sides">
        <ContentBefore compaction={compaction} />
        <SummaryAfter compaction={compaction} />
      </div>
      <LostNames compaction={compaction} />
    </>
  );
}

function ContentBefore({ compaction }: { compaction: CompactionText }) {
  const { words } = useHost();
  const { items, item_tokens: tokens } = compaction;
  return (
    <div>
      <h4>
        {words.__(
          'Before: %1 items, ~%2 tokens',
          count(items.length),
          count(compaction.tokens_before)
        )}
      </h4>
      <SideBar share={1} />
      <ul className="plm-Difference-rows plm-Compactions-items">
        {items.slice(0, MAX_ITEMS).map((item, index) => (
          <li key={item}>
            <ItemLink item={item} />
            <span className="plm-Muted plm-Inspector-number">
              {words.__('~%1 tokens', count(tokens[index] ?? 0))}
            </span>
          </li>
        ))}
      </ul>
      {items.length > MAX_ITEMS && (
        <p className="plm-Muted">
          {words.__('and %1 more', count(items.length - MAX_ITEMS))}
        </p>
      )}
    </div>
  );
}

function SummaryAfter({ compaction }: { compaction: CompactionText }) {
  const { words } = useHost();
  const [query, setQuery] = useState('');
  const fieldId = useId();
  const {
    summary,
    summary_chars: summaryChars,
    tokens_before: tokensBefore
  } = compaction;
  const occurrences = matchCount(summary, query);
  return (
    <div>
      <h4>
        {words.__(
          'After: a summary, ~%1 tokens',
          count(compaction.tokens_after)
        )}
      </h4>
      <SideBar
        share={tokensBefore > 0 ? compaction.tokens_after / tokensBefore : 1}
      />
      <div className="plm-Compactions-find">
        <label htmlFor={fieldId} className="plm-Hidden">
          {words.__('Find in summary %1', compaction.number + 1)}
        </label>
        <input
          id={fieldId}
          className="plm-Field"
          type="search"
          maxLength={MAX_QUERY_CHARS}
          placeholder={words.__('Find in the summary')}
          value={query}
          onChange={event => {
            setQuery(event.target.value);
          }}
        />
        <span className="plm-Muted" role="status">
          {query !== '' && words.__('%1 times', count(occurrences))}
        </span>
      </div>
      <BoxedText label={words.__('Text of summary %1', compaction.number + 1)}>
        <MarkedText text={summary} query={query} />
      </BoxedText>
      {summaryChars > summary.length && (
        <p className="plm-Muted">
          {words.__(
            'The first %1 of %2 characters.',
            count(summary.length),
            count(summaryChars)
          )}
        </p>
      )}
    </div>
  );
}

/** Draws the size of a side as a bar; the heading has the number. */
function SideBar({ share }: { share: number }) {
  return (
    <div className="plm-Compactions-bar" aria-hidden="true">
      <span
        style={{
          width: `${Math.min(100, Math.max(MIN_BAR_PERCENT, 100 * share))}%`
        }}
      />
    </div>
  );
}

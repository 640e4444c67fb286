/** The compactions of a session: before beside after, what each lost, and what of it was needed later. */
import type { LostName } from '../../../protocol/generated';
import { count } from '../../../state/display/numberFormat';
import { oneLine } from '../../../state/inspector/labels';
import { Disclosure } from '../../controls/disclosure';
import { useHost } from '../../host';
import { useAnswer } from '../controls/answers';
import { useInspection } from '../controls/inspection';
import { ItemLink, RequestLink } from '../controls/placeLinks';

const MOST_ITEMS = 60;

/** Draws a disclosure for each compaction. */
export function Compactions() {
  const { words } = useHost();
  const { view } = useInspection();
  const found = view.events.filter(one => one.kind === 'compact');
  return (
    <section aria-label={words.__('Compactions')}>
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
          head={words.__(
            'Compaction %1, at request %2 %3',
            number + 1,
            request + 1,
            oneLine(cause)
          )}
        >
          <CompactionDetails number={number} />
        </Disclosure>
      ))}
    </section>
  );
}

function CompactionDetails({ number }: { number: number }) {
  const { words } = useHost();
  const { source } = useInspection();
  const { answer } = useAnswer(source, { ask: 'compaction', number });
  const found = answer?.compaction ?? null;
  if (found === null) {
    return (
      <p className="plm-Muted" role="status">
        {answer?.error || words.__('Reading…')}
      </p>
    );
  }
  const needed = found.lost.filter(one => one.needed.length > 0);
  return (
    <>
      <p>
        <RequestLink request={found.request} />{' '}
        {words.__(
          '%1 tokens before, %2 since.',
          count(found.tokens_before),
          count(found.tokens_after)
        )}
      </p>
      {found.sentences.map(one => (
        <p key={one}>
          <bdi>{one}</bdi>
        </p>
      ))}
      <div className="plm-Compactions-sides">
        <div>
          <h4>{words.__('Before: %1 items', count(found.items.length))}</h4>
          <ul className="plm-Difference-rows">
            {found.items.slice(0, MOST_ITEMS).map(item => (
              <li key={item}>
                <ItemLink item={item} />
              </li>
            ))}
          </ul>
          {found.items.length > MOST_ITEMS &&
            words.__('and %1 more', count(found.items.length - MOST_ITEMS))}
        </div>
        <div>
          <h4>{words.__('After: the summary')}</h4>
          <pre className="plm-Inspector-text" dir="auto" tabIndex={0}>
            {found.summary}
          </pre>
        </div>
      </div>
      <h4>
        {words.__(
          'Lost: %1 names, of which %2 were needed later',
          count(found.lost.length),
          count(needed.length)
        )}
      </h4>
      <LostNames lost={found.lost} />
    </>
  );
}

function LostNames({ lost }: { lost: readonly LostName[] }) {
  const { words } = useHost();
  const kinds = [...new Set(lost.map(one => one.kind))];
  return (
    <dl className="plm-Compactions-lost">
      {kinds.map(kind => (
        <div key={kind}>
          <dt>{kind}</dt>
          <dd>
            <ul>
              {lost
                .filter(one => one.kind === kind)
                .slice(0, MOST_ITEMS)
                .map(one => (
                  <li key={one.name}>
                    <bdi className="plm-Inspector-mono">
                      {oneLine(one.name)}
                    </bdi>{' '}
                    {one.needed[0] === undefined ? (
                      <span className="plm-Muted">
                        {words.__('not needed')}
                      </span>
                    ) : (
                      <>
                        {words.__('needed at')}{' '}
                        <RequestLink request={one.needed[0]} />
                      </>
                    )}
                  </li>
                ))}
            </ul>
          </dd>
        </div>
      ))}
    </dl>
  );
}

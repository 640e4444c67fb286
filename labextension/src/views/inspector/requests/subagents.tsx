/** The sessions that calls of this one began. */
import { count } from '../../../state/display/numberFormat';
import { oneLine } from '../../../state/display/oneLine';
import { money } from '../../../state/inspector/labels';
import { linkTo } from '../../../state/inspector/source';
import { useHost } from '../../host';
import { useInspectedSession } from '../controls/inspection';
import { RequestLink } from '../controls/placeLinks';

/** Draws a row for each, with the way into it; nothing where there are none. */
export function Subagents() {
  const { words } = useHost();
  const { view, openLink } = useInspectedSession();
  if (view.subagents.length === 0) {
    return null;
  }
  return (
    <section role="group" aria-label={words.__('Subagents')}>
      <h3>{words.__('Subagents')}</h3>
      <ul className="plm-Difference-rows">
        {view.subagents.map(one => (
          <li key={one.session}>
            {openLink === null ? (
              <bdi>{oneLine(one.title)}</bdi>
            ) : (
              <button
                type="button"
                className="plm-Link plm-Inspector-link plm-Inspector-name"
                onClick={() => {
                  openLink(linkTo(one.session, { request: null, item: null }));
                }}
              >
                <bdi>{oneLine(one.title)}</bdi>
              </button>
            )}
            <span className="plm-Muted">
              {one.requests === 1
                ? words.__('1 request, %1 tokens', count(one.tokens))
                : words.__(
                    '%1 requests, %2 tokens',
                    count(one.requests),
                    count(one.tokens)
                  )}
              {typeof one.cost === 'number' &&
                `, ${money(one.cost, view.price.unit, one.cost_is_fact)}`}
            </span>
            {one.request >= 0 && <RequestLink request={one.request} />}
          </li>
        ))}
      </ul>
    </section>
  );
}

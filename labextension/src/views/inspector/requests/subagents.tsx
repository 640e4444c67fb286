/** The sessions that calls of this one began. */
import { count } from '../../../state/text/numberFormat';
import { oneLine } from '../../../state/text/oneLine';
import { money } from '../../../state/inspector/labels';
import { subagentPlace } from '../../../state/inspector/subagents';
import { useHost } from '../../host';
import { useInspectedSession } from '../controls/inspection';
import { PlaceLink, RequestLink } from '../controls/placeLinks';

/** Draws a row for each, with the way into it; nothing where there are none. */
export function Subagents() {
  const { words } = useHost();
  const { view, source } = useInspectedSession();
  if (view.subagents.length === 0) {
    return null;
  }
  return (
    <section role="group" aria-label={words.__('Subagents')}>
      <h3>{words.__('Subagents')}</h3>
      <ul className="plm-Difference-rows">
        {view.subagents.map(subagent => (
          <li key={subagent.session}>
            {source.subagentSource?.(subagent.session) === null ? (
              <bdi>{oneLine(subagent.title)}</bdi>
            ) : (
              <PlaceLink place={subagentPlace(subagent.session)} isCutShort>
                <bdi>{oneLine(subagent.title)}</bdi>
              </PlaceLink>
            )}
            <span className="plm-Muted">
              {subagent.requests === 1
                ? words.__('1 request, %1 tokens', count(subagent.tokens))
                : words.__(
                    '%1 requests, %2 tokens',
                    count(subagent.requests),
                    count(subagent.tokens)
                  )}
              {typeof subagent.cost === 'number' &&
                `, ${money(subagent.cost, view.price.unit, subagent.cost_is_fact)}`}
            </span>
            {subagent.request >= 0 && (
              <RequestLink request={subagent.request} />
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

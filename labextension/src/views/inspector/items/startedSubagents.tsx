/** The subagents that the chosen call started, with the way into each. */
import { oneLine } from '../../../state/text/oneLine';
import {
  subagentFigures,
  subagentPlace,
  subagentsOf
} from '../../../state/inspector/subagents';
import { SmallButton } from '../../controls/buttons';
import { useHost } from '../../host';
import { useInspection } from '../controls/inspection';

/** Draws what each sent and cost; nothing for an item that started none. */
export function StartedSubagents({ item }: { item: number }) {
  const { words } = useHost();
  const { view, source, goTo } = useInspection();
  const subagents = subagentsOf(view, item);
  return (
    <>
      {view.missing_subagents.includes(item) && (
        <p>
          {words.__(
            'It started a subagent whose session is not there: what that sent and cost is not known.'
          )}
        </p>
      )}
      {subagents.map(subagent => (
        <p key={subagent.session}>
          {words.__('It started a subagent:')}{' '}
          <bdi>{oneLine(subagent.title) || subagent.session}</bdi>,{' '}
          {subagentFigures(view, [subagent])}.{' '}
          {source.subagentSource?.(subagent.session) === null ? (
            <span className="plm-Muted">
              {words.__('Its requests are not in this report.')}
            </span>
          ) : (
            <SmallButton
              onClick={() => {
                goTo(subagentPlace(subagent.session));
              }}
            >
              {words.__('Open its inspector')}
            </SmallButton>
          )}
        </p>
      ))}
    </>
  );
}

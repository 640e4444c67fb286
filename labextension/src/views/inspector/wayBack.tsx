/** The way from a subagent back to the session whose call started it. */
import { SmallButton } from '../controls/buttons';
import { useHost } from '../host';

/** Draws the button. */
export function WayBack({ onLeave }: { onLeave: () => void }) {
  const { words } = useHost();
  return (
    <p className="plm-Inspector-wayBack">
      <span className="plm-Muted">
        {words.__('A subagent, with a window of its own.')}
      </span>{' '}
      <SmallButton onClick={onLeave}>
        {words.__('◂ Back to the session that started it')}
      </SmallButton>
    </p>
  );
}

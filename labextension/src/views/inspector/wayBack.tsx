/** The way from a subagent back to the session whose call started it. */
import { useHost } from '../host';

/** Draws the button. */
export function WayBack({ onLeave }: { onLeave: () => void }) {
  const { words } = useHost();
  return (
    <p className="plm-Inspector-wayBack">
      <span className="plm-Muted">
        {words.__('A subagent, with a window of its own.')}
      </span>{' '}
      <button
        type="button"
        className="plm-Button plm-Button-small"
        onClick={onLeave}
      >
        {words.__('◂ Back to the session that started it')}
      </button>
    </p>
  );
}

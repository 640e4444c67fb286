/** A button on each prompt that forks the session before it. */
import { LinkButton } from '../controls/buttons';
import { useHost } from '../host';
import { useSessionActionsIfOffered } from '../actions/sessions';

/** Draws the button of a prompt; nothing in a read-only session. */
export function ForkButton({
  session,
  target
}: {
  session: string;
  target: string;
}) {
  const { words } = useHost();
  const sessions = useSessionActionsIfOffered();
  if (sessions === null) {
    return null;
  }
  return (
    <LinkButton
      className="plm-ForkButton"
      aria-label={words.__('Fork here')}
      title={words.__(
        'Begin a new session with all that came before this prompt; this one stays as it is'
      )}
      onClick={() => {
        sessions.fork(session, target);
      }}
    >
      {words.__('Fork')}
    </LinkButton>
  );
}

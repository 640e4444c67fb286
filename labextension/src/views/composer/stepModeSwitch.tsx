/** The switch for step mode, in which each request waits until a person lets it go. */
import { useHeldRequestActions } from '../actions/heldRequests';
import { useHost } from '../host';

/** Draws the switch of a session; `%agent step` switches the same. */
export function StepModeSwitch({ isOn }: { isOn: boolean }) {
  const { words } = useHost();
  const actions = useHeldRequestActions();
  if (actions === null) {
    return null;
  }
  return (
    <button
      type="button"
      role="switch"
      className="plm-Picker-chip plm-StepModeSwitch"
      aria-checked={isOn}
      title={
        isOn
          ? words.__(
              'Each request is held, and shown with its cost, until you send it. Switch off: requests are sent at once'
            )
          : words.__(
              'Requests are sent at once. Switch on: each is held, and shown with its cost, until you send it'
            )
      }
      onClick={() => {
        actions.setStepMode(!isOn);
      }}
    >
      <span className="plm-StepModeSwitch-track" aria-hidden="true" />
      {words.__('Step mode')}
    </button>
  );
}

/** The state of a tool call as an icon, distinguished by shape and name, not by colour alone. */
import type { ICallOutcome } from '../../state/lines/callOutcomes';
import { useHost, type IWords } from '../host';

export type CallState = ICallOutcome['status'] | 'waiting';

/** Draws the icon of a call's state, with a label for screen readers. */
export function StatusIcon({ state }: { state: CallState }) {
  const { Icon, words } = useHost();
  return (
    <span className="plm-StatusIcon" data-state={state}>
      <span aria-hidden="true" className="plm-StatusIcon-picture">
        {state === 'completed' && <Icon name="done" />}
        {state === 'error' && <Icon name="failed" />}
        {state === 'stopped' && <Icon name="stopped" />}
      </span>
      <span className="plm-Hidden">{stateName(state, words)}</span>
    </span>
  );
}

function stateName(state: CallState, words: IWords): string {
  switch (state) {
    case 'pending':
      return words.__('being written');
    case 'running':
      return words.__('running');
    case 'waiting':
      return words.__('waiting for you');
    case 'completed':
      return words.__('done');
    case 'error':
      return words.__('failed');
    case 'refused':
      return words.__('refused');
    case 'stopped':
      return words.__('stopped');
  }
}

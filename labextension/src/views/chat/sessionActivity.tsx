/** A session's current activity in a word. */
import { isBusy } from '../../state/session/status';
import type { ITranscript } from '../../state/store/transcript';
import { useHost, type IWords } from '../host';
import { StatusIcon, type CallState } from '../controls/statusIcon';

/** Draws the activity as an icon and a word; nothing while the session is idle. */
export function SessionActivity({ transcript }: { transcript: ITranscript }) {
  const { words } = useHost();
  const { asks, questions, status } = transcript;
  if (!isBusy(transcript)) {
    return null;
  }
  const state: CallState =
    asks.length + questions.length > 0
      ? 'waiting'
      : status.type === 'retry'
        ? 'pending'
        : 'running';
  return (
    <span className="plm-Panel-status">
      <StatusIcon state={state} />
      <span aria-hidden={state !== 'pending'}>
        {activityName(state, words)}
      </span>
    </span>
  );
}

function activityName(state: CallState, words: IWords): string {
  switch (state) {
    case 'waiting':
      return words.__('waiting for you');
    case 'pending':
      return words.__('tries again');
    case 'completed':
    case 'error':
    case 'refused':
    case 'running':
    case 'stopped':
      return words.__('running');
  }
}

/**
 * A session's current activity in a word.
 */
import { wholeSeconds } from '../../state/display/numberFormat';
import { isBusy } from '../../state/session/status';
import type { ITranscript } from '../../state/store/transcript';
import { useHost, type IWords } from '../host';
import { useNow } from '../controls/elapsedTime';
import { StatusIcon, type CallState } from '../controls/statusIcon';

/** Draws the icon and the word; nothing while the session is idle. */
export function SessionActivity({ transcript }: { transcript: ITranscript }) {
  const { words } = useHost();
  const { asks, questions, status } = transcript;
  const next = status.type === 'retry' ? status.next : null;
  const now = useNow(next === null ? null : 1000);
  const left = next === null ? 0 : Math.max(0, Math.ceil((next - now) / 1000));
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
    <span
      className="plm-Panel-status"
      title={status.type === 'retry' ? status.message : undefined}
    >
      <StatusIcon state={state} />
      <span aria-hidden={state !== 'pending'}>{named(state, left, words)}</span>
    </span>
  );
}

function named(state: CallState, left: number, words: IWords): string {
  switch (state) {
    case 'waiting':
      return words.__('waiting for you');
    case 'pending':
      return words.__('tries again in %1', wholeSeconds(left));
    case 'completed':
    case 'error':
    case 'refused':
    case 'running':
    case 'stopped':
      return words.__('running');
  }
}

/**
 * The line under an answer that is still being written: what the agent waits for, and Stop.
 */
import type { Message, Status } from '../protocol/generated';
import { useActions } from './actions';
import { useNow } from './elapsed';
import { useHost, type IWords } from './host';
import { Sign } from './sign';

export interface IFootProps {
  messages: readonly Message[];
  status: Status;
  /** Why nothing is written at this moment. */
  problem?: string;
  /** A question waits for a person. */
  asks: boolean;
}

/** Draws the line; its button stops the turn. */
export function Foot({ messages, status, problem, asks }: IFootProps) {
  const { words } = useHost();
  const actions = useActions();
  return (
    <div className="plm-Foot">
      <Sign state={asks ? 'waiting' : 'running'} />
      <span className="plm-Foot-words">
        {problem !== undefined ? (
          problem
        ) : status.type === 'retry' ? (
          <Countdown
            message={status.message}
            attempt={status.attempt + 1}
            next={status.next}
          />
        ) : (
          doing(messages, asks, words)
        )}
      </span>
      {actions?.stop !== undefined && (
        <button
          type="button"
          className="plm-Button plm-Stop"
          onClick={() => {
            actions.stop?.();
          }}
        >
          {words.__('Stop')}
        </button>
      )}
    </div>
  );
}

function Countdown({
  message,
  attempt,
  next
}: {
  message: string;
  attempt: number;
  next: number;
}) {
  const { words } = useHost();
  const left = Math.max(0, Math.ceil((next - useNow()) / 1000));
  return <>{words.__('%1 Attempt %2 in %3 s.', message, attempt, left)}</>;
}

function doing(
  messages: readonly Message[],
  asks: boolean,
  words: IWords
): string {
  if (asks) {
    return words.__('waits for your answer');
  }
  const newest = messages.at(-1);
  if (newest?.info.role === 'assistant' && newest.info.summary) {
    return words.__('summarises what came before');
  }
  const last = newest?.parts.findLast(({ type }) => type !== 'step-start');
  if (last?.type === 'tool') {
    return last.state.status === 'running' || last.state.status === 'pending'
      ? words.__('works')
      : words.__('waits for the model');
  }
  return last?.type === 'text' || last?.type === 'reasoning'
    ? words.__('writes')
    : words.__('waits for the model');
}

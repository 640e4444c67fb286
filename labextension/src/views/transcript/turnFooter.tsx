/**
 * The line under a running answer: the agent's activity, and a stop button.
 */
import type { Message, Status } from '../../protocol/generated';
import { wholeSeconds } from '../../state/display/numberFormat';
import { useTurnActionsIfOffered } from '../actions/turn';
import { useNow } from '../controls/elapsedTime';
import { useHost, type IWords } from '../host';
import { StatusIcon } from '../controls/statusIcon';

interface ITurnFooterProps {
  messages: readonly Message[];
  status: Status;
  /** The reason why nothing is being written, if any. */
  problem?: string;
  /** Whether a question waits for the user. */
  asks: boolean;
  /** Whether a stop button is drawn here; the panel has one of its own. */
  stoppable: boolean;
}

/** Draws the line; its button stops the turn. */
export function TurnFooter({
  messages,
  status,
  problem,
  asks,
  stoppable
}: ITurnFooterProps) {
  const { words } = useHost();
  const turn = useTurnActionsIfOffered();
  return (
    <div className="plm-TurnFooter">
      <StatusIcon state={asks ? 'waiting' : 'running'} />
      <span className="plm-TurnFooter-text">
        {problem !== undefined ? (
          problem
        ) : status.type === 'retry' ? (
          <Countdown
            message={isTold(messages) ? '' : status.message}
            attempt={status.attempt + 1}
            next={status.next}
          />
        ) : (
          <Activity messages={messages} asks={asks} />
        )}
      </span>
      {stoppable && turn !== null && (
        <button
          type="button"
          className="plm-Button plm-Stop"
          onClick={() => {
            turn.stop();
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
  const when = words.__('Attempt %1 in %2.', attempt, wholeSeconds(left));
  return <>{message === '' ? when : `${message} ${when}`}</>;
}

/** Returns whether the line above the footer says already why it is tried again. */
function isTold(messages: readonly Message[]): boolean {
  return messages.at(-1)?.parts.at(-1)?.type === 'retry';
}

/** A shorter wait for the model is shown without a number, in milliseconds. */
const SHORT_MS = 3000;

function Activity({
  messages,
  asks
}: {
  messages: readonly Message[];
  asks: boolean;
}) {
  const { words } = useHost();
  const said = doing(messages, asks, words);
  const since = asks ? undefined : waitsSince(messages);
  return (
    <>
      {said}
      {since !== undefined && <Since moment={since} />}
    </>
  );
}

/** Draws the elapsed time of a long wait; hidden from screen readers. */
function Since({ moment }: { moment: number }) {
  const passed = useNow(1000) - moment;
  return passed < SHORT_MS ? null : (
    <span aria-hidden="true">{` · ${wholeSeconds(passed / 1000)}`}</span>
  );
}

/** Returns since when the model has sent nothing; undefined while it sends, or a tool runs. */
function waitsSince(messages: readonly Message[]): number | undefined {
  const newest = messages.at(-1);
  const last = newest?.parts.findLast(({ type }) => type !== 'step-start');
  if (newest === undefined || last === undefined) {
    return newest?.info.time.created;
  }
  if (last.type === 'tool') {
    return 'time' in last.state && 'end' in last.state.time
      ? last.state.time.end
      : undefined;
  }
  return last.type === 'step-finish' && newest.info.role === 'assistant'
    ? (newest.info.time.completed ?? undefined)
    : undefined;
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
    return words.__('compacts older turns');
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

/** The line under a running answer: the agent's activity, and a stop button. */
import type { Message, Status } from '../../protocol/generated';
import { retryReason } from '../../state/text/errorWords';
import { wholeDurationText } from '../../state/text/numberFormat';
import {
  openRun,
  reasonWords,
  type IRetryRun
} from '../../state/lines/retryRuns';
import { useTurnActionsIfOffered } from '../actions/turn';
import { OutlinedButton } from '../controls/buttons';
import { useNow } from '../controls/elapsedTime';
import { useHost, type IWords } from '../host';
import { StatusIcon } from '../controls/statusIcon';

interface ITurnFooterProps {
  messages: readonly Message[];
  status: Status;
  /** The reason why nothing is being written, if any. */
  problem?: string;
  /** Whether a question waits for the user. */
  hasAsks: boolean;
  /** Whether a stop button is drawn here; the panel has its own. */
  stoppable: boolean;
}

/** Draws the line; its button stops the turn. */
export function TurnFooter(props: ITurnFooterProps) {
  const { messages, status, problem, hasAsks, stoppable } = props;
  const { words } = useHost();
  const turn = useTurnActionsIfOffered();
  return (
    <div className="plm-TurnFooter">
      <StatusIcon state={hasAsks ? 'waiting' : 'running'} />
      <span className="plm-TurnFooter-text">
        {problem !== undefined ? (
          problem
        ) : (
          <Activity messages={messages} status={status} hasAsks={hasAsks} />
        )}
      </span>
      {stoppable && turn !== null && (
        <OutlinedButton
          className="plm-Stop"
          onClick={() => {
            turn.stop();
          }}
        >
          {words.__('Stop')}
        </OutlinedButton>
      )}
    </div>
  );
}

/** A shorter wait for the model is shown without a number, in milliseconds. */
const SHORT_MS = 3000;

function Activity({
  messages,
  status,
  hasAsks
}: Pick<ITurnFooterProps, 'messages' | 'status' | 'hasAsks'>) {
  const { words } = useHost();
  const run = openRun(messages);
  if (run !== undefined || status.type === 'retry') {
    return <Retried run={run} status={status} />;
  }
  const loading = status.type === 'busy' ? status.loading : undefined;
  const activity =
    loading === undefined
      ? activityText(messages, hasAsks, words)
      : words.__('loading what the model needs…');
  const since = hasAsks ? undefined : (loading ?? waitingSince(messages));
  return (
    <>
      {activity}
      {since !== undefined && (
        <Since moment={since} between={loading === undefined ? ' · ' : ' '} />
      )}
    </>
  );
}

/** Draws why a request is sent again, and when: the one line about it until it is answered. */
function Retried(props: { run: IRetryRun | undefined; status: Status }) {
  const { run, status } = props;
  const { words } = useHost();
  const next = status.type === 'retry' ? status.next : null;
  const now = useNow(next === null ? null : 1000);
  const why =
    run !== undefined
      ? reasonWords(run, words)
      : status.type === 'retry'
        ? retryReason(status.message)
        : '';
  const attempt =
    status.type === 'retry' ? status.attempt + 1 : (run?.failedCount ?? 0) + 1;
  const secondsLeft = Math.max(0, Math.ceil(((next ?? now) - now) / 1000));
  return (
    <>
      {why}{' '}
      {next === null ? (
        <>
          {words.__('Attempt %1 waits for the model', attempt)}
          {run?.waitEndMs !== undefined && <Since moment={run.waitEndMs} />}
        </>
      ) : (
        words.__('Attempt %1 in %2.', attempt, wholeDurationText(secondsLeft))
      )}
    </>
  );
}

/** Draws the elapsed time of a long wait; hidden from screen readers. */
function Since(props: { moment: number; between?: string }) {
  const { moment, between = ' · ' } = props;
  const passed = useNow(1000) - moment;
  return passed < SHORT_MS ? null : (
    <span aria-hidden="true">{between + wholeDurationText(passed / 1000)}</span>
  );
}

/** Returns since when the model has sent nothing; undefined while it sends, or a tool runs. */
function waitingSince(messages: readonly Message[]): number | undefined {
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

function activityText(
  messages: readonly Message[],
  hasAsks: boolean,
  words: IWords
): string {
  if (hasAsks) {
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

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
  hasStopButton: boolean;
}

/** Draws the line; its button stops the turn. */
export function TurnFooter(props: ITurnFooterProps) {
  const { messages, status, problem, hasAsks, hasStopButton } = props;
  const { words } = useHost();
  const turnActions = useTurnActionsIfOffered();
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
      {hasStopButton && turnActions !== null && (
        <OutlinedButton
          className="plm-Stop"
          onClick={() => {
            turnActions.stop();
          }}
        >
          {words.__('Stop')}
        </OutlinedButton>
      )}
    </div>
  );
}

/** A shorter wait for the model is shown without a number, in milliseconds. */
const MIN_SHOWN_MS = 3000;

const SECOND_MS = 1000;

function Activity({
  messages,
  status,
  hasAsks
}: Pick<ITurnFooterProps, 'messages' | 'status' | 'hasAsks'>) {
  const { words } = useHost();
  const run = openRun(messages);
  if (run !== undefined || status.type === 'retry') {
    return <RetryStatus run={run} status={status} />;
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
        <ElapsedWait
          since={since}
          separator={loading === undefined ? ' · ' : ' '}
        />
      )}
    </>
  );
}

/** Draws why a request is sent again, and when: the one line about it until it is answered. */
function RetryStatus(props: { run: IRetryRun | undefined; status: Status }) {
  const { run, status } = props;
  const { words } = useHost();
  const nextAttemptAt = status.type === 'retry' ? status.next : null;
  const now = useNow(nextAttemptAt === null ? null : SECOND_MS);
  const reason =
    run !== undefined
      ? reasonWords(run, words)
      : status.type === 'retry'
        ? retryReason(status.message)
        : '';
  const attempt =
    status.type === 'retry' ? status.attempt + 1 : (run?.failedCount ?? 0) + 1;
  const secondsLeft = Math.max(
    0,
    Math.ceil(((nextAttemptAt ?? now) - now) / SECOND_MS)
  );
  return (
    <>
      {reason}{' '}
      {nextAttemptAt === null ? (
        <>
          {words.__('Attempt %1 waits for the model', attempt)}
          {run?.waitEndMs !== undefined && (
            <ElapsedWait since={run.waitEndMs} />
          )}
        </>
      ) : (
        words.__('Attempt %1 in %2.', attempt, wholeDurationText(secondsLeft))
      )}
    </>
  );
}

/** Draws the elapsed time of a long wait; hidden from screen readers. */
function ElapsedWait(props: { since: number; separator?: string }) {
  const { since, separator = ' · ' } = props;
  const waitedMs = useNow(SECOND_MS) - since;
  return waitedMs < MIN_SHOWN_MS ? null : (
    <span aria-hidden="true">
      {separator + wholeDurationText(waitedMs / SECOND_MS)}
    </span>
  );
}

/** Returns since when the model has sent nothing; undefined while it sends, or a tool runs. */
function waitingSince(messages: readonly Message[]): number | undefined {
  const newest = messages.at(-1);
  const newestPart = newest?.parts.findLast(
    ({ type }) => type !== 'step-start'
  );
  if (newest === undefined || newestPart === undefined) {
    return newest?.info.time.created;
  }
  if (newestPart.type === 'tool') {
    return 'time' in newestPart.state && 'end' in newestPart.state.time
      ? newestPart.state.time.end
      : undefined;
  }
  return newestPart.type === 'step-finish' && newest.info.role === 'assistant'
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
  const newestPart = newest?.parts.findLast(
    ({ type }) => type !== 'step-start'
  );
  if (newestPart?.type === 'tool') {
    return newestPart.state.status === 'running' ||
      newestPart.state.status === 'pending'
      ? words.__('works')
      : words.__('waits for the model');
  }
  return newestPart?.type === 'text' || newestPart?.type === 'reasoning'
    ? words.__('writes')
    : words.__('waits for the model');
}

/** Errors in one sentence, with a remedy. */
import { useState } from 'react';
import type { ErrorValue, RetryPart } from '../../protocol/generated';
import { unknownKind } from '../../protocol/unknownKind';
import { errorWords, advisesOtherModel } from '../../state/text/errorWords';
import { retryWords, type IRetryRun } from '../../state/lines/retryRuns';
import { isRetryable } from '../../state/session/status';
import { useTurnActionsIfOffered, type ITurnActions } from '../actions/turn';
import { OutlinedButton } from '../controls/buttons';
import { useHost, type IWords } from '../host';
import { StatusIcon } from '../controls/statusIcon';

interface IFailureProps {
  error: ErrorValue;
  /** How many attempts failed with it. */
  attempts?: number;
  /** Whether it ended the newest turn, so that the request can be retried. */
  canRetry?: boolean;
}

/** Draws the error that ended a step. */
export function Failure(props: IFailureProps) {
  const { error, attempts = 1, canRetry = false } = props;
  const { words } = useHost();
  const turnActions = useTurnActionsIfOffered();
  const isStopped = error.type === 'aborted';
  const offersRetry = canRetry && turnActions !== null && isRetryable(error);
  const text = errorWords(error.message, offersRetry);
  const advice =
    offersRetry || advisesOtherModel(text) ? '' : adviceFor(error, words);
  return (
    <div
      className="plm-Failure"
      role="note"
      data-state={isStopped ? 'stopped' : 'error'}
    >
      <StatusIcon state={isStopped ? 'stopped' : 'error'} />
      <span>
        {text}
        {attempts > 1 && (
          <span className="plm-Failure-advice">
            {' '}
            {words.__('Tried %1 times.', attempts)}
          </span>
        )}
        {advice !== '' && <span className="plm-Failure-advice"> {advice}</span>}
      </span>
      {offersRetry && <RetryButton turnActions={turnActions} />}
    </div>
  );
}

/** Draws a button that sends the same request again. */
function RetryButton({ turnActions }: { turnActions: ITurnActions }) {
  const { words } = useHost();
  const [isSent, setSent] = useState(false);
  const [problem, setProblem] = useState('');
  return (
    <>
      <OutlinedButton
        className="plm-RetryButton"
        disabled={isSent}
        title={words.__(
          'Send the same request again. What was said and done before it stays.'
        )}
        onClick={() => {
          setSent(true);
          setProblem('');
          void turnActions.retry().then(failureText => {
            setSent(false);
            setProblem(failureText);
          });
        }}
      >
        {words.__('Retry')}
      </OutlinedButton>
      {problem !== '' && (
        <span className="plm-Failure-problem" role="alert">
          {problem}
        </span>
      )}
    </>
  );
}

/** Draws a note that the answer above was stopped. */
export function StoppedNotice({ text }: { text: string }) {
  return (
    <div className="plm-Failure" role="note" data-state="stopped">
      <StatusIcon state="stopped" />
      <span>{text}</span>
    </div>
  );
}

/** Draws failed and retried requests in one line, or a notice that another model was asked instead. */
export function RetryNote(props: {
  part: RetryPart;
  run: IRetryRun | undefined;
}) {
  const { part, run } = props;
  const { words } = useHost();
  return (
    <div className="plm-Failure" role="note" data-state="retry">
      <StatusIcon state="pending" />
      <span>
        {run === undefined
          ? errorWords(part.error.message)
          : retryWords(run, words)}
      </span>
    </div>
  );
}

function adviceFor(error: ErrorValue, words: IWords): string {
  switch (error.type) {
    case 'auth':
      return error.message.includes('environment variable')
        ? words.__('Or choose another model.')
        : words.__(
            'Set the key of %1 in the environment and restart the kernel, or choose another model.',
            error.provider
          );
    case 'output-length':
      return words.__('Ask it to go on, or ask for less at once.');
    case 'context-overflow':
      return words.__('Begin a new session, or ask about less at once.');
    case 'api':
      return error.retryable
        ? words.__('Try it again in a while.')
        : words.__('Ask again, or choose another model.');
    case 'content-filter':
      return words.__('Say it in other words, or choose another model.');
    case 'structured-output':
      return words.__(
        'Ask again, ask for a simpler form, or choose another model.'
      );
    case 'aborted':
    case 'unknown':
      return '';
    default:
      return unknownKind(error, '');
  }
}

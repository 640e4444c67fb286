/**
 * What went wrong, in one sentence, and what to do about it.
 */
import type { ErrorValue, RetryPart } from '../protocol/generated';
import { seconds } from '../state/format';
import { useHost, type IWords } from './host';
import { Sign } from './sign';

/** Draws the error that ended a step. */
export function Failure({ error }: { error: ErrorValue }) {
  const { words } = useHost();
  const stopped = error.type === 'aborted';
  const advice = whatToDo(error, words);
  return (
    <div
      className="plm-Failure"
      role="note"
      data-state={stopped ? 'stopped' : 'error'}
    >
      <Sign state={stopped ? 'stopped' : 'error'} />
      <span>
        {error.message}
        {advice !== '' && <span className="plm-Failure-advice"> {advice}</span>}
      </span>
    </div>
  );
}

/** Draws that nobody goes on with what is above. */
export function Stopped({ words: said }: { words: string }) {
  return (
    <div className="plm-Failure" role="note" data-state="stopped">
      <Sign state="stopped" />
      <span>{said}</span>
    </div>
  );
}

/** Draws a request that failed and was sent again. */
export function Retry({ part }: { part: RetryPart }) {
  const { words } = useHost();
  const { attempt, error, time } = part;
  const waited = time.end === undefined ? null : (time.end - time.start) / 1000;
  return (
    <div className="plm-Failure" role="note" data-state="retry">
      <Sign state="pending" />
      <span>
        {waited === null
          ? words.__('Attempt %1 failed: %2', attempt, error.message)
          : words.__(
              'Attempt %1 failed, the next one came after %2: %3',
              attempt,
              seconds(waited),
              error.message
            )}
      </span>
    </div>
  );
}

function whatToDo(error: ErrorValue, words: IWords): string {
  switch (error.type) {
    case 'auth':
      return words.__(
        'Set the key of %1 in the environment and restart the kernel, or choose another model with -m.',
        error.provider
      );
    case 'output-length':
      return words.__('Ask it to go on, or ask for less at once.');
    case 'context-overflow':
      return words.__(
        'Start a new session with --new, or ask about less at once.'
      );
    case 'api':
      return error.retryable ? words.__('Run the cell again in a while.') : '';
    case 'content-filter':
      return words.__(
        'Say it in other words, or choose another model with -m.'
      );
    default:
      return '';
  }
}

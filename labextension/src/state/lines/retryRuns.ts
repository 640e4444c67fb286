/**
 * A request that was sent again and again: how often it failed, why, how long it waited and how it ended.
 *
 * Each failed attempt is a part of its own; a reader sees one line for all attempts in a row. The kernel has the
 * same rule in transcript/retry_runs.py; both are tested on tests/fixtures/retry_runs.json.
 */
import type {
  ErrorValue,
  Message,
  Part,
  RetryPart
} from '../../protocol/generated';
import { retryReason } from '../text/errorWords';
import { durationText } from '../text/numberFormat';
import type { ITranslations } from '../text/translations';

/** Different reasons that a line names; some servers write a new number into each. */
const MAX_REASONS = 3;

type RetryEnd = 'open' | 'answered' | 'failed' | 'stopped';

/** Failed attempts in a row, each followed by a wait and another attempt. */
export interface IRetryRun {
  /** The id of the first attempt's part. */
  firstId: string;
  /** Why they failed, without repetitions, in order. */
  reasons: readonly string[];
  /** How many attempts failed. */
  failedCount: number;
  /** All waits together, in seconds; undefined where one is not known. */
  waitedSeconds: number | undefined;
  /** When the newest wait ended, in milliseconds since 1970. */
  waitEndMs: number | undefined;
  end: RetryEnd;
}

/** Where the failed attempts of one message are shown. */
export interface IRetryLines {
  /** By the id of the last part of each run; an attempt that is in neither is a notice of its own. */
  runs: ReadonlyMap<string, IRetryRun>;
  /** Ids of the attempts that another line includes: the line of a later attempt, or of the error. */
  mergedIds: ReadonlySet<string>;
  /** How many attempts failed with the error that ended the message. */
  errorAttempts: number;
}

/** Returns where failed attempts are shown; `isOver`: no further parts follow. */
export function retryLines(
  parts: readonly Part[],
  error: ErrorValue | undefined,
  isOver: boolean
): IRetryLines {
  const runs = new Map<string, IRetryRun>();
  const mergedIds = new Set<string>();
  const stepEndIndex = parts.findLastIndex(
    ({ type }) => type === 'step-finish'
  );
  let attempts: RetryPart[] = [];
  let errorAttempts = 1;
  const closeRun = (ended: RetryEnd) => {
    const last = attempts.at(-1);
    if (last !== undefined) {
      runs.set(last.id, runOf(attempts, ended));
      attempts.slice(0, -1).forEach(({ id }) => mergedIds.add(id));
      attempts = [];
    }
  };
  parts.forEach((part, index) => {
    if (part.type === 'retry' && !isFallback(part)) {
      attempts.push(part);
    } else if (!isOfFailedAttempt(part)) {
      closeRun(
        error === undefined || stepEndIndex >= index
          ? 'answered'
          : endByError(error)
      );
    }
  });
  const hasSameError = attempts.every(
    attempt => attempt.error.message === error?.message
  );
  if (attempts.length > 0 && hasSameError) {
    errorAttempts += attempts.length;
    attempts.forEach(({ id }) => mergedIds.add(id));
  } else {
    closeRun(
      error !== undefined ? endByError(error) : isOver ? 'answered' : 'open'
    );
  }
  return { runs, mergedIds, errorAttempts };
}

/** Returns the attempts at the end of an answer of which none was answered yet; undefined if there are none. */
export function openRun(messages: readonly Message[]): IRetryRun | undefined {
  const { info, parts } = messages.at(-1) ?? {};
  if (info?.role !== 'assistant' || parts === undefined) {
    return undefined;
  }
  const isOver = info.time.completed !== undefined;
  const { runs } = retryLines(parts, info.error, isOver);
  return [...runs.values()].find(({ end }) => end === 'open');
}

/** Returns a run in one line: its reasons, how often it failed and how it ended. */
export function retryWords(run: IRetryRun, words: ITranslations): string {
  const { end, failedCount, waitedSeconds } = run;
  return `${reasonWords(run, words)} ${endWords(end, failedCount, waitedSeconds, words)}`;
}

/** Returns why the attempts of a run failed, each reason once. */
export function reasonWords(
  { reasons }: IRetryRun,
  words: ITranslations
): string {
  const sentences = [...new Set(reasons.map(retryReason).map(asSentence))].map(
    (text, index, all) => withoutServer(text, all[index - 1])
  );
  const unnamedCount = sentences.length - MAX_REASONS;
  return [
    sentences.slice(0, MAX_REASONS).join(` ${words.__('Then:')} `),
    unnamedCount > 0
      ? words._n('And another reason.', 'And %1 other reasons.', unnamedCount)
      : ''
  ]
    .filter(piece => piece !== '')
    .join(' ');
}

/** Returns a reason without the server that the reason before it names. */
function withoutServer(reason: string, reasonBefore = ''): string {
  const serverPrefix = /^\S+ answered /.exec(reason)?.[0];
  return serverPrefix !== undefined && reasonBefore.startsWith(serverPrefix)
    ? reason.slice(serverPrefix.length)
    : reason;
}

function endWords(
  ended: RetryEnd,
  failed: number,
  waited: number | undefined,
  words: ITranslations
): string {
  const failures = words._n('Failed once', 'Failed %1 times', failed);
  switch (ended) {
    case 'open':
      return words.__('%1; it is sent again.', failures);
    case 'answered':
      return waited === undefined
        ? words.__('%1; then answered.', failures)
        : words.__(
            '%1; answered after %2 of waiting.',
            failures,
            durationText(waited)
          );
    case 'stopped':
      return words.__('%1, then stopped.', failures);
    case 'failed':
      return words.__('%1, then for good.', failures);
  }
}

function asSentence(reason: string): string {
  const text = reason.trim();
  return /[.!?…]$/.test(text) ? text : `${text}.`;
}

function runOf(attempts: readonly RetryPart[], end: RetryEnd): IRetryRun {
  const waits = attempts.map(({ time: { end, start } }) =>
    end === undefined ? undefined : end - start
  );
  const knownWaits = waits.filter(wait => wait !== undefined);
  return {
    firstId: attempts[0]?.id ?? '',
    reasons: [...new Set(attempts.map(({ error }) => error.message))],
    failedCount: attempts.length,
    waitedSeconds:
      knownWaits.length === waits.length
        ? knownWaits.reduce((sum, wait) => sum + wait, 0) / 1000
        : undefined,
    waitEndMs: attempts.at(-1)?.time.end,
    end
  };
}

/** Returns whether the request went to something else at once, such as another model, without a wait. */
export function isFallback({ time }: RetryPart): boolean {
  return time.end === time.start;
}

function endByError(error: ErrorValue): RetryEnd {
  return error.type === 'aborted' ? 'stopped' : 'failed';
}

/** Returns whether a part is of an attempt that failed, or the mark of a step. */
function isOfFailedAttempt(part: Part): boolean {
  return (
    part.type === 'step-start' ||
    part.type === 'snapshot' ||
    ('metadata' in part && part.metadata?.failed_attempt !== undefined)
  );
}

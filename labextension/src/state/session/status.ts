/**
 * How a session stands: how full the window is, what it cost, what waits for a person.
 */
import type {
  Ask,
  ErrorValue,
  Message,
  StepFinishPart
} from '../../protocol/generated';
import type { ITranscript } from '../store/transcript';
import { isUndone } from './contextEdits';

export interface IWindowUsage {
  used: number;
  window: number;
  /** Tokens by kind, adding up to what is used; empty where the kernel tells none. */
  kinds: Readonly<Partial<Record<string, number>>>;
  /** Kept free for the answer. */
  reserve: number;
  /** A compaction came since: it is what the next request takes, about. */
  compacted?: boolean;
}

/** Returns how full the window was at the newest request, and of what; null before the first. */
export function windowUsage(transcript: ITranscript): IWindowUsage | null {
  const before = atRequest(transcript);
  const saved = before === null ? null : savedSince(transcript);
  return before === null || saved === null
    ? before
    : {
        ...before,
        used: Math.max(saved.after, before.used - saved.before + saved.after),
        kinds: {},
        compacted: true
      };
}

function atRequest({ contextFill, entries }: ITranscript): IWindowUsage | null {
  const measured = reported(entries, contextFill?.message_id);
  if (contextFill === undefined || contextFill.tokens <= 0) {
    return measured === null
      ? null
      : { used: measured.used, window: measured.window, kinds: {}, reserve: 0 };
  }
  const { kinds, reserve, tokens, window } = contextFill;
  const used = measured?.used ?? tokens;
  // The kinds are our own count; the provider's number says how long they are together.
  const scaled = Object.entries(kinds).map(
    ([kind, estimated]) =>
      [kind, Math.round((estimated * used) / tokens)] as const
  );
  return { used, window, kinds: Object.fromEntries(scaled), reserve };
}

/** Returns what a compaction made of the history after the newest request, in tokens. */
function savedSince({
  decisions,
  contextFill,
  entries
}: ITranscript): { before: number; after: number } | null {
  const at =
    contextFill === undefined
      ? (reported(entries)?.at ?? entries.length)
      : entries.findLastIndex(({ id }) => id === contextFill.message_id);
  if (at < 0) {
    return null;
  }
  for (const { message } of entries.slice(at + 1).toReversed()) {
    const { info } = message;
    if (info === undefined || !isSummary(message)) {
      continue;
    }
    const made = decisions.findLast(
      ({ action, message_id }) =>
        action === 'summarise' && message_id === info.id
    );
    if (made !== undefined && !isUndone(decisions, info.id)) {
      return { before: made.tokens_before, after: made.tokens_after };
    }
  }
  return null;
}

/** A summary is written in a request of its own, which says nothing of the conversation's window. */
function isSummary({ info }: Pick<Partial<Message>, 'info'>): boolean {
  return info?.role === 'assistant' && info.summary;
}

/** Finds what the provider reported, of one message or of the newest answer that has a report. */
function reported(
  entries: ITranscript['entries'],
  messageId?: string
): { used: number; window: number; at: number } | null {
  const from =
    messageId === undefined
      ? entries.length - 1
      : entries.findLastIndex(({ id }) => id === messageId);
  // A long session is not looked through for a message that reports nothing yet.
  const to = messageId === undefined ? 0 : Math.max(0, from);
  for (let at = from; at >= to; at -= 1) {
    const message = entries[at]?.message;
    if (
      message === undefined ||
      (messageId === undefined && isSummary(message))
    ) {
      continue;
    }
    const part = message.parts.findLast(
      (one): one is Reporting =>
        one.type === 'step-finish' &&
        one.context_tokens !== undefined &&
        one.window !== undefined
    );
    if (part !== undefined) {
      return { used: part.context_tokens, window: part.window, at };
    }
  }
  return null;
}

type Reporting = StepFinishPart & { context_tokens: number; window: number };

/** Tells whether sending the same again may help, and nothing else must be done first. */
export function isRetryable(error: ErrorValue): boolean {
  return error.type === 'unknown' || (error.type === 'api' && error.retryable);
}

/** Returns the error that ended the newest answer; undefined when it did not fail. */
export function lastError(
  messages: readonly Message[]
): ErrorValue | undefined {
  const info = messages.at(-1)?.info;
  return info?.role === 'assistant' ? info.error : undefined;
}

/** Returns the questions whose tool call is not in the transcript, such as those of a sub-agent. */
export function unattachedAsks({ asks, entries }: ITranscript): Ask[] {
  const calls = new Set(
    asks.length === 0
      ? []
      : entries.flatMap(({ message }) =>
          message.parts.flatMap(part =>
            part.type === 'tool' ? [part.call_id] : []
          )
        )
  );
  return asks.filter(
    ({ call_id }) => call_id === undefined || !calls.has(call_id)
  );
}

/** Tells whether something was said that a summary could stand for, and a person may ask for one. */
export function canCompact(transcript: ITranscript): boolean {
  const { entries, session } = transcript;
  return (
    !isBusy(transcript) &&
    entries.length > 1 &&
    session?.parent_id === undefined
  );
}

/** Tells whether a turn runs, or is about to. */
export function isBusy({ status }: ITranscript): boolean {
  return status.type !== 'idle';
}

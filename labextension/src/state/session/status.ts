/** Computes a session's status: context usage, last error, open questions, and whether it is busy. */
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
  /** Tokens by kind, which add up to `used`; empty if the kernel reports none. */
  kinds: Readonly<Partial<Record<string, number>>>;
  /** Tokens kept free for the answer. */
  reserve: number;
  /** Whether a compaction followed: then `used` estimates the next request. */
  compacted?: boolean;
}

/** Returns the context usage at the newest request, by kind; null before the first one. */
export function windowUsage(transcript: ITranscript): IWindowUsage | null {
  const before = atRequest(transcript);
  const compacted = before === null ? null : savedSince(transcript);
  return before === null || compacted === null
    ? before
    : {
        ...before,
        used: Math.max(
          compacted.after,
          before.used - compacted.before + compacted.after
        ),
        kinds: {},
        compacted: true
      };
}

function atRequest({ contextFill, entries }: ITranscript): IWindowUsage | null {
  const measured = reportedUsage(entries, contextFill?.message_id);
  if (contextFill === undefined || contextFill.tokens <= 0) {
    return measured === null
      ? null
      : { used: measured.used, window: measured.window, kinds: {}, reserve: 0 };
  }
  const { kinds, reserve, tokens, window } = contextFill;
  const used = measured?.used ?? tokens;
  // The kinds are our own estimates, scaled to the total that the provider reported.
  const scaled = Object.entries(kinds).map(
    ([kind, estimated]) =>
      [kind, Math.round((estimated * used) / tokens)] as const
  );
  return { used, window, kinds: Object.fromEntries(scaled), reserve };
}

/** Returns the tokens before and after a compaction that followed the newest request. */
function savedSince({
  decisions,
  contextFill,
  entries
}: ITranscript): { before: number; after: number } | null {
  const at =
    contextFill === undefined
      ? (reportedUsage(entries)?.at ?? entries.length)
      : entries.findLastIndex(({ id }) => id === contextFill.message_id);
  if (at < 0) {
    return null;
  }
  for (const { message } of entries.slice(at + 1).toReversed()) {
    const { info } = message;
    if (info === undefined || !isSummary(message)) {
      continue;
    }
    const summaryDecision = decisions.findLast(
      ({ action, message_id }) =>
        action === 'summarise' && message_id === info.id
    );
    if (summaryDecision !== undefined && !isUndone(decisions, info.id)) {
      return {
        before: summaryDecision.tokens_before,
        after: summaryDecision.tokens_after
      };
    }
  }
  return null;
}

/** A summary has a request of its own, whose size is not that of the conversation. */
function isSummary({ info }: Pick<Partial<Message>, 'info'>): boolean {
  return info?.role === 'assistant' && info.summary;
}

/** Returns the reported usage of one message, or of the newest answer with a report. */
function reportedUsage(
  entries: ITranscript['entries'],
  messageId?: string
): { used: number; window: number; at: number } | null {
  const from =
    messageId === undefined
      ? entries.length - 1
      : entries.findLastIndex(({ id }) => id === messageId);
  // For a given message, earlier ones of a long session are not searched.
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
      (candidate): candidate is Reporting =>
        candidate.type === 'step-finish' &&
        candidate.context_tokens !== undefined &&
        candidate.window !== undefined
    );
    if (part !== undefined) {
      return { used: part.context_tokens, window: part.window, at };
    }
  }
  return null;
}

type Reporting = StepFinishPart & { context_tokens: number; window: number };

/** Returns whether the same request may succeed without any other action. */
export function isRetryable(error: ErrorValue): boolean {
  return error.type === 'unknown' || (error.type === 'api' && error.retryable);
}

/** Returns the error that ended the newest answer; undefined if it did not fail. */
export function lastError(
  messages: readonly Message[]
): ErrorValue | undefined {
  const info = messages.at(-1)?.info;
  return info?.role === 'assistant' ? info.error : undefined;
}

/** Returns the questions whose tool call is not in the transcript, such as those of a subagent. */
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

/** Returns whether there is something to compact and the user may ask for it. */
export function canCompact(transcript: ITranscript): boolean {
  const { entries, session } = transcript;
  return (
    !isBusy(transcript) &&
    entries.length > 1 &&
    session?.parent_id === undefined
  );
}

/** Returns whether a turn runs or is about to. */
export function isBusy({ status }: ITranscript): boolean {
  return status.type !== 'idle';
}

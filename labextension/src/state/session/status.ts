/** Computes a session's status: context usage, last error, open questions, and whether it is busy. */
import type {
  Ask,
  ErrorValue,
  Message,
  StepFinishPart
} from '../../protocol/generated';
import type { ITranscript } from '../store/transcript';
import { isSummaryUndone } from './contextEdits';

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
  const usageBefore = requestUsage(transcript);
  const saving = usageBefore === null ? null : compactionSizes(transcript);
  return usageBefore === null || saving === null
    ? usageBefore
    : {
        ...usageBefore,
        used: Math.max(
          saving.after,
          usageBefore.used - saving.before + saving.after
        ),
        kinds: {},
        compacted: true
      };
}

function requestUsage({
  contextFill,
  entries
}: ITranscript): IWindowUsage | null {
  const reported = reportedUsage(entries, contextFill?.message_id);
  if (contextFill === undefined || contextFill.tokens <= 0) {
    return reported === null
      ? null
      : {
          used: reported.used,
          window: reported.windowTokens,
          kinds: {},
          reserve: 0
        };
  }
  const { kinds, reserve, tokens, window } = contextFill;
  const used = reported?.used ?? tokens;
  // The kinds are our own estimates, scaled to the total that the provider reported.
  const scaledKinds = Object.entries(kinds).map(
    ([kind, estimate]) =>
      [kind, Math.round((estimate * used) / tokens)] as const
  );
  return { used, window, kinds: Object.fromEntries(scaledKinds), reserve };
}

/** Returns the tokens before and after a compaction that followed the newest request. */
function compactionSizes({
  decisions,
  contextFill,
  entries
}: ITranscript): { before: number; after: number } | null {
  const requestIndex =
    contextFill === undefined
      ? (reportedUsage(entries)?.entryIndex ?? entries.length)
      : entries.findLastIndex(({ id }) => id === contextFill.message_id);
  if (requestIndex < 0) {
    return null;
  }
  for (const { message } of entries.slice(requestIndex + 1).toReversed()) {
    const { info } = message;
    if (info === undefined || !isSummary(message)) {
      continue;
    }
    const summaryDecision = decisions.findLast(
      ({ action, message_id }) =>
        action === 'summarise' && message_id === info.id
    );
    if (summaryDecision !== undefined && !isSummaryUndone(decisions, info.id)) {
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
): { used: number; windowTokens: number; entryIndex: number } | null {
  const startIndex =
    messageId === undefined
      ? entries.length - 1
      : entries.findLastIndex(({ id }) => id === messageId);
  // For a given message, earlier ones of a long session are not searched.
  const endIndex = messageId === undefined ? 0 : Math.max(0, startIndex);
  for (let entryIndex = startIndex; entryIndex >= endIndex; entryIndex -= 1) {
    const message = entries[entryIndex]?.message;
    if (
      message === undefined ||
      (messageId === undefined && isSummary(message))
    ) {
      continue;
    }
    const usageReport = message.parts.findLast(
      (candidate): candidate is UsageReport =>
        candidate.type === 'step-finish' &&
        candidate.context_tokens !== undefined &&
        candidate.window !== undefined
    );
    if (usageReport !== undefined) {
      return {
        used: usageReport.context_tokens,
        windowTokens: usageReport.window,
        entryIndex
      };
    }
  }
  return null;
}

type UsageReport = StepFinishPart & { context_tokens: number; window: number };

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
  const callIds = new Set(
    asks.length === 0
      ? []
      : entries.flatMap(({ message }) =>
          message.parts.flatMap(part =>
            part.type === 'tool' ? [part.call_id] : []
          )
        )
  );
  return asks.filter(
    ({ call_id }) => call_id === undefined || !callIds.has(call_id)
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

/** Computes which messages of a session are reverted and not yet removed, as session/revert/plan.py does. */
import type {
  FileDiff,
  MessageInfo,
  SessionInfo,
  SessionHead
} from '../../protocol/generated';
import type { ISegment } from '../../protocol/segment';
import type { ISessionView } from '../store/kernelStore';
import type { ITranscript } from '../store/transcript';

export interface IRevertedMessages {
  /** The first message that is reverted, wholly or from one of its parts on. */
  message: string;
  /** The part from which on the message is reverted; otherwise all of it is. */
  part?: string;
  /** The messages that are reverted completely. */
  messages: ReadonlySet<string>;
  /** Files that were left alone, since they had been changed elsewhere. */
  kept: readonly string[];
  /** Files that the revert changed. */
  files: readonly string[];
}

/** How much of a section is reverted; `removed` is final. */
export type RevertedExtent = 'whole' | 'part' | 'removed' | undefined;

/** Returns the reverted messages; null if there are none. */
export function revertedMessages({
  entries,
  session
}: Pick<ITranscript, 'entries' | 'session'>): IRevertedMessages | null {
  const revert: SessionInfo['revert'] = session?.revert;
  const message = revert?.message_id;
  if (revert === undefined || typeof message !== 'string') {
    return null;
  }
  const part = typeof revert.part_id === 'string' ? revert.part_id : undefined;
  const first = entries.findIndex(({ id }) => id === message);
  const revertedEntries =
    first < 0 ? [] : entries.slice(part === undefined ? first : first + 1);
  return {
    message,
    part,
    messages: new Set(revertedEntries.map(({ id }) => id)),
    kept: stringsIn(revert.kept),
    files: stringsIn(revert.files)
  };
}

/** Returns the entries without what is reverted. */
export function withoutReverted(
  transcript: Pick<ITranscript, 'entries' | 'session'>
): ITranscript['entries'] {
  const { entries } = transcript;
  const reverted = revertedMessages(transcript);
  if (reverted === null) {
    return entries;
  }
  return entries
    .filter(({ id }) => !reverted.messages.has(id))
    .map(entry => {
      const { message } = entry;
      const first = message.parts.findIndex(({ id }) => id === reverted.part);
      return entry.id !== reverted.message || first < 0
        ? entry
        : {
            ...entry,
            message: { ...message, parts: message.parts.slice(0, first) }
          };
    });
}

/** Returns how much of these messages is reverted. */
export function revertedExtent(
  reverted: IRevertedMessages | null,
  messages: readonly string[]
): RevertedExtent {
  if (reverted === null) {
    return undefined;
  }
  if (messages.some(id => reverted.messages.has(id))) {
    return messages.every(id => reverted.messages.has(id)) ? 'whole' : 'part';
  }
  return messages.includes(reverted.message) ? 'part' : undefined;
}

/**
 * Returns whether a session no longer holds a saved segment of it, nor its prompt.
 *
 * For a session that is known only in part, this cannot be decided here.
 */
export function isRemoved(
  { messages, open, seq, turn }: ISegment,
  { head, transcript }: Pick<ISessionView, 'head' | 'transcript'>
): boolean {
  const { entries, seq: known } = transcript;
  // An older kernel does not report whether the session is partial.
  if ((head as Partial<SessionHead>).partial !== false) {
    return false;
  }
  if (open || messages.length === 0 || turn === '' || known < seq[1]) {
    return false;
  }
  const ids = new Set([turn, ...messages.map(({ info }) => info.id)]);
  return !entries.some(({ id }) => ids.has(id));
}

/** Returns a turn's changes to files, from its prompt's message. */
export function changesOf(info: MessageInfo | undefined): readonly FileDiff[] {
  const diffs = info?.role === 'user' ? info.summary?.diffs : undefined;
  return readChanges(diffs);
}

/** Reads file changes; any other value counts as none. */
function readChanges(diffs: unknown): readonly FileDiff[] {
  if (!Array.isArray(diffs)) {
    return NONE;
  }
  return diffs.every(isDiff) ? diffs : diffs.filter(isDiff);
}

const NONE: readonly FileDiff[] = [];

function isDiff(value: unknown): value is FileDiff {
  return (
    typeof value === 'object' &&
    value !== null &&
    'file' in value &&
    typeof value.file === 'string'
  );
}

function stringsIn(value: unknown): string[] {
  return Array.isArray(value)
    ? value.filter(value => typeof value === 'string')
    : [];
}

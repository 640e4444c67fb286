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
  messageId: string;
  /** The part from which on the message is reverted; otherwise all of it is. */
  partId?: string;
  /** The messages that are reverted completely. */
  messageIds: ReadonlySet<string>;
  /** Files that were left alone, since they had been changed elsewhere. */
  unchangedFiles: readonly string[];
  /** Files that the revert changed. */
  changedFiles: readonly string[];
}

/** How much of a section is reverted; `removed` is final. */
export type RevertedExtent = 'whole' | 'part' | 'removed' | undefined;

/** Returns the reverted messages; null if there are none. */
export function revertedMessages({
  entries,
  session
}: Pick<ITranscript, 'entries' | 'session'>): IRevertedMessages | null {
  const revert: SessionInfo['revert'] = session?.revert;
  const messageId = revert?.message_id;
  if (revert === undefined || typeof messageId !== 'string') {
    return null;
  }
  const partId =
    typeof revert.part_id === 'string' ? revert.part_id : undefined;
  const firstIndex = entries.findIndex(({ id }) => id === messageId);
  const revertedEntries =
    firstIndex < 0
      ? []
      : entries.slice(partId === undefined ? firstIndex : firstIndex + 1);
  return {
    messageId,
    partId,
    messageIds: new Set(revertedEntries.map(({ id }) => id)),
    unchangedFiles: stringsIn(revert.kept),
    changedFiles: stringsIn(revert.files)
  };
}

/** Returns the entries without what is reverted. */
export function withoutReverted(
  transcript: Pick<ITranscript, 'entries' | 'session'>
): ITranscript['entries'] {
  const { entries } = transcript;
  const revertedPart = revertedMessages(transcript);
  if (revertedPart === null) {
    return entries;
  }
  return entries
    .filter(({ id }) => !revertedPart.messageIds.has(id))
    .map(entry => {
      const { message } = entry;
      const firstIndex = message.parts.findIndex(
        ({ id }) => id === revertedPart.partId
      );
      return entry.id !== revertedPart.messageId || firstIndex < 0
        ? entry
        : {
            ...entry,
            message: { ...message, parts: message.parts.slice(0, firstIndex) }
          };
    });
}

/** Returns how much of these messages is reverted. */
export function revertedExtent(
  reverted: IRevertedMessages | null,
  messageIds: readonly string[]
): RevertedExtent {
  if (reverted === null) {
    return undefined;
  }
  if (messageIds.some(id => reverted.messageIds.has(id))) {
    return messageIds.every(id => reverted.messageIds.has(id))
      ? 'whole'
      : 'part';
  }
  return messageIds.includes(reverted.messageId) ? 'part' : undefined;
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
  const { entries, seq: knownSeq } = transcript;
  // An older kernel does not report whether the session is partial.
  if ((head as Partial<SessionHead>).partial !== false) {
    return false;
  }
  if (open || messages.length === 0 || turn === '' || knownSeq < seq[1]) {
    return false;
  }
  const segmentIds = new Set([turn, ...messages.map(({ info }) => info.id)]);
  return !entries.some(({ id }) => segmentIds.has(id));
}

/** Returns a turn's changes to files, from its prompt's message. */
export function turnFileChanges(
  info: MessageInfo | undefined
): readonly FileDiff[] {
  const diffs = info?.role === 'user' ? info.summary?.diffs : undefined;
  return fileChangesIn(diffs);
}

/** Reads file changes; any other value counts as none. */
function fileChangesIn(diffs: unknown): readonly FileDiff[] {
  if (!Array.isArray(diffs)) {
    return NO_CHANGES;
  }
  return diffs.every(isDiff) ? diffs : diffs.filter(isDiff);
}

const NO_CHANGES: readonly FileDiff[] = [];

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

/**
 * What a session has taken back and not yet removed; session/revert/plan.py says the same.
 */
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
  /** The first message that is taken back, or of which a part is. */
  message: string;
  /** The part from which on it is taken back; else all of the message is. */
  part?: string;
  /** The messages that are taken back whole. */
  messages: ReadonlySet<string>;
  /** Files that were left alone, since somebody else had changed them. */
  kept: readonly string[];
  /** Files that the revert changed. */
  files: readonly string[];
}

/** How much of a stretch is taken back; `removed` is for good. */
export type RevertedExtent = 'whole' | 'part' | 'removed' | undefined;

/** Returns what is taken back; null when nothing is. */
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
  const gone =
    first < 0 ? [] : entries.slice(part === undefined ? first : first + 1);
  return {
    message,
    part,
    messages: new Set(gone.map(({ id }) => id)),
    kept: names(revert.kept),
    files: names(revert.files)
  };
}

/** Says how much of these messages is taken back. */
export function revertedExtent(
  taken: IRevertedMessages | null,
  messages: readonly string[]
): RevertedExtent {
  if (taken === null) {
    return undefined;
  }
  if (messages.some(id => taken.messages.has(id))) {
    return messages.every(id => taken.messages.has(id)) ? 'whole' : 'part';
  }
  return messages.includes(taken.message) ? 'part' : undefined;
}

/**
 * Tells whether a session no longer holds a saved stretch of it, nor the prompt it answers.
 *
 * Of a session that is told in part only, nobody here can tell.
 */
export function isRemoved(
  { messages, open, seq, turn }: ISegment,
  { head, transcript }: Pick<ISessionView, 'head' | 'transcript'>
): boolean {
  const { entries, seq: known } = transcript;
  // A kernel of an older version does not say which it is.
  if ((head as Partial<SessionHead>).partial !== false) {
    return false;
  }
  if (open || messages.length === 0 || turn === '' || known < seq[1]) {
    return false;
  }
  const told = new Set([turn, ...messages.map(({ info }) => info.id)]);
  return !entries.some(({ id }) => told.has(id));
}

/** Returns what a turn did to files, as its prompt's message tells. */
export function changesOf(info: MessageInfo | undefined): readonly FileDiff[] {
  const diffs = info?.role === 'user' ? info.summary?.diffs : undefined;
  return readChanges(diffs);
}

/** Reads what became of files; anything else is nothing. */
function readChanges(diffs: unknown): readonly FileDiff[] {
  if (!Array.isArray(diffs)) {
    return NONE;
  }
  return diffs.every(isDiff) ? diffs : diffs.filter(isDiff);
}

const NONE: readonly FileDiff[] = [];

function isDiff(one: unknown): one is FileDiff {
  return (
    typeof one === 'object' &&
    one !== null &&
    'file' in one &&
    typeof one.file === 'string'
  );
}

function names(value: unknown): string[] {
  return Array.isArray(value)
    ? value.filter(one => typeof one === 'string')
    : [];
}

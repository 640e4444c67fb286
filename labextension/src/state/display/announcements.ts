/** Computes announcements for screen readers while an answer streams: whole sentences and events, each once. */
import type {
  AssistantMessage,
  Part,
  TextPart,
  ToolPart
} from '../../protocol/generated';
import { callOutcome, type ICallOutcome } from '../lines/callOutcomes';
import { errorWords, retryReason } from '../text/errorWords';
import { isNotice } from '../lines/lines';
import { isFallback } from '../lines/retryRuns';
import { spokenText, sentenceEnd } from '../text/spokenText';
import { callSubject } from '../lines/toolCalls';
import { promptText } from './turns';
import { readSubjectOf } from './workRows';
import type { ITranscript } from '../store/transcript';
import { isReturned } from '../session/queue';

export type Announcement =
  | { kind: 'words'; text: string }
  | {
      kind: 'call';
      tool: string;
      subject: string;
      outcome: ICallOutcome;
    }
  /** Consecutive calls that only read: announced together, as a row of work shows them. */
  | { kind: 'looks'; calls: readonly ToolPart[] }
  /** A request failed and is sent again. */
  | { kind: 'retry'; reason: string }
  | { kind: 'asks'; title: string }
  | { kind: 'held'; number: number; tokens: number }
  /** A prompt was queued behind the running turn; `waiting` is the number of queued prompts. */
  | { kind: 'queued'; queuedCount: number }
  /** A stop returned this number of queued prompts to the composer. */
  | { kind: 'back'; promptCount: number }
  | { kind: 'begun' }
  | { kind: 'over' }
  /** The turn ended with an error, which was announced before. */
  | { kind: 'stopped' };

/** The announcements of a session made so far. */
export interface IAnnouncementState {
  sessionId: string;
  /** The number of announced characters of each text part. */
  spokenUpTo: ReadonlyMap<string, number>;
  /** Ids of announced calls, questions, ended answers, and begun prompts. */
  announcedIds: ReadonlySet<string>;
  isBusy: boolean;
  /** Whether a turn was announced as begun and not as over; between queued turns the session is busy, too. */
  isTurnAnnounced: boolean;
  /** The processed entries; an unchanged entry needs no new look while the turn runs. */
  entries: ITranscript['entries'];
}

/** Returns what is new since `before`; the first call for a session returns nothing. */
export function newAnnouncements(
  transcript: ITranscript,
  before: IAnnouncementState | null
): [Announcement[], IAnnouncementState] {
  const sessionId = transcript.session?.id ?? '';
  const isFirst = before?.sessionId !== sessionId;
  const isBusy = transcript.status.type !== 'idle';
  const spokenUpTo = new Map(isFirst ? [] : before.spokenUpTo);
  const announcedIds = new Set(isFirst ? [] : before.announcedIds);
  let isTurnAnnounced = isFirst ? isBusy : before.isTurnAnnounced;
  const announcements: Announcement[] = [];
  const announceBegin = () => {
    if (!isTurnAnnounced && !isFirst) {
      isTurnAnnounced = true;
      announcements.push({ kind: 'begun' });
    }
  };
  const announceEnd = (kind: 'over' | 'stopped') => {
    if (isTurnAnnounced && !isFirst) {
      announcements.push({ kind });
    }
    isTurnAnnounced = false;
  };
  if (isBusy && before?.isBusy !== true) {
    announceBegin();
  }
  const unchangedEntries =
    isFirst || before.isBusy !== isBusy ? [] : before.entries;
  const newestAnswer = transcript.entries.findLast(
    ({ message }) => message.info?.role === 'assistant'
  );
  for (const [index, entry] of transcript.entries.entries()) {
    const { info, parts } = entry.message;
    if (unchangedEntries[index] === entry || info === undefined) {
      continue;
    }
    if (info.role !== 'assistant') {
      if (!announcedIds.has(entry.id) && promptText(entry) !== null) {
        announcedIds.add(entry.id);
        if (isBusy) {
          announceBegin();
        }
      }
      continue;
    }
    if (info.summary) {
      continue;
    }
    const isStreaming =
      isBusy && entry === newestAnswer && info.time.completed === undefined;
    if (isFirst) {
      // Existing content can be read in the panel and is not announced.
      markAsSpoken(parts, spokenUpTo, announcedIds, isStreaming);
    } else {
      const additions = announceParts(
        parts,
        transcript.replies,
        spokenUpTo,
        announcedIds,
        isStreaming
      );
      if (additions.length > 0) {
        announceBegin();
        announcements.push(...additions);
      }
    }
    if (endsTurn(info) && !announcedIds.has(info.id)) {
      announcedIds.add(info.id);
      if (info.error !== undefined && !isFirst) {
        announceBegin();
        announcements.push({
          kind: 'words',
          text: errorWords(info.error.message)
        });
      }
      announceEnd(info.error === undefined ? 'over' : 'stopped');
    }
  }
  const announce = (id: string, announcement: Announcement) => {
    if (!announcedIds.has(id)) {
      announcedIds.add(id);
      announcements.push(announcement);
    }
  };
  for (const { id, title, warnings } of transcript.asks) {
    const sentences = [title, ...(warnings ?? [])];
    announce(id, { kind: 'asks', title: sentences.join(' ') });
  }
  for (const { question_id, questions } of transcript.questions) {
    const title = questions.map(({ question }) => question).join(' ');
    announce(question_id, { kind: 'asks', title });
  }
  for (const { id, number, tokens } of transcript.held) {
    announce(id, { kind: 'held', number, tokens });
  }
  // A prompt that begins a turn is in the inbox, too, until the turn has begun.
  const newQueuedCount =
    isFirst || (isBusy && (before.isBusy || hasBegun(transcript)))
      ? countNewPrompts(transcript.inbox, 'queued', announcedIds)
      : 0;
  if (newQueuedCount > 0 && !isFirst) {
    announcements.push({
      kind: 'queued',
      queuedCount: transcript.inbox.length
    });
  }
  const newReturnedCount = countNewPrompts(
    transcript.stopped.filter(isReturned),
    'back',
    announcedIds
  );
  if (newReturnedCount > 0 && !isFirst) {
    announcements.push({ kind: 'back', promptCount: newReturnedCount });
  }
  if (!isBusy) {
    announceEnd('over');
  }
  const { entries } = transcript;
  return [
    mergeLooks(announcements),
    { sessionId, spokenUpTo, announcedIds, isBusy, isTurnAnnounced, entries }
  ];
}

/** Returns whether an answer is the last of its turn. */
function endsTurn({ error, stopped_by }: AssistantMessage): boolean {
  return error !== undefined || stopped_by !== undefined;
}

/** Merges consecutive announcements of calls that only read. */
function mergeLooks(announcements: readonly Announcement[]): Announcement[] {
  const merged: Announcement[] = [];
  for (const announcement of announcements) {
    const last = merged.at(-1);
    if (announcement.kind === 'looks' && last?.kind === 'looks') {
      merged[merged.length - 1] = {
        kind: 'looks',
        calls: [...last.calls, ...announcement.calls]
      };
    } else {
      merged.push(announcement);
    }
  }
  return merged;
}

/** Counts the prompts that were not announced as such before, and marks them. */
function countNewPrompts(
  prompts: ITranscript['inbox'],
  keyPrefix: string,
  announcedIds: Set<string>
): number {
  const newKeys = prompts
    .map(({ prompt_id }) => `${keyPrefix} ${prompt_id}`)
    .filter(key => !announcedIds.has(key));
  newKeys.forEach(key => announcedIds.add(key));
  return newKeys.length;
}

/** Marks existing content as announced; of streaming text only the complete sentences. */
function markAsSpoken(
  parts: readonly Part[],
  spokenUpTo: Map<string, number>,
  announcedIds: Set<string>,
  isStreaming: boolean
): void {
  for (const [index, part] of parts.entries()) {
    if (isSpoken(part)) {
      spokenUpTo.set(
        part.id,
        spokenEnd(part, isStreaming && index === parts.length - 1)
      );
    } else if (
      part.type === 'retry' ||
      (part.type === 'tool' && isCallOver(part))
    ) {
      announcedIds.add(part.id);
    }
  }
}

function announceParts(
  parts: readonly Part[],
  replies: ITranscript['replies'],
  spokenUpTo: Map<string, number>,
  announcedIds: Set<string>,
  isStreaming: boolean
): Announcement[] {
  return parts.flatMap((part, index): Announcement[] => {
    if (isSpoken(part)) {
      const start = spokenUpTo.get(part.id) ?? 0;
      if (start >= part.text.length) {
        return [];
      }
      const end = spokenEnd(part, isStreaming && index === parts.length - 1);
      const text = spokenText(part.text, start, end);
      spokenUpTo.set(part.id, Math.max(start, end));
      return text === '' ? [] : [{ kind: 'words', text }];
    }
    if (part.type === 'retry' && !announcedIds.has(part.id)) {
      announcedIds.add(part.id);
      const reason = retryReason(part.error.message);
      // Announced once, however often the same server gives the same answer.
      const isNewReason = !announcedIds.has(`${part.message_id} ${reason}`);
      announcedIds.add(`${part.message_id} ${reason}`);
      return !isNewReason
        ? []
        : isFallback(part)
          ? [{ kind: 'words', text: reason }]
          : [{ kind: 'retry', reason }];
    }
    if (
      part.type === 'tool' &&
      isCallOver(part) &&
      !announcedIds.has(part.id)
    ) {
      announcedIds.add(part.id);
      const outcome = callOutcome(part, replies[part.call_id]);
      if (outcome.status === 'completed' && readSubjectOf(part) !== undefined) {
        return [{ kind: 'looks', calls: [part] }];
      }
      return [
        { kind: 'call', tool: part.tool, subject: callSubject(part), outcome }
      ];
    }
    return [];
  });
}

/** Returns the index up to which a text is announced: while it streams, only whole sentences. */
function spokenEnd({ text }: TextPart, isStreaming: boolean): number {
  return isStreaming ? sentenceEnd(text) : text.length;
}

/** Returns whether a part is text of the agent, or a notice to the user. */
function isSpoken(part: Part): part is TextPart {
  return part.type === 'text' && (!part.synthetic || isNotice(part));
}

/** Returns whether a turn has begun and its newest message is not complete. */
function hasBegun({ entries }: ITranscript): boolean {
  const info = entries.at(-1)?.message.info;
  return (
    info?.role === 'user' ||
    (info?.role === 'assistant' && info.time.completed === undefined)
  );
}

function isCallOver({ state }: ToolPart): boolean {
  return state.status === 'completed' || state.status === 'error';
}

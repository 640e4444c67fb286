/**
 * Computes announcements for screen readers while an answer streams: whole sentences and events, each
 * once.
 */
import type {
  AssistantMessage,
  Part,
  TextPart,
  ToolPart
} from '../../protocol/generated';
import { callOutcome, type ICallOutcome } from './callOutcomes';
import { errorWords, retryReason } from './errorWords';
import { isNotice } from './lines';
import { isOtherWay } from './retryRuns';
import { spokenText, sentenceEnd } from './spokenText';
import { subject } from './toolCalls';
import { said } from './turns';
import { lookOf } from './workRows';
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
  /** Calls that only looked, one after the other: told together, as a row of work shows them. */
  | { kind: 'looks'; calls: readonly ToolPart[] }
  /** A request failed and is sent again. */
  | { kind: 'retry'; reason: string }
  | { kind: 'asks'; title: string }
  | { kind: 'held'; number: number; tokens: number }
  /** A prompt was queued behind the running turn; so many wait. */
  | { kind: 'queued'; waiting: number }
  /** A stop gave so many prompts back. */
  | { kind: 'back'; prompts: number }
  | { kind: 'begun' }
  | { kind: 'over' }
  /** The turn ended with an error, which was announced before. */
  | { kind: 'stopped' };

/** What was announced of a session so far. */
export interface IAnnounced {
  session: string;
  /** The number of announced characters of each text part. */
  read: ReadonlyMap<string, number>;
  /** Ids of announced calls, questions, ended answers, and begun prompts. */
  told: ReadonlySet<string>;
  busy: boolean;
  /** Whether a turn was announced as begun and not as over: the session is busy between queued turns, too. */
  begun: boolean;
  /** The processed entries; an unchanged entry needs no new look while the turn runs. */
  entries: ITranscript['entries'];
}

/** Returns what is new since `before`; the first call for a session returns nothing. */
export function newAnnouncements(
  transcript: ITranscript,
  before: IAnnounced | null
): [Announcement[], IAnnounced] {
  const session = transcript.session?.id ?? '';
  const fresh = before?.session !== session;
  const busy = transcript.status.type !== 'idle';
  const read = new Map(fresh ? [] : before.read);
  const told = new Set(fresh ? [] : before.told);
  let begun = fresh ? busy : before.begun;
  const found: Announcement[] = [];
  const begin = () => {
    if (!begun && !fresh) {
      begun = true;
      found.push({ kind: 'begun' });
    }
  };
  const end = (kind: 'over' | 'stopped') => {
    if (begun && !fresh) {
      found.push({ kind });
    }
    begun = false;
  };
  if (busy && before?.busy !== true) {
    begin();
  }
  const known = fresh || before.busy !== busy ? [] : before.entries;
  const newest = transcript.entries.findLast(
    ({ message }) => message.info?.role === 'assistant'
  );
  for (const [index, place] of transcript.entries.entries()) {
    const { info, parts } = place.message;
    if (known[index] === place || info === undefined) {
      continue;
    }
    if (info.role !== 'assistant') {
      if (!told.has(place.id) && said(place) !== null) {
        told.add(place.id);
        if (busy) {
          begin();
        }
      }
      continue;
    }
    if (info.summary) {
      continue;
    }
    const grows = busy && place === newest && info.time.completed === undefined;
    if (fresh) {
      // Existing content can be read in the panel and is not announced.
      skip(parts, read, told, grows);
    } else {
      const news = ofParts(parts, transcript.replies, read, told, grows);
      if (news.length > 0) {
        begin();
        found.push(...news);
      }
    }
    if (hasEnded(info) && !told.has(info.id)) {
      told.add(info.id);
      if (info.error !== undefined && !fresh) {
        begin();
        found.push({ kind: 'words', text: errorWords(info.error.message) });
      }
      end(info.error === undefined ? 'over' : 'stopped');
    }
  }
  for (const ask of transcript.asks) {
    if (!told.has(ask.id)) {
      told.add(ask.id);
      const title = [ask.title, ...(ask.warnings ?? [])].join(' ');
      found.push({ kind: 'asks', title });
    }
  }
  for (const { question_id, questions } of transcript.questions) {
    if (!told.has(question_id)) {
      told.add(question_id);
      const title = questions.map(({ question }) => question).join(' ');
      found.push({ kind: 'asks', title });
    }
  }
  for (const { id, number, tokens } of transcript.held) {
    if (!told.has(id)) {
      told.add(id);
      found.push({ kind: 'held', number, tokens });
    }
  }
  // A prompt that begins a turn is in the inbox, too, until the turn has begun.
  const queued =
    fresh || (busy && (before.busy || hasBegun(transcript)))
      ? unheard(transcript.inbox, 'queued', told)
      : 0;
  if (queued > 0 && !fresh) {
    found.push({ kind: 'queued', waiting: transcript.inbox.length });
  }
  const back = unheard(transcript.stopped.filter(isReturned), 'back', told);
  if (back > 0 && !fresh) {
    found.push({ kind: 'back', prompts: back });
  }
  if (!busy) {
    end('over');
  }
  const { entries } = transcript;
  return [together(found), { session, read, told, busy, begun, entries }];
}

/** Returns whether this is the last answer of its turn. */
function hasEnded({ error, stopped_by }: AssistantMessage): boolean {
  return error !== undefined || stopped_by !== undefined;
}

/** Merges announcements of calls that only looked. */
function together(found: readonly Announcement[]): Announcement[] {
  const merged: Announcement[] = [];
  for (const one of found) {
    const last = merged.at(-1);
    if (one.kind === 'looks' && last?.kind === 'looks') {
      merged[merged.length - 1] = {
        kind: 'looks',
        calls: [...last.calls, ...one.calls]
      };
    } else {
      merged.push(one);
    }
  }
  return merged;
}

/** Counts the prompts that were not announced as such before, and marks them. */
function unheard(
  prompts: ITranscript['inbox'],
  as: string,
  told: Set<string>
): number {
  const fresh = prompts
    .map(({ prompt_id }) => `${as} ${prompt_id}`)
    .filter(key => !told.has(key));
  fresh.forEach(key => told.add(key));
  return fresh.length;
}

/** Marks existing content as announced; of streaming text only the complete sentences. */
function skip(
  parts: readonly Part[],
  read: Map<string, number>,
  told: Set<string>,
  grows: boolean
): void {
  for (const [index, part] of parts.entries()) {
    if (isSpoken(part)) {
      read.set(part.id, spokenEnd(part, grows && index === parts.length - 1));
    } else if (
      part.type === 'retry' ||
      (part.type === 'tool' && isOver(part))
    ) {
      told.add(part.id);
    }
  }
}

function ofParts(
  parts: readonly Part[],
  replies: ITranscript['replies'],
  read: Map<string, number>,
  told: Set<string>,
  grows: boolean
): Announcement[] {
  return parts.flatMap((part, index): Announcement[] => {
    if (isSpoken(part)) {
      const from = read.get(part.id) ?? 0;
      if (from >= part.text.length) {
        return [];
      }
      const to = spokenEnd(part, grows && index === parts.length - 1);
      const text = spokenText(part.text, from, to);
      read.set(part.id, Math.max(from, to));
      return text === '' ? [] : [{ kind: 'words', text }];
    }
    if (part.type === 'retry' && !told.has(part.id)) {
      told.add(part.id);
      const reason = retryReason(part.error.message);
      // Said once, however often the same server gives the same answer.
      const isNews = !told.has(`${part.message_id} ${reason}`);
      told.add(`${part.message_id} ${reason}`);
      return !isNews
        ? []
        : isOtherWay(part)
          ? [{ kind: 'words', text: reason }]
          : [{ kind: 'retry', reason }];
    }
    if (part.type === 'tool' && isOver(part) && !told.has(part.id)) {
      told.add(part.id);
      const outcome = callOutcome(part, replies[part.call_id]);
      if (outcome.status === 'completed' && lookOf(part) !== undefined) {
        return [{ kind: 'looks', calls: [part] }];
      }
      return [
        { kind: 'call', tool: part.tool, subject: subject(part), outcome }
      ];
    }
    return [];
  });
}

/** Returns the index up to which a text is said: while it grows, whole sentences. */
function spokenEnd({ text }: TextPart, grows: boolean): number {
  return grows ? sentenceEnd(text) : text.length;
}

/** Whether a part is text of the agent, or a notice to the user. */
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

function isOver({ state }: ToolPart): boolean {
  return state.status === 'completed' || state.status === 'error';
}

/**
 * Computes announcements for screen readers while an answer streams: whole sentences and events, each
 * once.
 */
import type { Part, TextPart, ToolPart } from '../../protocol/generated';
import { callOutcome, type ICallOutcome } from './callOutcomes';
import { isNotice } from './lines';
import { spokenText, sentenceEnd } from './spokenText';
import { subject } from './toolCalls';
import type { ITranscript } from '../store/transcript';

export type Announcement =
  | { kind: 'words'; text: string }
  | {
      kind: 'call';
      tool: string;
      subject: string;
      outcome: ICallOutcome;
    }
  | { kind: 'asks'; title: string }
  | { kind: 'held'; number: number; tokens: number }
  | { kind: 'begun' }
  | { kind: 'over' }
  /** The turn ended with an error, which was announced before. */
  | { kind: 'stopped' };

/** What was announced of a session so far. */
export interface IAnnounced {
  session: string;
  /** The number of announced characters of each text part. */
  read: ReadonlyMap<string, number>;
  /** Ids of announced calls, questions, and failed answers. */
  told: ReadonlySet<string>;
  busy: boolean;
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
  const found: Announcement[] = [];
  if (!fresh && busy && !before.busy) {
    found.push({ kind: 'begun' });
  }
  const known = fresh || before.busy !== busy ? [] : before.entries;
  for (const [index, place] of transcript.entries.entries()) {
    const { info, parts } = place.message;
    if (known[index] === place || info?.role !== 'assistant' || info.summary) {
      continue;
    }
    if (fresh) {
      // Existing content can be read in the panel and is not announced.
      skip(parts, read, told, busy && place === transcript.entries.at(-1));
      if (info.error !== undefined) {
        told.add(info.id);
      }
    } else {
      found.push(...ofParts(parts, transcript.replies, read, told, busy));
      if (info.error !== undefined && !told.has(info.id)) {
        told.add(info.id);
        found.push({ kind: 'words', text: info.error.message });
      }
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
  if (!fresh && !busy && before.busy) {
    found.push({ kind: hasFailed(transcript) ? 'stopped' : 'over' });
  }
  const { entries } = transcript;
  return [found, { session, read, told, busy, entries }];
}

/** Marks existing content as announced; of streaming text only the complete sentences. */
function skip(
  parts: readonly Part[],
  read: Map<string, number>,
  told: Set<string>,
  grows: boolean
): void {
  for (const part of parts) {
    if (isSpoken(part)) {
      read.set(part.id, grows ? sentenceEnd(part.text) : part.text.length);
    } else if (part.type === 'tool' && isOver(part)) {
      told.add(part.id);
    }
  }
}

function ofParts(
  parts: readonly Part[],
  replies: ITranscript['replies'],
  read: Map<string, number>,
  told: Set<string>,
  busy: boolean
): Announcement[] {
  return parts.flatMap((part): Announcement[] => {
    if (isSpoken(part)) {
      const from = read.get(part.id) ?? 0;
      if (from >= part.text.length) {
        return [];
      }
      const to = busy ? sentenceEnd(part.text) : part.text.length;
      const text = spokenText(part.text, from, to);
      read.set(part.id, Math.max(from, to));
      return text === '' ? [] : [{ kind: 'words', text }];
    }
    if (part.type === 'tool' && isOver(part) && !told.has(part.id)) {
      told.add(part.id);
      const outcome = callOutcome(part, replies[part.call_id]);
      return [
        { kind: 'call', tool: part.tool, subject: subject(part), outcome }
      ];
    }
    return [];
  });
}

/** Whether a part is text of the agent, or a notice to the user. */
function isSpoken(part: Part): part is TextPart {
  return part.type === 'text' && (!part.synthetic || isNotice(part));
}

function hasFailed({ entries }: ITranscript): boolean {
  const info = entries.at(-1)?.message.info;
  return info?.role === 'assistant' && info.error !== undefined;
}

function isOver({ state }: ToolPart): boolean {
  return state.status === 'completed' || state.status === 'error';
}

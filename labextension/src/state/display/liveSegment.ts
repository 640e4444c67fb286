/**
 * A saved segment, drawn from what the page was told since: the same stretch of the same turn.
 *
 * The kernel cuts a turn into segments around the figures of its cell and says where; the cut is
 * repeated here on the transcript, as frontends/turn_output/segments.py does it.
 */
import type {
  Ask,
  Decision,
  Message,
  Part,
  Status
} from '../../protocol/generated';
import type { ICut, ISegment } from '../../protocol/segment';
import {
  changesOf,
  isRemoved,
  revertedMessages,
  revertedExtent,
  type RevertedExtent
} from '../session/reverts';
import { lastError, unattachedAsks } from '../session/status';
import type { IKernelView } from '../store/kernelStore';
import type { IMessageEntry, ITranscript } from '../store/transcript';

export interface IDisplayedSegment {
  segment: ISegment;
  /** Somebody still writes it. */
  live: boolean;
  /** It was being written when the kernel ended. */
  interrupted: boolean;
  /** What the agent does, under the newest segment of a turn that runs. */
  status?: Status;
  /** Why nothing is written at this moment. */
  problem?: string;
  /** Questions that belong to no call that is shown, such as those of a sub-agent. */
  stray?: readonly Ask[];
  /** How much of it is taken back. */
  taken?: RevertedExtent;
  /** It failed, and the request can be sent again. */
  again?: boolean;
}

/** Returns what to draw for a saved segment, as far as its kernel is known. */
export function displayedSegment(
  saved: ISegment,
  view: IKernelView
): IDisplayedSegment {
  const session = view.sessions.get(saved.session);
  const found = asTold(saved, view);
  if (session?.known !== true) {
    return found;
  }
  const { transcript } = session;
  const taken = isRemoved(saved, session)
    ? 'removed'
    : revertedExtent(revertedMessages(transcript), [
        saved.turn,
        ...found.segment.messages.map(({ info }) => info.id)
      ]);
  const place = transcript.entries.find(({ id }) => id === saved.turn);
  const changes = changesOf(place?.message.info);
  const isLast = saved.end === undefined && saved.start !== undefined;
  const told =
    isLast && changes.length > 0 && found.segment.changes !== changes;
  if (taken === undefined && !told) {
    return found;
  }
  const before = marked.get(found);
  if (before?.taken === taken && before?.segment.changes === changes) {
    return before;
  }
  const now = {
    ...found,
    ...(taken === undefined ? {} : { taken }),
    segment: told ? { ...found.segment, changes } : found.segment
  };
  marked.set(found, now);
  return now;
}

/** What was drawn before: an ended segment is not drawn again for every word elsewhere. */
const marked = new WeakMap<IDisplayedSegment, IDisplayedSegment>();

function asTold(saved: ISegment, view: IKernelView): IDisplayedSegment {
  const session = view.sessions.get(saved.session);
  if (isWhole(saved) && !isFailed(saved)) {
    return ended(saved, session?.known === true ? session.transcript : null);
  }
  const turn =
    session?.known === true ? turnOf(session.transcript, saved.turn) : null;
  if (session === undefined || turn === null) {
    const gone =
      saved.open &&
      view.link !== 'connecting' &&
      (view.link !== 'ready' || session?.known === true);
    return {
      segment: gone ? { ...saved, open: false, status: '' } : saved,
      live: false,
      interrupted: gone
    };
  }
  const { transcript } = session;
  const live =
    view.link === 'ready' && turn.newest && transcript.status.type !== 'idle';
  if (isWhole(saved) && isNewestOf(saved, turn.messages)) {
    const isIdle = view.link === 'ready' && transcript.status.type === 'idle';
    const again = isIdle && turn.newest && !session.head.read_only;
    return { segment: saved, live: false, interrupted: false, again };
  }
  const segment = told(saved, transcript, turn.messages, live);
  const failed = lastError(turn.messages);
  return {
    segment,
    again:
      failed !== undefined &&
      saved.end === undefined &&
      view.link === 'ready' &&
      transcript.status.type === 'idle' &&
      turn.newest &&
      !session.head.read_only,
    live,
    interrupted:
      !live && saved.end === undefined && isUnfinished(turn.messages),
    ...(segment.open
      ? {
          status: transcript.status,
          problem: session.head.problem,
          stray: unattachedAsks(transcript)
        }
      : {})
  };
}

const NONE: readonly Decision[] = [];

const toldSince = new WeakMap<
  ISegment,
  [readonly Decision[], IDisplayedSegment]
>();

/** Returns a segment to which nothing is added any more but what the model sees of it. */
function ended(
  saved: ISegment,
  transcript: ITranscript | null
): IDisplayedSegment {
  const decisions = transcript?.decisions ?? NONE;
  const before = toldSince.get(saved);
  if (before?.[0] === decisions) {
    return before[1];
  }
  const parts = new Set(
    saved.messages.flatMap(message => message.parts.map(({ id }) => id))
  );
  const messages = new Set(saved.messages.map(({ info }) => info.id));
  const about = decisions.filter(({ part_id, message_id }) =>
    part_id === undefined ? messages.has(message_id ?? '') : parts.has(part_id)
  );
  // An older version saved them without their words.
  const isSame = about.every(({ id, words }) =>
    saved.decisions.some(known => known.id === id && known.words === words)
  );
  const segment = isSame ? saved : { ...saved, decisions: about };
  const now = { segment, live: false, interrupted: false };
  toldSince.set(saved, [decisions, now]);
  return now;
}

/** Tells whether a saved segment says all that will ever be said in it. */
export function isWhole({ messages, open }: ISegment): boolean {
  return !open && messages.every(({ parts }) => parts.every(isSettled));
}

/** Tells whether a saved segment is the end of a turn that failed, which may be tried again. */
function isFailed({ end, messages, start }: ISegment): boolean {
  return (
    start !== undefined &&
    end === undefined &&
    lastError(messages) !== undefined
  );
}

/** Tells whether nothing came after the last message that was saved. */
function isNewestOf(saved: ISegment, messages: readonly Message[]): boolean {
  return saved.messages.at(-1)?.info.id === messages.at(-1)?.info.id;
}

/** Tells whether the transcript holds more of a saved segment than what was saved. */
export function isStale(saved: ISegment, transcript: ITranscript): boolean {
  if (saved.start === undefined) {
    return false;
  }
  const turn = turnOf(transcript, saved.turn);
  if (turn === null) {
    return false;
  }
  return (
    !isWhole(saved) || (isFailed(saved) && !isNewestOf(saved, turn.messages))
  );
}

interface ITurnMessages {
  /** What came after the prompt, without words of the engine in the user's place. */
  messages: Message[];
  /** No other turn came after it. */
  newest: boolean;
}

/** Finds what a session's transcript holds of a turn; null when it does not know it. */
function turnOf({ entries }: ITranscript, turn: string): ITurnMessages | null {
  const first = entries.findLastIndex(({ id }) => id === turn);
  if (turn === '' || first < 0) {
    return null;
  }
  const messages: Message[] = [];
  for (const place of entries.slice(first + 1)) {
    const message = whole(place);
    if (message === null || !isShown(message)) {
      continue;
    }
    if (begins(message, messages.at(-1))) {
      return { messages, newest: false };
    }
    messages.push(message);
  }
  return { messages, newest: true };
}

/** Cuts the messages of a turn as a segment says. */
export function cut(
  messages: readonly Message[],
  start: ICut,
  end: ICut | undefined
): Message[] {
  let number = 0;
  return messages.flatMap(message => {
    const parts: Part[] = [];
    for (const part of message.parts) {
      const found = piece(part, number, start, end);
      if (found !== null) {
        parts.push(found);
      }
      number += 1;
    }
    const endsHere =
      start.part <= number && (end === undefined || number <= end.part);
    const { info } = message;
    const failed = info.role === 'assistant' && info.error !== undefined;
    if (parts.length === 0 && !(failed && endsHere)) {
      return [];
    }
    return [{ info: failed && !endsHere ? withoutError(info) : info, parts }];
  });
}

function told(
  saved: ISegment,
  { asks, decisions, questions, replies }: ITranscript,
  messages: Message[],
  live: boolean
): ISegment {
  return {
    ...saved,
    messages:
      saved.start === undefined
        ? saved.messages
        : cut(messages, saved.start, saved.end).map(withoutFigures),
    open: live && saved.end === undefined,
    status: '',
    asks: live ? [...asks] : [],
    questions: live ? [...questions] : [],
    replies: { ...saved.replies, ...replies },
    decisions: decisions.length > 0 ? [...decisions] : saved.decisions
  };
}

function piece(
  part: Part,
  number: number,
  start: ICut,
  end: ICut | undefined
): Part | null {
  if (number < start.part || (end !== undefined && number > end.part)) {
    return null;
  }
  const ends = end !== undefined && number === end.part;
  if (ends && end.offset === 0) {
    return null;
  }
  const begins = number === start.part && start.offset > 0;
  if (part.type !== 'text' || !(begins || ends)) {
    return part;
  }
  const text = part.text.slice(
    begins ? units(part.text, start.offset) : 0,
    ends ? units(part.text, end.offset) : undefined
  );
  return {
    ...part,
    text: `${begins ? start.joint : ''}${text}${ends ? end.joint : ''}`
  };
}

/** Python counts characters; JavaScript counts those beyond the first plane twice. */
function units(text: string, characters: number): number {
  if (!/[\ud800-\udbff]/.test(text)) {
    return characters;
  }
  let place = 0;
  for (let count = 0; count < characters && place < text.length; count += 1) {
    place += (text.codePointAt(place) ?? 0) > 0xffff ? 2 : 1;
  }
  return place;
}

function withoutError(info: Message['info']): Message['info'] {
  return info.role === 'assistant' ? { ...info, error: undefined } : info;
}

/** Figures are outputs of the cell already. */
function withoutFigures(message: Message): Message {
  const hasFigures = message.parts.some(
    part =>
      part.type === 'tool' &&
      part.state.status === 'completed' &&
      part.state.attachments.length > 0
  );
  return hasFigures
    ? {
        ...message,
        parts: message.parts.map(part =>
          part.type === 'tool' && part.state.status === 'completed'
            ? { ...part, state: { ...part.state, attachments: [] } }
            : part
        )
      }
    : message;
}

function isSettled(part: Part): boolean {
  return (
    part.type !== 'tool' ||
    part.state.status === 'completed' ||
    part.state.status === 'error'
  );
}

function whole({ message }: IMessageEntry): Message | null {
  return message.info === undefined ? null : (message as Message);
}

/** What the engine wrote in the user's place is not shown. */
function isShown({ info, parts }: Message): boolean {
  return (
    info.role === 'assistant' ||
    parts.some(
      part =>
        part.type === 'compaction' || (part.type === 'text' && !part.synthetic)
    )
  );
}

/** Tells whether a message begins another turn; words that joined a turn that ran do not. */
function begins({ info }: Message, before: Message | undefined): boolean {
  if (info.role !== 'user' || info.joins === true) {
    return false;
  }
  return (
    info.origin?.kind === 'cell' || (before !== undefined && isOver(before))
  );
}

function isOver({ info }: Message): boolean {
  return (
    info.role === 'assistant' &&
    (info.error !== undefined ||
      (info.finish !== undefined &&
        info.finish !== 'tool-calls' &&
        info.finish !== 'unknown'))
  );
}

function isUnfinished(messages: readonly Message[]): boolean {
  const last = messages.findLast(({ info }) => info.role === 'assistant');
  return last === undefined || !isOver(last);
}

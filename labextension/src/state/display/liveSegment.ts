/**
 * Computes how a saved segment is displayed with the page's newer data: the same section of the same
 * turn.
 *
 * The kernel splits a turn into segments around the figures of its cell and records the positions; the
 * same split is applied to the transcript here, as in frontends/turn_output/segments.py.
 */
import type {
  Ask,
  Decision,
  Message,
  Part,
  ProposedRequest,
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
  /** Whether the segment is still being written. */
  live: boolean;
  /** Whether it was being written when the kernel ended. */
  interrupted: boolean;
  /** The agent's status, for the newest segment of a running turn. */
  status?: Status;
  /** The reason why the agent writes nothing, if any. */
  problem?: string;
  /** Open questions without a shown call, such as those of a subagent. */
  strayAsks?: readonly Ask[];
  /** Requests that step mode holds. */
  held?: readonly ProposedRequest[];
  /** How much of it is reverted. */
  reverted?: RevertedExtent;
  /** Whether it failed and the request can be retried. */
  canRetry?: boolean;
}

/** Returns how to display a saved segment, with the kernel's data where it is known. */
export function displayedSegment(
  saved: ISegment,
  view: IKernelView
): IDisplayedSegment {
  const session = view.sessions.get(saved.session);
  const displayed = segmentWithTranscript(saved, view);
  if (session?.known !== true) {
    return displayed;
  }
  const { transcript } = session;
  const reverted = isRemoved(saved, session)
    ? 'removed'
    : revertedExtent(revertedMessages(transcript), [
        saved.turn,
        ...displayed.segment.messages.map(({ info }) => info.id)
      ]);
  const entry = transcript.entries.find(({ id }) => id === saved.turn);
  const changes = changesOf(entry?.message.info);
  const isLast = saved.end === undefined && saved.start !== undefined;
  const hasNewChanges =
    isLast && changes.length > 0 && displayed.segment.changes !== changes;
  if (reverted === undefined && !hasNewChanges) {
    return displayed;
  }
  const before = revertedSegments.get(displayed);
  if (before?.reverted === reverted && before?.segment.changes === changes) {
    return before;
  }
  const updated = {
    ...displayed,
    ...(reverted === undefined ? {} : { reverted }),
    segment: hasNewChanges
      ? { ...displayed.segment, changes }
      : displayed.segment
  };
  revertedSegments.set(displayed, updated);
  return updated;
}

/** Cached results, so that a finished segment is not rendered again for changes elsewhere. */
const revertedSegments = new WeakMap<IDisplayedSegment, IDisplayedSegment>();

function segmentWithTranscript(
  saved: ISegment,
  view: IKernelView
): IDisplayedSegment {
  const session = view.sessions.get(saved.session);
  if (isWhole(saved) && !isFailed(saved)) {
    return finishedSegment(
      saved,
      session?.known === true ? session.transcript : null
    );
  }
  const turn =
    session?.known === true ? turnOf(session.transcript, saved.turn) : null;
  if (session === undefined || turn === null) {
    const isOrphaned =
      saved.open &&
      view.link !== 'connecting' &&
      view.link !== 'loading' &&
      (view.link !== 'ready' || session?.known === true);
    return {
      segment: isOrphaned ? { ...saved, open: false, status: '' } : saved,
      live: false,
      interrupted: isOrphaned
    };
  }
  const { transcript } = session;
  const live =
    view.link === 'ready' && turn.newest && transcript.status.type !== 'idle';
  if (isWhole(saved) && isNewestOf(saved, turn.messages)) {
    const isIdle = view.link === 'ready' && transcript.status.type === 'idle';
    const canRetry = isIdle && turn.newest && !session.head.read_only;
    return { segment: saved, live: false, interrupted: false, canRetry };
  }
  const segment = withTranscript(saved, transcript, turn.messages, live);
  const failed = lastError(turn.messages);
  return {
    segment,
    canRetry:
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
          strayAsks: unattachedAsks(transcript),
          held: transcript.held
        }
      : {})
  };
}

const NONE: readonly Decision[] = [];

const finishedSegments = new WeakMap<
  ISegment,
  [readonly Decision[], IDisplayedSegment]
>();

/** Returns a finished segment, in which only decisions can change. */
function finishedSegment(
  saved: ISegment,
  transcript: ITranscript | null
): IDisplayedSegment {
  const decisions = transcript?.decisions ?? NONE;
  const before = finishedSegments.get(saved);
  if (before?.[0] === decisions) {
    return before[1];
  }
  const parts = new Set(
    saved.messages.flatMap(message => message.parts.map(({ id }) => id))
  );
  const messages = new Set(saved.messages.map(({ info }) => info.id));
  const relevant = decisions.filter(({ part_id, message_id }) =>
    part_id === undefined ? messages.has(message_id ?? '') : parts.has(part_id)
  );
  // An older version saved decisions without their texts.
  const isSame = relevant.every(({ id, words }) =>
    saved.decisions.some(known => known.id === id && known.words === words)
  );
  const segment = isSame ? saved : { ...saved, decisions: relevant };
  const updated = { segment, live: false, interrupted: false };
  finishedSegments.set(saved, [decisions, updated]);
  return updated;
}

/** Returns whether a saved segment is complete. */
export function isWhole({ messages, open }: ISegment): boolean {
  return !open && messages.every(({ parts }) => parts.every(isSettled));
}

/** Returns whether a saved segment is the end of a failed turn, which may be retried. */
function isFailed({ end, messages, start }: ISegment): boolean {
  return (
    start !== undefined &&
    end === undefined &&
    lastError(messages) !== undefined
  );
}

/** Returns whether no message follows the last saved one. */
function isNewestOf(saved: ISegment, messages: readonly Message[]): boolean {
  return saved.messages.at(-1)?.info.id === messages.at(-1)?.info.id;
}

/** Returns whether the transcript has newer content for a saved segment. */
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
  /** The messages after the prompt, without synthetic user messages. */
  messages: Message[];
  /** Whether no other turn follows. */
  newest: boolean;
}

/** Returns a turn's messages in the transcript; null if the turn is unknown. */
function turnOf({ entries }: ITranscript, turn: string): ITurnMessages | null {
  const first = entries.findLastIndex(({ id }) => id === turn);
  if (turn === '' || first < 0) {
    return null;
  }
  const messages: Message[] = [];
  for (const entry of entries.slice(first + 1)) {
    const message = completeMessage(entry);
    if (message === null || !isShown(message)) {
      continue;
    }
    if (startsTurn(message, messages.at(-1))) {
      return { messages, newest: false };
    }
    messages.push(message);
  }
  return { messages, newest: true };
}

/** Returns the section of a turn's messages between two positions. */
function messagesBetween(
  messages: readonly Message[],
  start: ICut,
  end: ICut | undefined
): Message[] {
  let number = 0;
  return messages.flatMap(message => {
    const parts: Part[] = [];
    for (const part of message.parts) {
      const partPiece = partBetween(part, number, start, end);
      if (partPiece !== null) {
        parts.push(partPiece);
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

function withTranscript(
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
        : messagesBetween(messages, saved.start, saved.end).map(withoutFigures),
    open: live && saved.end === undefined,
    status: '',
    asks: live ? [...asks] : [],
    questions: live ? [...questions] : [],
    replies: { ...saved.replies, ...replies },
    decisions: decisions.length > 0 ? [...decisions] : saved.decisions
  };
}

function partBetween(
  part: Part,
  number: number,
  start: ICut,
  end: ICut | undefined
): Part | null {
  if (number < start.part || (end !== undefined && number > end.part)) {
    return null;
  }
  const isCutAtEnd = end !== undefined && number === end.part;
  if (isCutAtEnd && end.offset === 0) {
    return null;
  }
  const startsInside = number === start.part && start.offset > 0;
  if (part.type !== 'text' || !(startsInside || isCutAtEnd)) {
    return part;
  }
  const text = part.text.slice(
    startsInside ? codeUnits(part.text, start.offset) : 0,
    isCutAtEnd ? codeUnits(part.text, end.offset) : undefined
  );
  return {
    ...part,
    text: `${startsInside ? start.joint : ''}${text}${isCutAtEnd ? end.joint : ''}`
  };
}

/** Converts a number of Unicode characters, as Python counts, to UTF-16 code units. */
function codeUnits(text: string, characters: number): number {
  if (!/[\ud800-\udbff]/.test(text)) {
    return characters;
  }
  let offset = 0;
  for (let count = 0; count < characters && offset < text.length; count += 1) {
    offset += (text.codePointAt(offset) ?? 0) > 0xffff ? 2 : 1;
  }
  return offset;
}

function withoutError(info: Message['info']): Message['info'] {
  return info.role === 'assistant' ? { ...info, error: undefined } : info;
}

/** Removes figures, which are outputs of the cell already. */
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

function completeMessage({ message }: IMessageEntry): Message | null {
  return message.info === undefined ? null : (message as Message);
}

/** Returns whether a message is shown: synthetic user messages are not. */
function isShown({ info, parts }: Message): boolean {
  return (
    info.role === 'assistant' ||
    parts.some(
      part =>
        part.type === 'compaction' || (part.type === 'text' && !part.synthetic)
    )
  );
}

/** Returns whether a message begins another turn; a prompt that joined a running turn does not. */
function startsTurn({ info }: Message, before: Message | undefined): boolean {
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

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
  turnFileChanges,
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
  isLive: boolean;
  /** Whether it was being written when the kernel ended. */
  isInterrupted: boolean;
  /** The agent's status, for the newest segment of a running turn. */
  status?: Status;
  /** The reason why the agent writes nothing, if any. */
  problemText?: string;
  /** Open questions without a shown call, such as those of a subagent. */
  strayAsks?: readonly Ask[];
  /** Requests that step mode holds. */
  heldRequests?: readonly ProposedRequest[];
  /** How much of the segment is reverted. */
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
  if (session?.isLoaded !== true) {
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
  const changes = turnFileChanges(entry?.message.info);
  const isLast = saved.end === undefined && saved.start !== undefined;
  const hasNewChanges =
    isLast && changes.length > 0 && displayed.segment.changes !== changes;
  if (reverted === undefined && !hasNewChanges) {
    return displayed;
  }
  const cachedSegment = revertedSegments.get(displayed);
  if (
    cachedSegment?.reverted === reverted &&
    cachedSegment?.segment.changes === changes
  ) {
    return cachedSegment;
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
  if (isComplete(saved) && !isFailed(saved)) {
    return finishedSegment(
      saved,
      session?.isLoaded === true ? session.transcript : null
    );
  }
  const turn =
    session?.isLoaded === true
      ? turnMessagesOf(session.transcript, saved.turn)
      : null;
  if (session === undefined || turn === null) {
    const isOrphaned =
      saved.open &&
      view.link !== 'connecting' &&
      view.link !== 'loading' &&
      (view.link !== 'ready' || session?.isLoaded === true);
    return {
      segment: isOrphaned ? { ...saved, open: false, status: '' } : saved,
      isLive: false,
      isInterrupted: isOrphaned
    };
  }
  const { transcript } = session;
  const isLive =
    view.link === 'ready' && turn.isNewest && transcript.status.type !== 'idle';
  if (isComplete(saved) && isNewestOf(saved, turn.messages)) {
    const isIdle = view.link === 'ready' && transcript.status.type === 'idle';
    const canRetry = isIdle && turn.isNewest && !session.head.read_only;
    return { segment: saved, isLive: false, isInterrupted: false, canRetry };
  }
  const segment = segmentWithMessages(saved, transcript, turn.messages, isLive);
  const turnError = lastError(turn.messages);
  return {
    segment,
    canRetry:
      turnError !== undefined &&
      saved.end === undefined &&
      view.link === 'ready' &&
      transcript.status.type === 'idle' &&
      turn.isNewest &&
      !session.head.read_only,
    isLive,
    isInterrupted:
      !isLive && saved.end === undefined && isUnfinished(turn.messages),
    ...(segment.open
      ? {
          status: transcript.status,
          problemText: session.head.problem,
          strayAsks: unattachedAsks(transcript),
          heldRequests: transcript.held
        }
      : {})
  };
}

const NO_DECISIONS: readonly Decision[] = [];

const finishedSegments = new WeakMap<
  ISegment,
  [readonly Decision[], IDisplayedSegment]
>();

/** Returns a finished segment, in which only decisions can change. */
function finishedSegment(
  saved: ISegment,
  transcript: ITranscript | null
): IDisplayedSegment {
  const decisions = transcript?.decisions ?? NO_DECISIONS;
  const cachedResult = finishedSegments.get(saved);
  if (cachedResult?.[0] === decisions) {
    return cachedResult[1];
  }
  const partIds = new Set(
    saved.messages.flatMap(message => message.parts.map(({ id }) => id))
  );
  const messageIds = new Set(saved.messages.map(({ info }) => info.id));
  const segmentDecisions = decisions.filter(({ part_id, message_id }) =>
    part_id === undefined
      ? messageIds.has(message_id ?? '')
      : partIds.has(part_id)
  );
  // An older version saved decisions without their texts.
  const isSame = segmentDecisions.every(({ id, words }) =>
    saved.decisions.some(
      savedDecision => savedDecision.id === id && savedDecision.words === words
    )
  );
  const segment = isSame ? saved : { ...saved, decisions: segmentDecisions };
  const updated = { segment, isLive: false, isInterrupted: false };
  finishedSegments.set(saved, [decisions, updated]);
  return updated;
}

/** Returns whether a saved segment is complete. */
export function isComplete({ messages, open }: ISegment): boolean {
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
  const turn = turnMessagesOf(transcript, saved.turn);
  if (turn === null) {
    return false;
  }
  return (
    !isComplete(saved) || (isFailed(saved) && !isNewestOf(saved, turn.messages))
  );
}

interface ITurnMessages {
  /** The messages after the prompt, without synthetic user messages. */
  messages: Message[];
  /** Whether no other turn follows. */
  isNewest: boolean;
}

/** Returns a turn's messages in the transcript; null if the turn is unknown. */
function turnMessagesOf(
  { entries }: ITranscript,
  turnId: string
): ITurnMessages | null {
  const promptIndex = entries.findLastIndex(({ id }) => id === turnId);
  if (turnId === '' || promptIndex < 0) {
    return null;
  }
  const messages: Message[] = [];
  for (const entry of entries.slice(promptIndex + 1)) {
    const message = completeMessage(entry);
    if (message === null || !isShown(message)) {
      continue;
    }
    if (startsTurn(message, messages.at(-1))) {
      return { messages, isNewest: false };
    }
    messages.push(message);
  }
  return { messages, isNewest: true };
}

/** Returns the section of a turn's messages between two positions. */
function messagesBetween(
  messages: readonly Message[],
  start: ICut,
  end: ICut | undefined
): Message[] {
  let partIndex = 0;
  return messages.flatMap(message => {
    const parts: Part[] = [];
    for (const part of message.parts) {
      const partPiece = partBetween(part, partIndex, start, end);
      if (partPiece !== null) {
        parts.push(partPiece);
      }
      partIndex += 1;
    }
    const endsHere =
      start.part <= partIndex && (end === undefined || partIndex <= end.part);
    const { info } = message;
    const hasFailed = info.role === 'assistant' && info.error !== undefined;
    if (parts.length === 0 && !(hasFailed && endsHere)) {
      return [];
    }
    return [
      { info: hasFailed && !endsHere ? withoutError(info) : info, parts }
    ];
  });
}

function segmentWithMessages(
  saved: ISegment,
  { asks, decisions, questions, replies }: ITranscript,
  messages: Message[],
  isLive: boolean
): ISegment {
  return {
    ...saved,
    messages:
      saved.start === undefined
        ? saved.messages
        : messagesBetween(messages, saved.start, saved.end).map(withoutFigures),
    open: isLive && saved.end === undefined,
    status: '',
    asks: isLive ? [...asks] : [],
    questions: isLive ? [...questions] : [],
    replies: { ...saved.replies, ...replies },
    decisions: decisions.length > 0 ? [...decisions] : saved.decisions
  };
}

function partBetween(
  part: Part,
  partIndex: number,
  start: ICut,
  end: ICut | undefined
): Part | null {
  if (partIndex < start.part || (end !== undefined && partIndex > end.part)) {
    return null;
  }
  const isCutAtEnd = end !== undefined && partIndex === end.part;
  if (isCutAtEnd && end.offset === 0) {
    return null;
  }
  const startsInside = partIndex === start.part && start.offset > 0;
  if (part.type !== 'text' || !(startsInside || isCutAtEnd)) {
    return part;
  }
  const text = part.text.slice(
    startsInside ? codeUnitOffset(part.text, start.offset) : 0,
    isCutAtEnd ? codeUnitOffset(part.text, end.offset) : undefined
  );
  return {
    ...part,
    text: `${startsInside ? start.joint : ''}${text}${isCutAtEnd ? end.joint : ''}`
  };
}

/** Converts a number of Unicode characters, as Python counts, to UTF-16 code units. */
function codeUnitOffset(text: string, characterCount: number): number {
  if (!/[\ud800-\udbff]/.test(text)) {
    return characterCount;
  }
  let offset = 0;
  for (
    let count = 0;
    count < characterCount && offset < text.length;
    count += 1
  ) {
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
    info.origin?.kind === 'cell' || (before !== undefined && endsTurn(before))
  );
}

function endsTurn({ info }: Message): boolean {
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
  return last === undefined || !endsTurn(last);
}

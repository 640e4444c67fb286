/** Folds notices into a transcript, as store/session_state/state.py does; both have the same test fixtures. */
import {
  PART_TYPES,
  type Ask,
  type ContextFill,
  type Notice,
  type Part,
  type Reply,
  type StepRequest
} from '../../protocol/generated';
import { unknownKind } from '../../protocol/unknownKind';
import { appendText } from '../../protocol/surrogatePairs';
import { sharedValue } from './sharedValue';
import type { IMessageDraft, ITranscript } from './transcript';

/** The known part types; others are ignored. */
const KNOWN_PART_TYPES = new Set<string>(PART_TYPES);

/**
 * Applies one notice. A notice that was applied before changes nothing; unknown types are ignored, so
 * that an older page works with a newer kernel.
 */
export function applyNotice(
  transcript: ITranscript,
  notice: Notice
): ITranscript {
  if (notice.seq <= transcript.seq) {
    return transcript;
  }
  return {
    ...transcript,
    ...noticeChange(transcript, notice),
    seq: notice.seq
  };
}

function noticeChange(
  before: ITranscript,
  notice: Notice
): Partial<ITranscript> {
  switch (notice.type) {
    case 'message.updated':
      return changeMessage(before, notice.info.id, entry => ({
        ...entry,
        info: notice.info
      }));
    case 'message.part.updated':
      return KNOWN_PART_TYPES.has(notice.part.type)
        ? changeMessage(before, notice.part.message_id, draft => ({
            ...draft,
            parts: withValue(draft.parts, notice.part)
          }))
        : {};
    case 'message.part.delta':
      return changeKnownPart(before, notice.message_id, notice.part_id, part =>
        withText(part, notice.field.split('.'), notice.delta)
      );
    case 'message.part.removed':
      return changeKnownMessage(before, notice.message_id, draft => ({
        ...draft,
        parts: draft.parts.filter(part => part.id !== notice.part_id)
      }));
    case 'message.removed':
      return {
        entries: before.entries.filter(entry => entry.id !== notice.message_id)
      };
    default:
      return sessionChange(before, notice);
  }
}

type MessageNotice = Extract<Notice, { type: `message.${string}` }>;

function sessionChange(
  before: ITranscript,
  notice: Exclude<Notice, MessageNotice>
): Partial<ITranscript> {
  switch (notice.type) {
    case 'session.created':
      return {
        session: notice.session,
        // Open questions of a fork's parent are answered in the parent.
        ...(notice.session.forked_from === undefined
          ? {}
          : {
              status: { type: 'idle' },
              asks: [],
              questions: [],
              inbox: [],
              deleted: false
            })
      };
    case 'session.updated':
      return { session: notice.session };
    case 'session.deleted':
      return { deleted: true };
    case 'session.status':
      return { status: notice.status };
    case 'session.compacted':
      return { compacted: notice.message_id };
    case 'todo.updated':
      return { todos: notice.todos };
    case 'decision':
      // A session state may contain what its records repeat.
      return before.decisions.some(({ id }) => id === notice.decision.id)
        ? {}
        : { decisions: [...before.decisions, notice.decision] };
    case 'step.requested':
      return notice.request.purpose === 'step'
        ? { contextFill: contextFill(notice.request) }
        : {};
    case 'session.checkpoint': // where a reader may begin
    case 'session.diff': // a view that shows it asks for it
    case 'session.error': // shown when it happens
      return {};
    default:
      return waitingChange(before, notice);
  }
}

type WaitingNotice = Extract<
  Notice,
  { type: `${'permission' | 'prompt' | 'question'}.${string}` }
>;

function waitingChange(
  before: ITranscript,
  notice: WaitingNotice
): Partial<ITranscript> {
  switch (notice.type) {
    case 'permission.asked':
      return withAsk(before, notice.ask);
    case 'permission.replied':
      return withReply(before, notice.ask_id, notice.reply);
    case 'question.asked':
      return {
        questions: [
          ...before.questions.filter(differsIn('question_id', notice)),
          notice
        ]
      };
    case 'question.replied':
    case 'question.rejected':
      return {
        questions: before.questions.filter(differsIn('question_id', notice))
      };
    case 'prompt.admitted':
      return {
        inbox: [...before.inbox.filter(differsIn('prompt_id', notice)), notice]
      };
    case 'prompt.delivered':
      return {
        inbox: before.inbox.filter(differsIn('prompt_id', notice)),
        ...(notice.stopped === true
          ? {
              stopped: [
                ...before.stopped,
                ...before.inbox.filter(
                  ({ prompt_id }) => prompt_id === notice.prompt_id
                )
              ]
            }
          : {})
      };
    default:
      return unknownKind(notice, {});
  }
}

function contextFill({
  facts,
  kinds,
  message_id,
  tokens
}: StepRequest): ContextFill {
  const { reserve, window } = facts;
  return { tokens, kinds, window, reserve, message_id };
}

/** Some providers reuse call ids: an older reply must not answer a new question. */
function withAsk(
  { asks, replies }: ITranscript,
  ask: Ask
): Partial<ITranscript> {
  const { [ask.call_id ?? '']: olderReply, ...otherReplies } = replies;
  return {
    asks: withValue(asks, ask),
    ...(olderReply === undefined ? {} : { replies: otherReplies })
  };
}

function withReply(
  { asks, replies }: ITranscript,
  askId: string,
  reply: Reply
): Partial<ITranscript> {
  const callId = asks.find(({ id }) => id === askId)?.call_id;
  return {
    asks: asks.filter(({ id }) => id !== askId),
    ...(callId === undefined
      ? {}
      : { replies: { ...replies, [callId]: reply } })
  };
}

function differsIn<K extends string>(name: K, other: Record<K, string>) {
  return (value: Record<K, string>) => value[name] !== other[name];
}

/** Changes a message; an unknown one is added at the end. */
function changeMessage(
  { entries }: ITranscript,
  id: string,
  changedDraft: (draft: IMessageDraft) => IMessageDraft
): Partial<ITranscript> {
  const index = entries.findLastIndex(entry => entry.id === id);
  const message = changedDraft(entries[index]?.message ?? { parts: [] });
  return {
    entries:
      index < 0
        ? [...entries, { id, message }]
        : entries.with(index, { id, message })
  };
}

/** Changes a message if it is known. */
function changeKnownMessage(
  before: ITranscript,
  id: string,
  changedDraft: (draft: IMessageDraft) => IMessageDraft
): Partial<ITranscript> {
  return before.entries.findLastIndex(entry => entry.id === id) < 0
    ? {}
    : changeMessage(before, id, changedDraft);
}

/** Changes a part if it is known. */
function changeKnownPart(
  before: ITranscript,
  messageId: string,
  partId: string,
  changedPart: (part: Part) => Part
): Partial<ITranscript> {
  return changeKnownMessage(before, messageId, draft => ({
    ...draft,
    parts: draft.parts.map(part =>
      part.id === partId ? changedPart(part) : part
    )
  }));
}

/** Replaces the value with the same id in place, where what stayed equal stays the same object; or adds it at the end. */
function withValue<T extends { id: string }>(
  values: readonly T[],
  value: T
): T[] {
  const index = values.findIndex(({ id }) => id === value.id);
  return index < 0
    ? [...values, value]
    : values.with(index, sharedValue(values[index], value));
}

/**
 * Appends text to the string at a path. Every step but the last must lead to an object, and the last
 * to a string or to nothing yet; otherwise the value is unchanged.
 */
function withText<T>(value: T, path: string[], addedText: string): T {
  const [name, ...innerPath] = path;
  if (name === undefined || typeof value !== 'object' || value === null) {
    return value;
  }
  const innerValue = (value as Record<string, unknown>)[name];
  if (innerPath.length > 0) {
    const changedValue = withText(innerValue, innerPath, addedText);
    return changedValue === innerValue
      ? value
      : { ...value, [name]: changedValue };
  }
  if (
    innerValue !== undefined &&
    innerValue !== null &&
    typeof innerValue !== 'string'
  ) {
    return value;
  }
  return { ...value, [name]: appendText(innerValue ?? '', addedText) };
}

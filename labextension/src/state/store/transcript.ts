/**
 * A session as a page knows it: the fold of the notices it was told.
 */
import type {
  Ask,
  Decision,
  ContextFill,
  Message,
  MessageInfo,
  Part,
  PromptAdmitted,
  QuestionAsked,
  Reply,
  SessionInfo,
  Status,
  Todo
} from '../../protocol/generated';

/** The place of a message; parts may arrive before the info does. */
export interface IMessageEntry {
  id: string;
  message: IMessageDraft;
}

/** A message as far as it is known. */
export interface IMessageDraft {
  info?: MessageInfo;
  parts: Part[];
}

export interface ITranscript {
  /** The highest sequence number seen; what comes again changes nothing. */
  seq: number;
  session?: SessionInfo;
  status: Status;
  entries: readonly IMessageEntry[];
  todos: readonly Todo[];
  /** Questions that nobody answered yet, in order. */
  asks: readonly Ask[];
  /** What was answered, by the id of the tool call. */
  replies: Readonly<Partial<Record<string, Reply>>>;
  questions: readonly QuestionAsked[];
  /** Prompts that wait to be delivered, in order. */
  inbox: readonly PromptAdmitted[];
  decisions: readonly Decision[];
  /** What the newest request was full of. */
  contextFill?: ContextFill;
  /** The message of the newest completed compaction. */
  compacted?: string;
  deleted: boolean;
}

export const EMPTY_TRANSCRIPT: ITranscript = {
  seq: 0,
  status: { type: 'idle' },
  entries: [],
  todos: [],
  asks: [],
  replies: {},
  questions: [],
  inbox: [],
  decisions: [],
  deleted: false
};

/** Returns the messages in the order in which they first appeared; one without info waits. */
export function messages(transcript: ITranscript): Message[] {
  return transcript.entries
    .map(place => place.message)
    .filter((draft): draft is Message => draft.info !== undefined);
}

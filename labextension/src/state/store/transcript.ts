/** A session as a page knows it: the fold of the received notices. */
import type {
  Ask,
  Decision,
  ContextFill,
  MessageInfo,
  Part,
  PromptAdmitted,
  ProposedRequest,
  QuestionAsked,
  Reply,
  SessionHead,
  SessionInfo,
  Status,
  Todo
} from '../../protocol/generated';

/** The entry of a message; parts may arrive before the info does. */
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
  /** The highest sequence number received; repeated records change nothing. */
  seq: number;
  session?: SessionInfo;
  status: Status;
  entries: readonly IMessageEntry[];
  todos: readonly Todo[];
  /** Open permission questions, in order. */
  asks: readonly Ask[];
  /** Replies, by the id of the tool call. */
  replies: Readonly<Partial<Record<string, Reply>>>;
  questions: readonly QuestionAsked[];
  /** Requests that step mode holds; they are in no record. */
  held: readonly ProposedRequest[];
  /** Whether step mode is on. */
  stepping: boolean;
  /** The density of turns in the kernel's settings. */
  density: SessionHead['density'];
  /** Prompts that wait for delivery, in order. */
  inbox: readonly PromptAdmitted[];
  /** Prompts that a stop withdrew while this page listened; their texts go back to the composer. */
  stopped: readonly PromptAdmitted[];
  decisions: readonly Decision[];
  /** The token counts of the newest request. */
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
  held: [],
  stepping: false,
  density: 'quiet',
  inbox: [],
  stopped: [],
  decisions: [],
  deleted: false
};

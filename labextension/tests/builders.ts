/** Builders of protocol values for tests, with defaults for all other fields. */
import type {
  AssistantMessage,
  FilePart,
  Message,
  Part,
  ReasoningPart,
  SessionHead,
  StepFinishPart,
  TextPart,
  ToolPart,
  ToolState,
  Usage
} from '../src/protocol/generated';
import type { ISegment } from '../src/protocol/segment';
import type { ITranscript } from '../src/state/store/transcript';

let made = 0;

function base(prefix: string) {
  made += 1;
  return { id: `${prefix}_${made}`, session_id: 'ses_1', message_id: 'msg_1' };
}

export const USAGE: Usage = {
  input: 0,
  output: 0,
  reasoning: 0,
  cache_read: 0,
  cache_write: 0,
  estimated: false
};

export function text(words: string, more: Partial<TextPart> = {}): TextPart {
  return {
    ...base('prt'),
    type: 'text',
    text: words,
    synthetic: false,
    ignored: false,
    pinned: false,
    ...more
  };
}

/** Returns a file attached to a prompt. */
export function attached(
  filename: string,
  url: string,
  more: Partial<FilePart> = {}
): FilePart {
  const mime = /^data:([\w/]+)/.exec(url)?.[1] ?? 'application/pdf';
  return { ...base('prt'), type: 'file', mime, filename, url, ...more };
}

export function thought(words: string, spentMs?: number): ReasoningPart {
  const time =
    spentMs === undefined ? {} : { time: { start: 0, end: spentMs } };
  return { ...base('prt'), type: 'reasoning', text: words, ...time };
}

export function tool(name: string, state: ToolState): ToolPart {
  const part = base('prt');
  return {
    ...part,
    type: 'tool',
    call_id: `call_${part.id}`,
    tool: name,
    state,
    pinned: false
  };
}

/** Returns a completed tool call. */
export function ran(
  name: string,
  input: Record<string, unknown>,
  output: string,
  spentMs = 200
): ToolPart {
  return tool(name, {
    status: 'completed',
    input,
    output,
    title: '',
    metadata: {},
    time: { start: 0, end: spentMs },
    attachments: []
  });
}

export function step(more: Partial<StepFinishPart> = {}): StepFinishPart {
  return {
    ...base('prt'),
    type: 'step-finish',
    reason: 'stop',
    tokens: USAGE,
    ...more
  };
}

export function assistant(
  parts: Part[],
  more: Partial<AssistantMessage> = {}
): Message {
  const { id, session_id } = base('msg');
  return {
    info: {
      role: 'assistant',
      id,
      session_id,
      parent_id: 'msg_0',
      time: { created: 0 },
      agent: 'build',
      model: { provider: 'rehearsal', name: 'embedded' },
      path: { cwd: '.', root: '.' },
      summary: false,
      tokens: USAGE,
      ...more
    },
    parts
  };
}

export function user(parts: Part[]): Message {
  const { id, session_id } = base('msg');
  return {
    info: {
      role: 'user',
      id,
      session_id,
      time: { created: 0 },
      agent: 'build',
      model: { provider: 'rehearsal', name: 'embedded' }
    },
    parts
  };
}

export function segment(
  messages: Message[],
  more: Partial<ISegment> = {}
): ISegment {
  return {
    version: 1,
    session: 'ses_1',
    turn: 'msg_0',
    seq: [1, 9],
    open: false,
    messages,
    asks: [],
    replies: {},
    decisions: [],
    first_step: 1,
    status: '',
    ...more
  };
}

/** Returns the head of an idle session. */
export function sessionHead(more: Partial<SessionHead> = {}): SessionHead {
  return {
    session: 'ses_1',
    title: '',
    read_only: false,
    seq: 1,
    status: { type: 'idle' },
    asks: [],
    questions: [],
    waiting: 0,
    partial: false,
    stepping: false,
    density: 'quiet',
    held: [],
    order: 0,
    ...more
  };
}

/** Returns the messages of a transcript; those without info are left out. */
export function messagesOf(transcript: ITranscript): Message[] {
  return transcript.entries
    .map(entry => entry.message)
    .filter((draft): draft is Message => draft.info !== undefined);
}

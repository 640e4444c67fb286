/** The segment that an agent's cell saves: a section of a turn that can be rendered without a kernel. */
import type {
  Ask,
  Decision,
  FileDiff,
  Message,
  QuestionAsked,
  Reply,
  SessionHead
} from './generated';
import { isObject, listOrEmpty, textOrEmpty } from './jsonValues';

export const SEGMENT_MIME = 'application/vnd.palimpsest.segment+json';

/** The newest version of the segment format that this front end knows. */
export const SEGMENT_VERSION = 1;

export interface ISegment {
  version: number;
  session: string;
  turn: string;
  /** The first and the last journal record that the segment covers. */
  seq: [number, number];
  /** Whether it may still grow; false when the turn is over or another output of the cell follows. */
  open: boolean;
  messages: Message[];
  /** Open permission questions. */
  asks: Ask[];
  /** The model's open questions to the user; missing in segments of the first versions. */
  questions?: QuestionAsked[] | undefined;
  /** The user's replies, by the id of the tool call. */
  replies: Partial<Record<string, Reply>>;
  /** Decisions that changed how these parts are shown to the model. */
  decisions: Decision[];
  /** The number of the segment's first step. */
  first_step: number;
  /** The turn's density, unless its reader chose another; missing in segments of the first versions. */
  density?: SessionHead['density'] | undefined;
  /** The permission mode at the turn's start, unless it was the mode that asks. */
  mode?: string | undefined;
  /** What the agent is doing, as Markdown; only while the segment is open. */
  status: string;
  /** The turn's changes to files; in its last segment. */
  changes?: readonly FileDiff[] | undefined;
  /** Whether it was reverted and removed from its session. */
  removed?: boolean | undefined;
  /** Where the segment begins in its turn; missing in segments of the first versions. */
  start?: ICut | undefined;
  /** Where it ends; missing while it is the newest. */
  end?: ICut | undefined;
}

/** A position in a turn: before a character of a part. */
export interface ICut {
  /** The index of the part among the shown parts of the turn. */
  part: number;
  offset: number;
  /** Text to insert at the cut when it is inside a code fence. */
  joint: string;
}

/** Reads the data of a notebook's output; null when it is not a segment. */
export function readSegment(data: unknown): ISegment | null {
  if (!isObject(data) || typeof data.version !== 'number') {
    return null;
  }
  const [from, to] = listOrEmpty(data.seq);
  return {
    version: data.version,
    session: textOrEmpty(data.session),
    turn: textOrEmpty(data.turn),
    seq: [Number(from ?? 0), Number(to ?? 0)],
    open: data.open === true,
    messages: listOrEmpty(data.messages).filter(isMessage),
    asks: listOrEmpty(data.asks).filter(isObject) as unknown as Ask[],
    questions: listOrEmpty(data.questions).filter(isQuestion),
    replies: (isObject(data.replies)
      ? data.replies
      : {}) as ISegment['replies'],
    decisions: listOrEmpty(data.decisions).filter(
      isObject
    ) as unknown as Decision[],
    first_step: typeof data.first_step === 'number' ? data.first_step : 1,
    density: readSavedDensity(data.density),
    mode: textOrEmpty(data.mode),
    status: textOrEmpty(data.status),
    changes: listOrEmpty(data.changes).filter(
      isObject
    ) as unknown as FileDiff[],
    removed: data.removed === true,
    start: readCut(data.start),
    end: readCut(data.end)
  };
}

function readSavedDensity(value: unknown): ISegment['density'] {
  return value === 'quiet' || value === 'all steps' ? value : undefined;
}

function readCut(value: unknown): ICut | undefined {
  const [part, offset, joint] = listOrEmpty(value);
  return typeof part === 'number' && typeof offset === 'number'
    ? { part, offset, joint: textOrEmpty(joint) }
    : undefined;
}

function isQuestion(value: unknown): value is QuestionAsked {
  return isObject(value) && Array.isArray(value.questions);
}

function isMessage(value: unknown): value is Message {
  return isObject(value) && isObject(value.info) && Array.isArray(value.parts);
}

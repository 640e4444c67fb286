/**
 * What an agent's cell saves: a stretch of a turn that can be drawn without a kernel.
 */
import type {
  Ask,
  Decision,
  FileDiff,
  Message,
  QuestionAsked,
  Reply
} from './generated';
import { isObject, list, text } from './jsonValues';

export const SEGMENT_MIME = 'application/vnd.palimpsest.segment+json';

/** The newest form of a segment that this front end knows. */
export const SEGMENT_VERSION = 1;

export interface ISegment {
  version: number;
  session: string;
  turn: string;
  /** First and last journal record that the segment tells of. */
  seq: [number, number];
  /** More may come; false when the turn is over or an output of the cell follows. */
  open: boolean;
  messages: Message[];
  /** Questions that wait for a person. */
  asks: Ask[];
  /** What the model asks a person; missing in segments of the first versions. */
  questions?: QuestionAsked[] | undefined;
  /** What a person answered, by the id of the tool call. */
  replies: Partial<Record<string, Reply>>;
  /** What was scraped off these parts for the model. */
  decisions: Decision[];
  /** Number of the first step in this segment. */
  first_step: number;
  /** How freely the agent worked when the turn began, where it was not asking each time. */
  mode?: string | undefined;
  /** What the agent waits for, as Markdown; only while the segment is open. */
  status: string;
  /** What the turn did to files; with its last segment. */
  changes?: readonly FileDiff[] | undefined;
  /** It was taken back for good: its session no longer holds it. */
  removed?: boolean | undefined;
  /** Where the segment begins in its turn; missing in segments of the first versions. */
  start?: ICut | undefined;
  /** Where it ends; missing while it is the newest. */
  end?: ICut | undefined;
}

/** A place in a turn: before a character of a part. */
export interface ICut {
  /** Number of the part among the parts that the turn shows. */
  part: number;
  offset: number;
  /** What must be written at the cut, because it fell into a code fence. */
  joint: string;
}

/** Reads what a notebook holds; null when it is no segment at all. */
export function readSegment(data: unknown): ISegment | null {
  if (!isObject(data) || typeof data.version !== 'number') {
    return null;
  }
  const [from, to] = list(data.seq);
  return {
    version: data.version,
    session: text(data.session),
    turn: text(data.turn),
    seq: [Number(from ?? 0), Number(to ?? 0)],
    open: data.open === true,
    messages: list(data.messages).filter(isMessage),
    asks: list(data.asks).filter(isObject) as unknown as Ask[],
    questions: list(data.questions).filter(isQuestion),
    replies: (isObject(data.replies)
      ? data.replies
      : {}) as ISegment['replies'],
    decisions: list(data.decisions).filter(isObject) as unknown as Decision[],
    first_step: typeof data.first_step === 'number' ? data.first_step : 1,
    mode: text(data.mode),
    status: text(data.status),
    changes: list(data.changes).filter(isObject) as unknown as FileDiff[],
    removed: data.removed === true,
    start: cut(data.start),
    end: cut(data.end)
  };
}

function cut(value: unknown): ICut | undefined {
  const [part, offset, joint] = list(value);
  return typeof part === 'number' && typeof offset === 'number'
    ? { part, offset, joint: text(joint) }
    : undefined;
}

function isQuestion(value: unknown): value is QuestionAsked {
  return isObject(value) && Array.isArray(value.questions);
}

function isMessage(value: unknown): value is Message {
  return isObject(value) && isObject(value.info) && Array.isArray(value.parts);
}

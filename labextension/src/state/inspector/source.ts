/** The interface of an inspector's data source: a kernel's control channel, a widget's comm, or a report's data. */
import type {
  SessionComparison,
  TrackStop,
  ViewAnswer,
  ViewQuery
} from '../../protocol/generated';

export type EditAction = 'pin' | 'unpin' | 'exclude' | 'restore';

export interface IInspectorSource {
  /** Answers one question; it never rejects: an error is a sentence in the answer. */
  ask(query: ViewQuery): Promise<ViewAnswer>;
  /** Answers synchronously, for a source that holds its data. */
  answerNow?(query: ViewQuery): ViewAnswer;
  /** Calls back when the session may have grown, so that the records after the current view are requested. */
  subscribe?(changed: () => void): () => void;
  /** Changes what later requests show of a part; returns '' or one sentence. Absent where nothing can be written. */
  edit?(action: EditAction, part: string): Promise<string>;
  /** Of a report: the policies and numbers that were computed beforehand. */
  readonly stops?: readonly TrackStop[];
  /** A sentence while the kernel is busy and cannot answer. */
  readonly waits?: string;
}

/** What an inspector shows; a link or a restored tab keeps it. Requests and items count from 0. */
export interface IInspectorPlace {
  request: number | null;
  item: number | null;
  /** The request that the shown one is compared with; by default the one before. */
  against?: number | null;
  /** The policy of the second track, with its numbers. */
  policy?: string;
  tab?: string;
}

/** One of two sessions that are shown side by side. */
export type ComparedSide = 'first' | 'second';

/** Of a report of two sessions: both side by side, and the way to either. */
export interface IComparedView {
  readonly comparison: SessionComparison;
  /** The session that the inspector shows. */
  readonly side: ComparedSide;
  /** Whether what is shown first takes the focus, since it was opened from the other session. */
  readonly takesFocus: boolean;
  readonly open: (side: ComparedSide, place: Partial<IInspectorPlace>) => void;
}

/** Returns the link to a session, a request and an item, as `palimpsest:session/4/8`; numbers in it count from 1. */
export function linkTo(
  session: string,
  { request, item }: IInspectorPlace
): string {
  const pieces = [encodeURIComponent(session)];
  if (request !== null) {
    pieces.push(String(request + 1));
    if (item !== null) {
      pieces.push(String(item + 1));
    }
  }
  return `palimpsest:${pieces.join('/')}`;
}

const LINK = /^palimpsest:([^/]+)(?:\/([1-9]\d{0,8}))?(?:\/([1-9]\d{0,8}))?$/;

/** Reads such a link; null for any other text. */
export function parseLink(
  link: string
): { session: string; place: IInspectorPlace } | null {
  const match = LINK.exec(link);
  if (match === null) {
    return null;
  }
  const [, session = '', request, item] = match;
  try {
    return {
      session: decodeURIComponent(session),
      place: {
        request: request === undefined ? null : Number(request) - 1,
        item: item === undefined ? null : Number(item) - 1
      }
    };
  } catch {
    return null;
  }
}

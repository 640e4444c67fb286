/** The interface of an inspector's data source: a kernel's control channel, a widget's comm, or a report's data. */
import type {
  INSPECTOR_PARTS,
  InspectorPlace,
  SessionComparison,
  TrackStop,
  ViewAnswer,
  ViewQuery,
  WriteNote
} from '../../protocol/generated';
import type { IRequestRange } from './figures/rangeFigures';

export type EditAction = 'pin' | 'unpin' | 'exclude' | 'restore';

/** A part of the inspector that can be shown alone, or hidden until it is revealed. */
export type InspectorPartName = (typeof INSPECTOR_PARTS)[number];

/** The words and the place of a note; numbers count from 1. */
export type INoteWords = Partial<
  Omit<WriteNote, 'id' | 'type' | 'session' | 'path'>
>;

export interface IInspectorSource {
  /** Answers one question; it never rejects: an error is a sentence in the answer. */
  ask(query: ViewQuery): Promise<ViewAnswer>;
  /** Answers synchronously, for a source that holds its data. */
  answerNow?(query: ViewQuery): ViewAnswer;
  /** Calls back when the session may have grown, so that the records after the current view are requested. */
  subscribe?(onChange: () => void): () => void;
  /** Changes what later requests show of a part; returns '' or one sentence. Absent where nothing can be written. */
  edit?(action: EditAction, part: string): Promise<string>;
  /** Writes, changes or removes a note; the answer has all notes or one sentence. Absent where nothing can be written. */
  note?(words: INoteWords): Promise<ViewAnswer>;
  /** Of a report: the policies and numbers that were computed beforehand. */
  readonly stops?: readonly TrackStop[];
  /** Returns the source of a session that a call started; null where a report does not hold it. */
  subagentSource?(session: string): IInspectorSource | null;
  /** A sentence while the kernel is busy and cannot answer. */
  readonly waitSentence?: string;
}

/**
 * What an inspector shows; a link, a restored tab and the kernel's `view.place` keep it.
 *
 * Requests and items count from 0 here, and from 1 in a link; what is absent is as the inspector opens.
 */
export interface IInspectorPlace extends Partial<
  Omit<InspectorPlace, 'request' | 'item' | 'definition' | 'against' | 'range'>
> {
  readonly request: number | null;
  readonly item: number | null;
  /** The tool definition of that item, where one is chosen. */
  readonly definition?: number | null;
  /** The request that the shown one is compared with; by default the one before. */
  readonly against?: number | null;
  /** The first and the last request to which grid, tables and sums are narrowed. */
  readonly range?: IRequestRange | null;
}

/** The newest request, as an inspector opens without a place. */
export const NOWHERE: IInspectorPlace = { request: null, item: null };

/** One of two sessions that are shown side by side. */
export type ComparedSide = 'first' | 'second';

/** Of a report of two sessions: both side by side, and the way to either. */
export interface IComparedView {
  readonly comparison: SessionComparison;
  /** How a link names the second one; absent where a link names only the session that it leads to. */
  readonly besideName?: string;
  /** The session that the inspector shows. */
  readonly side: ComparedSide;
  /** Whether what is shown first takes the focus, since it was opened from the other session. */
  readonly takesFocus: boolean;
  readonly open: (side: ComparedSide, place: Partial<IInspectorPlace>) => void;
}

/**
 * The place in a session's transcript that a reader asked for: it is rendered however far away it is, and what is
 * folded around it is opened.
 */
import { ReadableValue } from '../store/readableValue';

export interface ITranscriptPlace {
  /** The key of the turn. */
  turnKey: string;
  /** The key of the line in it; that of the turn for its prompt. */
  lineKey: string;
  /** Whether the transcript that holds the turn scrolls to it once, and gives it the keyboard. */
  isScrolledTo?: boolean;
}

/** The page's place; null where none is asked for. */
export const openedPlace = new ReadableValue<ITranscriptPlace | null>(null);

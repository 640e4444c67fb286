/** The notes of people on the session, which the list, the marks and the cards share. */
import {
  createContext,
  useCallback,
  useContext,
  useEffect,
  useMemo,
  useRef,
  useState
} from 'react';
import type {
  NotesText,
  NoteView,
  ViewAnswer
} from '../../../protocol/generated';
import type {
  IInspectorSource,
  INoteWords
} from '../../../state/inspector/source';

const NO_NOTES: NotesText = { notes: [], problems: [] };
const NO_IDS: ReadonlySet<string> = new Set();

export interface IReaderNotes {
  /** Oldest first. */
  readonly notes: readonly NoteView[];
  /** Sentences on lines of the files that cannot be read. */
  readonly problems: readonly string[];
  /** How many more there are on what is hidden until it is revealed. */
  readonly hiddenCount: number;
  /** The ids of the notes that this page has written. */
  readonly writtenIds: ReadonlySet<string>;
  /** The name under which this page wrote last, so that it is typed once; '' before. */
  readonly author: string;
  /** Writes, changes or removes a note; returns '' or one sentence. Null where nothing can be written. */
  readonly writeNote: ((noteWords: INoteWords) => Promise<string>) | null;
}

const NotesContext = createContext<IReaderNotes>({
  ...NO_NOTES,
  hiddenCount: 0,
  writtenIds: NO_IDS,
  author: '',
  writeNote: null
});

export const ReaderNotesProvider = NotesContext.Provider;

/** Returns the notes on the inspected session. */
export function useReaderNotes(): IReaderNotes {
  return useContext(NotesContext);
}

/** Asks for the notes, and again when `moment` changes and when the window is entered: somebody else may have written. */
export function useNotesOf(
  source: IInspectorSource,
  version: unknown
): IReaderNotes {
  const [knownNotes, setKnownNotes] = useState<NotesText>(
    () => source.answerNow?.({ ask: 'notes' }).notes ?? NO_NOTES
  );
  const [author, setAuthor] = useState('');
  const [writtenIds, setWrittenIds] = useState(NO_IDS);
  const newestQuestionNumber = useRef(0);
  const answeredQuestionNumber = useRef(0);
  /** Takes the answer to a question, unless that to a later one is there. */
  const takeAnswer = useCallback(
    (answer: ViewAnswer, questionNumber: number) => {
      if (
        answer.notes !== undefined &&
        questionNumber >= answeredQuestionNumber.current
      ) {
        answeredQuestionNumber.current = questionNumber;
        setKnownNotes(answer.notes);
      }
    },
    []
  );
  useEffect(() => {
    let isCurrent = true;
    const ask = () => {
      const questionNumber = ++newestQuestionNumber.current;
      void source.ask({ ask: 'notes' }).then(answer => {
        if (isCurrent) {
          takeAnswer(answer, questionNumber);
        }
      });
    };
    ask();
    window.addEventListener('focus', ask);
    return () => {
      isCurrent = false;
      window.removeEventListener('focus', ask);
    };
  }, [source, version, takeAnswer]);
  return useMemo(
    () => ({
      notes: knownNotes.notes,
      problems: knownNotes.problems,
      hiddenCount: 0,
      writtenIds,
      author,
      writeNote:
        source.note === undefined
          ? null
          : async noteWords => {
              setAuthor(previous => noteWords.author ?? previous);
              const questionNumber = ++newestQuestionNumber.current;
              const answer = await source.note?.(noteWords);
              if (answer !== undefined) {
                takeAnswer(answer, questionNumber);
                const ids = idsOfWrittenNotes(answer, knownNotes, noteWords);
                setWrittenIds(previous => new Set([...previous, ...ids]));
              }
              return answer?.error ?? '';
            }
    }),
    [knownNotes, author, writtenIds, source, takeAnswer]
  );
}

/** Returns the ids of the notes that came with an answer to what was written, and have its words. */
function idsOfWrittenNotes(
  { notes }: ViewAnswer,
  knownNotes: NotesText,
  { text }: INoteWords
): string[] {
  const knownIds = new Set(knownNotes.notes.map(({ note }) => note.id));
  return (notes?.notes ?? [])
    .map(({ note }) => note)
    .filter(note => !knownIds.has(note.id) && note.text.trim() === text?.trim())
    .map(({ id }) => id);
}

/** Returns whether a note is on a request, or on requests of which it is one; those on an item are with the item. */
export function isOnRequest({ found }: NoteView, request: number): boolean {
  if (found.request === undefined || found.item !== undefined) {
    return false;
  }
  return (
    found.request <= request && request <= (found.last_request ?? found.request)
  );
}

/** The notes while a part is hidden until it is revealed: the words of a note may give the answer. */
import { useMemo } from 'react';
import type { NoteView } from '../../../protocol/generated';
import { useHost } from '../../host';
import type { IInspectedSession } from '../controls/inspection';
import { useReaderNotes, type IReaderNotes } from './readerNotes';

/** Returns the notes without those on hidden parts; what this page has written stays, such as a prediction. */
export function useUnhiddenNotes(
  notes: IReaderNotes,
  hiddenParts: IInspectedSession['hiddenParts']
): IReaderNotes {
  return useMemo(() => {
    const shownNotes = notes.notes.filter(
      noteView =>
        notes.writtenIds.has(noteView.note.id) ||
        !mayTellHiddenParts(noteView, hiddenParts)
    );
    return shownNotes.length === notes.notes.length
      ? notes
      : {
          ...notes,
          notes: shownNotes,
          hiddenCount: notes.notes.length - shownNotes.length
        };
  }, [notes, hiddenParts]);
}

/** Returns whether a note may tell what is hidden: one on a request, an item or the session may speak of anything. */
function mayTellHiddenParts(
  { note }: NoteView,
  hiddenParts: IInspectedSession['hiddenParts']
): boolean {
  switch (note.place.kind) {
    case 'break':
      return hiddenParts.has('breaks');
    case 'compaction':
      return hiddenParts.has('compactions');
    default:
      return hiddenParts.size > 0;
  }
}

/** Draws how many notes are hidden; nothing where none is. */
export function HiddenNotesRemark() {
  const { words } = useHost();
  const { hiddenCount } = useReaderNotes();
  return hiddenCount === 0 ? null : (
    <p className="plm-HiddenPart plm-Muted" role="note">
      {words._n(
        '%1 note is hidden until the answers are revealed.',
        '%1 notes are hidden until the answers are revealed.',
        hiddenCount
      )}
    </p>
  );
}

/** The notes while a part is hidden until it is revealed: the words of a note may give the answer. */
import { useMemo } from 'react';
import type { NoteView } from '../../../protocol/generated';
import { useHost } from '../../host';
import type { IInspectedSession } from '../controls/inspection';
import { useReaderNotes, type IReaderNotes } from './readerNotes';

/** Returns the notes without those on hidden parts; what this page has written stays, such as a prediction. */
export function useNotesShownWith(
  notes: IReaderNotes,
  hidden: IInspectedSession['hidden']
): IReaderNotes {
  return useMemo(() => {
    const shown = notes.notes.filter(
      view =>
        notes.writtenIds.has(view.note.id) || !mayTellHiddenPart(view, hidden)
    );
    return shown.length === notes.notes.length
      ? notes
      : {
          ...notes,
          notes: shown,
          hiddenCount: notes.notes.length - shown.length
        };
  }, [notes, hidden]);
}

/** Returns whether a note may tell what is hidden: one on a request, an item or the session may speak of anything. */
function mayTellHiddenPart(
  { note }: NoteView,
  hidden: IInspectedSession['hidden']
): boolean {
  switch (note.place.kind) {
    case 'break':
      return hidden.has('breaks');
    case 'compaction':
      return hidden.has('compactions');
    default:
      return hidden.size > 0;
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

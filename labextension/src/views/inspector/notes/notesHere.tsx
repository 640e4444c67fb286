/** The notes at the cursor: on its request and on the chosen item, with a form for another one. */
import { useState } from 'react';
import { SmallButton } from '../../controls/buttons';
import { useHost } from '../../host';
import { useInspection } from '../controls/inspection';
import { HiddenNotesRemark } from './hiddenNotes';
import { NoteEntry } from './noteEntry';
import { NoteForm } from './noteForm';
import { isOnRequest, useReaderNotes } from './readerNotes';

/**
 * Draws the card; nothing where no note is here, none is hidden and none can be written. `isFormOnly` leaves out the notes, where a list
 * has all of them.
 */
export function NotesHereCard(props: { isFormOnly?: boolean }) {
  const { isFormOnly = false } = props;
  const { words } = useHost();
  const { request, item } = useInspection();
  const { notes, hiddenCount, writeNote } = useReaderNotes();
  const [isWriting, setWriting] = useState(false);
  const notesHere = notes.filter(
    noteView =>
      !isFormOnly &&
      (isOnRequest(noteView, request) ||
        (item !== null && noteView.found.item === item))
  );
  if (notesHere.length === 0 && writeNote === null && hiddenCount === 0) {
    return null;
  }
  return (
    <section
      role="group"
      className="plm-Inspector-card plm-Notes"
      aria-label={words.__('Notes here')}
    >
      {!isFormOnly && <HiddenNotesRemark />}
      {notesHere.length > 0 && (
        <>
          <h3>
            {item === null
              ? words.__('Notes on request %1', request + 1)
              : words.__(
                  'Notes on request %1 and item %2',
                  request + 1,
                  item + 1
                )}
          </h3>
          <ul className="plm-Note-list">
            {notesHere.map(noteView => (
              <li key={noteView.note.id} className="plm-Note">
                <NoteEntry noteView={noteView} />
              </li>
            ))}
          </ul>
        </>
      )}
      {writeNote !== null &&
        (isWriting ? (
          <NoteForm
            note={null}
            onEnd={() => {
              setWriting(false);
            }}
          />
        ) : (
          <div>
            <SmallButton
              onClick={() => {
                setWriting(true);
              }}
            >
              {words.__('Write a note')}
            </SmallButton>
          </div>
        ))}
    </section>
  );
}

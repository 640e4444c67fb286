/** One note: its place, verdict and tag, its text, and who wrote it. */
import { useState } from 'react';
import type { NoteView } from '../../../protocol/generated';
import { visibleText } from '../../../state/text/visibleText';
import { LinkButton } from '../../controls/buttons';
import { useHost, type IWords } from '../../host';
import { RequestLink } from '../controls/placeLinks';
import { NoteForm, verdictWords } from './noteForm';
import { useReaderNotes } from './readerNotes';

/** Draws a note, and where it can be written buttons to change and to remove it. */
export function NoteEntry({ noteView }: { noteView: NoteView }) {
  const { words } = useHost();
  const { writeNote } = useReaderNotes();
  const [isChanging, setChanging] = useState(false);
  const [mayRemove, setMayRemove] = useState(false);
  const [problem, setProblem] = useState('');
  const { note, found } = noteView;
  if (isChanging) {
    return (
      <NoteForm
        note={note}
        onEnd={() => {
          setChanging(false);
        }}
      />
    );
  }
  return (
    <>
      <p className="plm-Note-head">
        {found.request === undefined ? (
          <span>{found.text}</span>
        ) : (
          <RequestLink
            request={found.request}
            item={found.item ?? null}
            text={found.text}
          />
        )}{' '}
        {note.verdict !== '' && (
          <span className="plm-Note-verdict" data-verdict={note.verdict}>
            {verdictWords(note.verdict, words)}
          </span>
        )}{' '}
        {note.tag !== '' && (
          <bdi className="plm-Note-tag">{visibleText(note.tag)}</bdi>
        )}
      </p>
      {note.text !== '' && (
        <p className="plm-Note-text" dir="auto">
          {visibleText(note.text)}
        </p>
      )}
      <p className="plm-Note-foot plm-Muted">
        <bdi>{authorWords(noteView, words)}</bdi>
        {writeNote !== null && (
          <span className="plm-Inspector-buttons">
            <LinkButton
              onClick={() => {
                setChanging(true);
              }}
            >
              {words.__('Change')}
            </LinkButton>
            <LinkButton
              onBlur={() => {
                setMayRemove(false);
              }}
              onClick={() => {
                if (mayRemove) {
                  void writeNote({ note: note.id, remove: true }).then(
                    setProblem
                  );
                } else {
                  setMayRemove(true);
                }
              }}
            >
              {mayRemove ? words.__('Really remove it') : words.__('Remove')}
            </LinkButton>
            <span role="status">{problem}</span>
          </span>
        )}
      </p>
    </>
  );
}

/** Returns who wrote a note and when, and who changed it last. */
function authorWords({ note }: NoteView, words: IWords): string {
  const author = visibleText(note.author) || words.__('unnamed');
  const authorAndDay = `${author}, ${dayOf(note.time)}`;
  if (note.changed === undefined) {
    return authorAndDay;
  }
  const changedDay = dayOf(note.changed);
  return note.changed_by === note.author
    ? words.__('%1, changed %2', authorAndDay, changedDay)
    : words.__(
        '%1, changed by %2 %3',
        authorAndDay,
        visibleText(note.changed_by) || words.__('unnamed'),
        changedDay
      );
}

function dayOf(milliseconds: number): string {
  return new Date(milliseconds).toISOString().slice(0, 10);
}

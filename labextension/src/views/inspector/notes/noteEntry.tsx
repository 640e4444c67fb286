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
export function NoteEntry({ view }: { view: NoteView }) {
  const { words } = useHost();
  const { write } = useReaderNotes();
  const [isChanging, setChanging] = useState(false);
  const [mayRemove, setMayRemove] = useState(false);
  const [problem, setProblem] = useState('');
  const { note, found } = view;
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
        <bdi>{authorWords(view, words)}</bdi>
        {write !== null && (
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
                  void write({ note: note.id, remove: true }).then(setProblem);
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
  const written = `${author}, ${dayOf(note.time)}`;
  if (note.changed === undefined) {
    return written;
  }
  const changed = dayOf(note.changed);
  return note.changed_by === note.author
    ? words.__('%1, changed %2', written, changed)
    : words.__(
        '%1, changed by %2 %3',
        written,
        visibleText(note.changed_by) || words.__('unnamed'),
        changed
      );
}

function dayOf(milliseconds: number): string {
  return new Date(milliseconds).toISOString().slice(0, 10);
}

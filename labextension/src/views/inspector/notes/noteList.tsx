/** All notes on the session, with a choice by verdict and tag. */
import { useMemo, useState } from 'react';
import { SelectField } from '../../controls/fields';
import { useHost } from '../../host';
import { HiddenNotesRemark } from './hiddenNotes';
import { NoteEntry } from './noteEntry';
import { verdictWords } from './noteForm';
import { useReaderNotes } from './readerNotes';

/** Draws the notes in the order in which they were written. */
export function NoteList() {
  const { words } = useHost();
  const { notes, problems, hiddenCount, writeNote } = useReaderNotes();
  const [chosenFilter, setChosenFilter] = useState('');
  const choices = useMemo(() => {
    const verdicts = notes.map(({ note }) => note.verdict);
    const tags = notes.map(({ note }) => note.tag);
    return {
      verdicts: [...new Set(verdicts)].filter(Boolean),
      tags: [...new Set(tags)].filter(Boolean).sort()
    };
  }, [notes]);
  const shownNotes = notes.filter(
    ({ note }) =>
      chosenFilter === '' ||
      chosenFilter === `verdict ${note.verdict}` ||
      chosenFilter === `tag ${note.tag}`
  );
  const hasChoice = choices.verdicts.length + choices.tags.length > 1;
  return (
    <section role="group" className="plm-Notes" aria-label={words.__('Notes')}>
      <header className="plm-Inspector-head">
        <h3>{words.__('Notes')}</h3>
        {hasChoice && (
          <SelectField
            label={words.__('Which notes')}
            value={chosenFilter}
            choices={[
              ['', words.__('all notes')],
              ...choices.verdicts.map(
                name =>
                  [
                    `verdict ${name}`,
                    words.__('verdict %1', verdictWords(name, words))
                  ] as const
              ),
              ...choices.tags.map(
                name => [`tag ${name}`, words.__('tag %1', name)] as const
              )
            ]}
            onChoose={setChosenFilter}
          />
        )}
      </header>
      <HiddenNotesRemark />
      {notes.length === 0 && hiddenCount === 0 ? (
        <p className="plm-Muted">
          {writeNote === null
            ? words.__('Nobody wrote a note on this session.')
            : words.__(
                'Nobody wrote a note yet. A note is kept beside the session, where colleagues find it.'
              )}
        </p>
      ) : (
        <ul className="plm-Note-list">
          {shownNotes.map(noteView => (
            <li key={noteView.note.id} className="plm-Note">
              <NoteEntry noteView={noteView} />
            </li>
          ))}
        </ul>
      )}
      {problems.map(problem => (
        <p key={problem} className="plm-Muted">
          <bdi>{problem}</bdi>
        </p>
      ))}
    </section>
  );
}

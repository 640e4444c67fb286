/** The form in which a note is written or changed. */
import { useId, useState, type ReactNode } from 'react';
import type { Note } from '../../../protocol/generated';
import type { INoteWords } from '../../../state/inspector/source';
import { SmallButton } from '../../controls/buttons';
import { SelectField } from '../../controls/fields';
import { onEscape } from '../../dom/effects';
import { useHost, type IWords } from '../../host';
import { useInspection, type IInspection } from '../controls/inspection';
import { useReaderNotes } from './readerNotes';

type VerdictName = Note['verdict'];

const VERDICTS: readonly VerdictName[] = ['', 'good', 'bad', 'unsure'];
const MAX_TEXT_CHARS = 4000;
const MAX_TAG_CHARS = 60;
const MAX_AUTHOR_CHARS = 120;

/** A place that a note can be written on. */
interface INotePlaceChoice {
  readonly name: string;
  readonly place: INoteWords;
}

/** Draws the form; `note` is the one that is changed, null for a new one. */
export function NoteForm({
  note,
  onEnd
}: {
  note: Note | null;
  onEnd: () => void;
}) {
  const { words } = useHost();
  const inspection = useInspection();
  const { write, author: lastAuthor } = useReaderNotes();
  const idPrefix = useId();
  const [text, setText] = useState(note?.text ?? '');
  const [verdict, setVerdict] = useState<VerdictName>(note?.verdict ?? '');
  const [tag, setTag] = useState(note?.tag ?? '');
  const [author, setAuthor] = useState(lastAuthor);
  const [chosen, setChosen] = useState(0);
  const [last, setLast] = useState('');
  const [problem, setProblem] = useState('');
  const [isSending, setSending] = useState(false);
  const choices = note === null ? placeChoices(inspection, words) : [];
  const choice = choices[Math.min(chosen, choices.length - 1)];
  const isOfRequest =
    choice?.place.request !== undefined &&
    choice.place.item === undefined &&
    choice.place.last === undefined;
  const isEmpty = text.trim() === '' && tag.trim() === '' && verdict === '';
  const save = async () => {
    if (write === null || isEmpty || isSending) {
      return;
    }
    setSending(true);
    const error = await write({
      ...(note === null
        ? placeOf(choice, isOfRequest ? last : '')
        : { note: note.id }),
      text,
      verdict,
      tag,
      author
    });
    setSending(false);
    setProblem(error);
    if (error === '') {
      onEnd();
    }
  };
  return (
    <form
      className="plm-NoteForm"
      aria-label={
        note === null ? words.__('A new note') : words.__('Change the note')
      }
      onSubmit={event => {
        event.preventDefault();
        void save();
      }}
      onKeyDown={onEscape(onEnd)}
    >
      <label htmlFor={`${idPrefix}-text`} className="plm-Hidden">
        {words.__('The note')}
      </label>
      <textarea
        id={`${idPrefix}-text`}
        className="plm-Field plm-NoteForm-text"
        rows={3}
        dir="auto"
        maxLength={MAX_TEXT_CHARS}
        placeholder={words.__('What should a colleague see here?')}
        value={text}
        autoFocus
        onChange={event => {
          setText(event.target.value);
        }}
        onKeyDown={event => {
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
            event.preventDefault();
            void save();
          }
        }}
      />
      <div className="plm-NoteForm-fields">
        {choices.length > 0 && (
          <Labelled name={words.__('on')}>
            <SelectField
              value={String(chosen)}
              choices={choices.map(({ name }, place) => [String(place), name])}
              onChoose={place => {
                setChosen(Number(place));
              }}
            />
          </Labelled>
        )}
        {isOfRequest && (
          <Labelled name={words.__('to request')}>
            <input
              className="plm-Field plm-NoteForm-number"
              inputMode="numeric"
              pattern="[0-9]*"
              placeholder={String(inspection.request + 1)}
              value={last}
              onChange={event => {
                setLast(event.target.value);
              }}
            />
          </Labelled>
        )}
        <Labelled name={words.__('verdict')}>
          <SelectField
            value={verdict}
            choices={VERDICTS.map(name => [
              name,
              name === '' ? words.__('none') : verdictWords(name, words)
            ])}
            onChoose={name => {
              setVerdict(name as VerdictName);
            }}
          />
        </Labelled>
        <Labelled name={words.__('tag')}>
          <input
            className="plm-Field plm-NoteForm-word"
            maxLength={MAX_TAG_CHARS}
            value={tag}
            onChange={event => {
              setTag(event.target.value);
            }}
          />
        </Labelled>
        <Labelled name={words.__('your name')}>
          <input
            className="plm-Field plm-NoteForm-word"
            maxLength={MAX_AUTHOR_CHARS}
            value={author}
            onChange={event => {
              setAuthor(event.target.value);
            }}
          />
        </Labelled>
      </div>
      <div className="plm-Inspector-buttons">
        <button
          type="submit"
          className="plm-Button plm-Button-small"
          aria-disabled={isEmpty || isSending}
        >
          {words.__('Save the note')}
        </button>
        <SmallButton onClick={onEnd}>{words.__('Cancel')}</SmallButton>
        <span role="status">{problem}</span>
      </div>
    </form>
  );
}

/** Returns the name of a verdict. */
export function verdictWords(verdict: VerdictName, words: IWords): string {
  switch (verdict) {
    case 'good':
      return words.__('good');
    case 'bad':
      return words.__('bad');
    case 'unsure':
      return words.__('unsure');
    default:
      return verdict;
  }
}

function Labelled({ name, children }: { name: string; children: ReactNode }) {
  return (
    <label className="plm-NoteForm-field">
      <span className="plm-Muted">{name}</span> {children}
    </label>
  );
}

/** Returns the place of a choice; with the number of a later request the range from one to the other. */
function placeOf(
  choice: INotePlaceChoice | undefined,
  last: string
): INoteWords {
  const place = choice?.place ?? {};
  const until = Number.parseInt(last, 10);
  return Number.isNaN(until) || until === place.request
    ? place
    : { ...place, last: until };
}

/** Returns the places at the cursor, the nearest first; numbers count from 1. */
function placeChoices(
  { view, request, item, range }: IInspection,
  words: IWords
): INotePlaceChoice[] {
  const number = request + 1;
  const compactions = view.events.filter(({ kind }) => kind === 'compact');
  const choices: INotePlaceChoice[] = [
    {
      name: words.__('request %1', number),
      place: { request: number }
    }
  ];
  if (range !== null && range.first < range.last) {
    choices.unshift({
      name: words.__('requests %1 to %2', range.first + 1, range.last + 1),
      place: { request: range.first + 1, last: range.last + 1 }
    });
  }
  if (item !== null) {
    choices.unshift({
      name: words.__('item %1 in request %2', item + 1, number),
      place: { item: item + 1, request: number }
    });
  }
  if (view.breaks.some(entry => entry.request === request)) {
    choices.push({
      name: words.__('the cache break at request %1', number),
      place: { cache_break: number }
    });
  }
  compactions.forEach((event, place) => {
    if (event.request === request) {
      choices.push({
        name: words.__('compaction %1', place + 1),
        place: { compaction: place + 1 }
      });
    }
  });
  choices.push({ name: words.__('the whole session'), place: {} });
  return choices;
}

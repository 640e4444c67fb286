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
export function NoteForm(props: { note: Note | null; onEnd: () => void }) {
  const { note, onEnd } = props;
  const { words } = useHost();
  const inspection = useInspection();
  const { writeNote, author: lastAuthor } = useReaderNotes();
  const idPrefix = useId();
  const [text, setText] = useState(note?.text ?? '');
  const [verdict, setVerdict] = useState<VerdictName>(note?.verdict ?? '');
  const [tag, setTag] = useState(note?.tag ?? '');
  const [author, setAuthor] = useState(lastAuthor);
  const [chosenIndex, setChosenIndex] = useState(0);
  const [lastRequestText, setLastRequestText] = useState('');
  const [problem, setProblem] = useState('');
  const [isSending, setSending] = useState(false);
  const choices = note === null ? placeChoices(inspection, words) : [];
  const choice = choices[Math.min(chosenIndex, choices.length - 1)];
  const isOfRequest =
    choice?.place.request !== undefined &&
    choice.place.item === undefined &&
    choice.place.last === undefined;
  const isEmpty = text.trim() === '' && tag.trim() === '' && verdict === '';
  const save = async () => {
    if (writeNote === null || isEmpty || isSending) {
      return;
    }
    setSending(true);
    const error = await writeNote({
      ...(note === null
        ? placeOf(choice, isOfRequest ? lastRequestText : '')
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
          <LabelledField name={words.__('on')}>
            <SelectField
              value={String(chosenIndex)}
              choices={choices.map(({ name }, index) => [String(index), name])}
              onChoose={index => {
                setChosenIndex(Number(index));
              }}
            />
          </LabelledField>
        )}
        {isOfRequest && (
          <LabelledField name={words.__('to request')}>
            <input
              className="plm-Field plm-NoteForm-number"
              inputMode="numeric"
              pattern="[0-9]*"
              placeholder={String(inspection.request + 1)}
              value={lastRequestText}
              onChange={event => {
                setLastRequestText(event.target.value);
              }}
            />
          </LabelledField>
        )}
        <LabelledField name={words.__('verdict')}>
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
        </LabelledField>
        <LabelledField name={words.__('tag')}>
          <input
            className="plm-Field plm-NoteForm-word"
            maxLength={MAX_TAG_CHARS}
            value={tag}
            onChange={event => {
              setTag(event.target.value);
            }}
          />
        </LabelledField>
        <LabelledField name={words.__('your name')}>
          <input
            className="plm-Field plm-NoteForm-word"
            maxLength={MAX_AUTHOR_CHARS}
            value={author}
            onChange={event => {
              setAuthor(event.target.value);
            }}
          />
        </LabelledField>
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

function LabelledField({
  name,
  children
}: {
  name: string;
  children: ReactNode;
}) {
  return (
    <label className="plm-NoteForm-field">
      <span className="plm-Muted">{name}</span> {children}
    </label>
  );
}

/** Returns the place of a choice; with the number of a later request the range from one to the other. */
function placeOf(
  choice: INotePlaceChoice | undefined,
  lastRequestText: string
): INoteWords {
  const place = choice?.place ?? {};
  const lastRequest = Number.parseInt(lastRequestText, 10);
  return Number.isNaN(lastRequest) || lastRequest === place.request
    ? place
    : { ...place, last: lastRequest };
}

/** Returns the places at the cursor, the nearest first; numbers count from 1. */
function placeChoices(
  { view, request, item, range }: IInspection,
  words: IWords
): INotePlaceChoice[] {
  const requestNumber = request + 1;
  const compactions = view.events.filter(({ kind }) => kind === 'compact');
  const choices: INotePlaceChoice[] = [
    {
      name: words.__('request %1', requestNumber),
      place: { request: requestNumber }
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
      name: words.__('item %1 in request %2', item + 1, requestNumber),
      place: { item: item + 1, request: requestNumber }
    });
  }
  if (view.breaks.some(cacheBreak => cacheBreak.request === request)) {
    choices.push({
      name: words.__('the cache break at request %1', requestNumber),
      place: { cache_break: requestNumber }
    });
  }
  compactions.forEach((event, index) => {
    if (event.request === request) {
      choices.push({
        name: words.__('compaction %1', index + 1),
        place: { compaction: index + 1 }
      });
    }
  });
  choices.push({ name: words.__('the whole session'), place: {} });
  return choices;
}

/**
 * Completes the word at the caret: a command at the start of a prompt; a variable, a cell, a file or an
 * agent anywhere.
 *
 * The text field keeps the focus; the list above it only shows the choice (ARIA's combobox pattern),
 * so that Enter sends as usual when no list is open.
 */
import {
  useId,
  useLayoutEffect,
  useRef,
  useState,
  type KeyboardEvent,
  type MutableRefObject,
  type RefObject
} from 'react';
import type { Choices, MentionRow } from '../../protocol/generated';
import { useHost, type IWords } from '../host';
import type { IOption } from '../controls/picker';
import { mentionGroups, type IOptionGroup } from './mentions';
import {
  argumentGroups,
  commandGroups,
  type IArgumentWord,
  type ISlashCommands
} from './slashCommands';

/** A word that begins the name of a command, or a mention, or that follows a command. */
type IWord =
  | {
      sign: '/' | '@';
      /** The text between the sign and the caret. */
      typedText: string;
      start: number;
      end: number;
    }
  | IArgumentWord;

/** A mention up to the caret; a cell's has a space in it. */
const MENTION = /(^|[\s(])@((?:cell|out)[ \t]+\d*|\S*)$/;
const WHOLE_MENTION = /^@(?:(?:cell|out)[ \t]+\d+|\S*)/;
/** Matches punctuation behind a name. */
const END_PUNCTUATION = /[.,;:!?)\]}'"]+$/;

/** Returns the word at the caret if it begins with the sign of a command or a mention. */
export function wordAt(text: string, caret: number): IWord | null {
  const before = text.slice(0, caret);
  const mention = MENTION.exec(before);
  const start = mention
    ? mention.index + (mention[1]?.length ?? 0)
    : before.search(/\S*$/);
  const sign = mention ? '@' : '/';
  const isFirst = before.slice(0, start).trim() === '';
  if (!mention && (before[start] !== '/' || !isFirst)) {
    return null;
  }
  const mentionEnd = mention
    ? start + (WHOLE_MENTION.exec(text.slice(start))?.[0].length ?? 0)
    : 0;
  const end = Math.max(caret + text.slice(caret).search(/\s|$/), mentionEnd);
  return { sign, typedText: before.slice(start + 1), start, end };
}

/** Returns the options for a word by kind; none if it is complete. */
export function optionGroups(
  word: IWord,
  choices: Choices | null,
  rows: readonly MentionRow[],
  commands: ISlashCommands,
  words: IWords
): IOptionGroup[] {
  const { sign, typedText } = word;
  const groups =
    sign === '/'
      ? commandGroups(typedText, choices, commands.builtIn, words)
      : sign === ''
        ? argumentGroups(typedText, commands.arguments, words)
        : mentionGroups(typedText, rows, choices, words);
  const [option, ...others] = groups.flatMap(group => group.options);
  return option?.value === typedText && others.length === 0 ? [] : groups;
}

/** Returns the text with the word completed, and the new caret position. */
export function withCompletion(text: string, word: IWord, name: string) {
  const before = `${text.slice(0, word.start)}${word.sign}${name} `;
  return {
    text: before + text.slice(word.end).replace(/^[^\S\n]/, ''),
    caret: before.length
  };
}

interface ICompletion {
  groups: readonly IOptionGroup[];
  /** The options of all groups. */
  options: readonly IOption[];
  sign: IWord['sign'];
  /** The index of the option that Enter takes; -1 where it sends, until one is chosen. */
  activeIndex: number;
  id: string;
  takeOption: (option: IOption) => void;
}

/** Returns a reference for the place at which the caret stands once a text that was written is drawn. */
export function useNextCaret(
  fieldRef: RefObject<HTMLTextAreaElement | null>,
  text: string
): MutableRefObject<number | null> {
  const caretRef = useRef<number | null>(null);
  useLayoutEffect(() => {
    if (caretRef.current !== null) {
      fieldRef.current?.setSelectionRange(caretRef.current, caretRef.current);
      caretRef.current = null;
    }
  }, [fieldRef, text]);
  return caretRef;
}

/** Returns the open list, or null, and what the text field needs for it. */
export function useCompletion(
  fieldRef: RefObject<HTMLTextAreaElement | null>,
  text: string,
  write: (text: string, caret: number) => void,
  word: IWord | null,
  choices: Choices | null,
  rows: readonly MentionRow[],
  commands: ISlashCommands
) {
  const id = useId();
  const { words } = useHost();
  const [chosen, setChosen] = useState({ wordText: 'nothing', index: 0 });
  const [closedStart, setClosedStart] = useState(-1);
  const caretRef = useNextCaret(fieldRef, text);
  const start = word?.start ?? -1;
  if (closedStart !== -1 && closedStart !== start) {
    setClosedStart(-1);
  }
  const groups =
    word === null || closedStart === start
      ? []
      : optionGroups(word, choices, rows, commands, words);
  const options = groups.flatMap(group => group.options);
  const isOpen = word !== null && options.length > 0;
  const wordText = word === null ? '' : word.sign + word.typedText;
  // What may follow a command need not: Enter sends it as it is.
  const defaultIndex = word?.sign === '' && word.typedText === '' ? -1 : 0;
  const activeIndex =
    chosen.wordText === wordText
      ? Math.min(chosen.index, options.length - 1)
      : defaultIndex;
  // A name that is written out is sent by Enter, also before a full stop; a chosen one is taken.
  const isWrittenOut =
    chosen.wordText !== wordText &&
    options.some(
      ({ value }) => value === word?.typedText.replace(END_PUNCTUATION, '')
    );
  const takeOption = ({ value }: IOption) => {
    if (word !== null) {
      const completed = withCompletion(text, word, value);
      caretRef.current = completed.caret;
      write(completed.text, completed.caret);
    }
  };
  /** Handles a key; returns whether the list used it. */
  const onKey = (event: KeyboardEvent): boolean => {
    const isPlain = !(
      event.shiftKey ||
      event.ctrlKey ||
      event.altKey ||
      event.metaKey
    );
    if (!isOpen || !isPlain) {
      return false;
    }
    const option =
      options[event.key === 'Tab' ? Math.max(activeIndex, 0) : activeIndex];
    const steps: Partial<Record<string, number>> = {
      ArrowDown: 1,
      ArrowUp: -1
    };
    const step = steps[event.key];
    if (step !== undefined) {
      const fromIndex = activeIndex === -1 && step === -1 ? 0 : activeIndex;
      const nextIndex = (fromIndex + step + options.length) % options.length;
      setChosen({ wordText, index: nextIndex });
    } else if (event.key === 'Escape') {
      setClosedStart(start);
    } else if (
      option !== undefined &&
      (event.key === 'Tab' || (event.key === 'Enter' && !isWrittenOut))
    ) {
      takeOption(option);
    } else {
      return false;
    }
    event.preventDefault();
    return true;
  };
  const list: ICompletion | null = isOpen
    ? { groups, options, sign: word.sign, activeIndex, id, takeOption }
    : null;
  return { list, onKey };
}

/** Draws the list above the text field. */
export function Completions({ list }: { list: ICompletion }) {
  const { words } = useHost();
  const { activeIndex, groups, id, sign } = list;
  const listboxRef = useRef<HTMLDivElement>(null);
  const suggestionCount = optionCount(list);
  useLayoutEffect(() => {
    const box = listboxRef.current;
    const row = box?.querySelector('[aria-selected="true"]');
    if (box && row instanceof HTMLElement) {
      const { offsetTop, offsetHeight } = row;
      const lowest = offsetTop + offsetHeight - box.clientHeight;
      // Above the first option stands the name of its kind.
      box.scrollTop =
        activeIndex <= 0
          ? 0
          : Math.max(Math.min(box.scrollTop, offsetTop), lowest);
    }
  }, [activeIndex, suggestionCount]);
  return (
    <div className="plm-Picker-list plm-Completions" data-sign={sign}>
      <div
        ref={listboxRef}
        id={id}
        role="listbox"
        // A list that scrolls can be reached by keys other than those of the prompt, too.
        tabIndex={0}
        aria-label={
          sign === '@'
            ? words.__('What you can name')
            : sign === '/'
              ? words.__('Commands')
              : words.__('What may follow')
        }
      >
        {groups.map(group => (
          <Group key={group.name} list={list} group={group} />
        ))}
      </div>
    </div>
  );
}

/** Tells a screen reader how many options there are; it is there before they are, or it would not be read. */
export function CompletionStatus({ list }: { list: ICompletion | null }) {
  const { words } = useHost();
  const suggestionCount = list === null ? 0 : optionCount(list);
  return (
    <span className="plm-Hidden" role="status">
      {suggestionCount > 0 &&
        words._n('%1 suggestion', '%1 suggestions', suggestionCount)}
    </span>
  );
}

function optionCount({ groups }: ICompletion): number {
  return groups.reduce((sum, { count }) => sum + count, 0);
}

/** Draws the options of one kind. */
function Group({ list, group }: { list: ICompletion; group: IOptionGroup }) {
  const { words } = useHost();
  const { activeIndex, sign, takeOption } = list;
  const { name, count, options } = group;
  return (
    <div role="group" aria-label={name}>
      {(sign === '@' || list.groups.length > 1) && (
        <div className="plm-Completions-kind plm-Muted" aria-hidden="true">
          {count > options.length ? words.__('%1 (%2)', name, count) : name}
        </div>
      )}
      {options.map(option => {
        const index = list.options.indexOf(option);
        const id = optionId(list, index);
        return (
          // The text field handles the keys and keeps the focus.
          <div
            key={option.value}
            id={id}
            role="option"
            aria-selected={index === activeIndex}
            aria-label={sign + option.value}
            aria-describedby={option.about === '' ? undefined : `${id}-about`}
            className="plm-Sessions-row"
            onMouseDown={event => {
              event.preventDefault();
            }}
            onClick={() => {
              takeOption(option);
            }}
          >
            <span className="plm-Sessions-title">{sign + option.value}</span>{' '}
            {option.about !== '' && (
              <span className="plm-Muted" id={`${id}-about`}>
                {option.failed === true && (
                  <span className="plm-Completions-failed">
                    {words.__('failed')}
                  </span>
                )}{' '}
                {option.about}
              </span>
            )}
          </div>
        );
      })}
    </div>
  );
}

/** Returns the ARIA attributes of a text field with a list. */
export function listAttributes(list: ICompletion | null) {
  return {
    'aria-autocomplete': 'list' as const,
    'aria-haspopup': 'listbox' as const,
    'aria-controls': list?.id,
    'aria-activedescendant':
      list === null || list.activeIndex === -1
        ? undefined
        : optionId(list, list.activeIndex)
  };
}

function optionId({ id }: ICompletion, index: number): string {
  return `${id}-${index}`;
}

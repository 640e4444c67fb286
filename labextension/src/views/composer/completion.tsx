/**
 * Completes the word at the caret: a command at the start of a prompt, an agent anywhere.
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
  type RefObject
} from 'react';
import type { Choices } from '../../protocol/generated';
import { useHost } from '../host';
import type { IOption } from '../controls/picker';

/** A word that begins the name of a command or an agent. */
interface IWord {
  sign: '/' | '@';
  /** The text between the sign and the caret. */
  wanted: string;
  start: number;
  end: number;
}

/** The maximum number of shown options; typing another letter finds the others. */
const SHOWN = 60;

/** Returns the word at the caret if it begins with the sign of a command or an agent. */
export function wordAt(text: string, caret: number): IWord | null {
  const start = text.slice(0, caret).search(/\S*$/);
  const sign = text[start];
  const isFirst = text.slice(0, start).trim() === '';
  if (start === caret || !(sign === '@' || (sign === '/' && isFirst))) {
    return null;
  }
  const end = caret + text.slice(caret).search(/\s|$/);
  return { sign, wanted: text.slice(start + 1, caret), start, end };
}

/** Returns the options for a word; none if it is complete. */
export function offers(word: IWord, choices: Choices | null): IOption[] {
  const named = word.sign === '/' ? choices?.commands : choices?.subagents;
  const wanted = word.wanted.toLowerCase();
  const found = (named ?? [])
    .filter(({ name }) => name.toLowerCase().includes(wanted))
    .map(({ name, description }) => ({ value: name, about: description }));
  const isWhole = found.length === 1 && found[0]?.value === word.wanted;
  const begins = ({ value }: IOption) =>
    value.toLowerCase().startsWith(wanted) ? 0 : 1;
  return isWhole
    ? []
    : found.sort((one, other) => begins(one) - begins(other)).slice(0, SHOWN);
}

/** Returns the text with the word completed, and the new caret position. */
export function written(text: string, word: IWord, name: string) {
  const before = `${text.slice(0, word.start)}${word.sign}${name} `;
  return {
    text: before + text.slice(word.end).replace(/^[^\S\n]/, ''),
    caret: before.length
  };
}

interface ICompletion {
  options: readonly IOption[];
  sign: string;
  /** The index of the option that Enter takes. */
  at: number;
  id: string;
  take: (option: IOption) => void;
}

/** Returns the open list, or null, and what the text field needs for it. */
export function useCompletion(
  field: RefObject<HTMLTextAreaElement | null>,
  text: string,
  write: (text: string, caret: number) => void,
  word: IWord | null,
  choices: Choices | null
) {
  const id = useId();
  const [chosen, setChosen] = useState({ of: '', at: 0 });
  const [closed, setClosed] = useState(-1);
  const caret = useRef<number | null>(null);
  useLayoutEffect(() => {
    if (caret.current !== null) {
      field.current?.setSelectionRange(caret.current, caret.current);
      caret.current = null;
    }
  }, [field, text]);
  const start = word?.start ?? -1;
  if (closed !== -1 && closed !== start) {
    setClosed(-1);
  }
  const options =
    word === null || closed === start ? [] : offers(word, choices);
  const isOpen = word !== null && options.length > 0;
  const of = word === null ? '' : word.sign + word.wanted;
  const at = chosen.of === of ? Math.min(chosen.at, options.length - 1) : 0;
  const take = ({ value }: IOption) => {
    if (word !== null) {
      const now = written(text, word, value);
      caret.current = now.caret;
      write(now.text, now.caret);
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
    const option = options[at];
    const steps: Partial<Record<string, number>> = {
      ArrowDown: 1,
      ArrowUp: -1
    };
    const step = steps[event.key];
    if (step !== undefined) {
      const next = (at + step + options.length) % options.length;
      setChosen({ of, at: next });
    } else if (event.key === 'Escape') {
      setClosed(start);
    } else if (
      (event.key === 'Enter' || event.key === 'Tab') &&
      option !== undefined
    ) {
      take(option);
    } else {
      return false;
    }
    event.preventDefault();
    return true;
  };
  const list: ICompletion | null = isOpen
    ? { options, sign: word.sign, at, id, take }
    : null;
  return { list, onKey };
}

/** Draws the list above the text field. */
export function Completions({ list }: { list: ICompletion }) {
  const { words } = useHost();
  const { at, id, options, sign, take } = list;
  const rows = useRef<HTMLUListElement>(null);
  useLayoutEffect(() => {
    const box = rows.current;
    const row = box?.children[at];
    if (box && row instanceof HTMLElement) {
      const { offsetTop, offsetHeight } = row;
      const lowest = offsetTop + offsetHeight - box.clientHeight;
      box.scrollTop = Math.max(Math.min(box.scrollTop, offsetTop), lowest);
    }
  }, [at, options.length]);
  return (
    <div className="plm-Picker-list plm-Completions">
      <ul
        ref={rows}
        id={id}
        role="listbox"
        aria-label={sign === '/' ? words.__('Commands') : words.__('Agents')}
      >
        {options.map((option, index) => (
          // The text field handles the keys and keeps the focus.
          <li
            key={option.value}
            id={optionId(list, index)}
            role="option"
            aria-selected={index === at}
            aria-label={sign + option.value}
            aria-describedby={`${optionId(list, index)}-about`}
            className="plm-Sessions-row"
            onMouseDown={event => {
              event.preventDefault();
            }}
            onClick={() => {
              take(option);
            }}
          >
            <span className="plm-Sessions-title">{sign + option.value}</span>{' '}
            <span className="plm-Muted" id={`${optionId(list, index)}-about`}>
              {option.about}
            </span>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** Returns the ARIA attributes of a text field with a list. */
export function listed(list: ICompletion | null) {
  return {
    'aria-autocomplete': 'list' as const,
    'aria-haspopup': 'listbox' as const,
    'aria-controls': list?.id,
    'aria-activedescendant': list === null ? undefined : optionId(list, list.at)
  };
}

function optionId({ id }: ICompletion, index: number): string {
  return `${id}-${index}`;
}

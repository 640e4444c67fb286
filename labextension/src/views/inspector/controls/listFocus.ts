/** A long list, or a toolbar, is one stop of the Tab key; arrows, Home and End move in it. */
import { useState, type FocusEvent, type KeyboardEvent } from 'react';

/** The mark of an element of the list that takes the focus. */
export const STOP = { 'data-list-stop': true } as const;
const STOPS = '[data-list-stop]';

export interface IListFocus {
  /** Returns the `tabIndex` of a stop; they are counted from 0. */
  readonly tabIndex: (stop: number) => 0 | -1;
  /** The handlers of the list. */
  readonly list: {
    onFocus: (event: FocusEvent<HTMLElement>) => void;
    onKeyDown: (event: KeyboardEvent<HTMLElement>) => void;
  };
}

/** The keys that lead to the stop before and to the next one. */
interface IListKeys {
  readonly before: string;
  readonly next: string;
}

const LIST_KEYS: IListKeys = { before: 'ArrowUp', next: 'ArrowDown' };
/** The keys of stops that stand beside each other. */
export const TOOLBAR_KEYS: IListKeys = {
  before: 'ArrowLeft',
  next: 'ArrowRight'
};

/** Lets the Tab key reach one of so many stops: the one that had the focus last. */
export function useListFocus(
  stops: number,
  keys: IListKeys = LIST_KEYS
): IListFocus {
  const [last, setLast] = useState(0);
  const active = Math.min(last, Math.max(stops - 1, 0));
  return {
    tabIndex: stop => (stop === active ? 0 : -1),
    list: {
      onFocus: ({ currentTarget, target }) => {
        const stop = stopsOf(currentTarget).indexOf(target);
        if (stop >= 0) {
          setLast(stop);
        }
      },
      onKeyDown: event => {
        const stopElements = stopsOf(event.currentTarget);
        const current = stopElements.indexOf(event.target as HTMLElement);
        const next =
          current < 0
            ? undefined
            : stopElements[placeFor(event, current, stopElements, keys)];
        if (next !== undefined) {
          event.preventDefault();
          next.focus();
        }
      }
    }
  };
}

function stopsOf(list: HTMLElement): HTMLElement[] {
  return [...list.querySelectorAll<HTMLElement>(STOPS)];
}

function placeFor(
  { key, altKey, ctrlKey, metaKey, shiftKey }: KeyboardEvent,
  current: number,
  stopElements: readonly HTMLElement[],
  keys: IListKeys
): number {
  if (altKey || ctrlKey || metaKey || shiftKey) {
    return -1;
  }
  switch (key) {
    case keys.next:
      return current + 1;
    case keys.before:
      return current - 1;
    case 'Home':
      return 0;
    case 'End':
      return stopElements.length - 1;
    default:
      return -1;
  }
}

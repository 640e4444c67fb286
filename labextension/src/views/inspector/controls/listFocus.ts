/** A long list, or a toolbar, is one stop of the Tab key; arrows, Home and End move in it. */
import { useState, type FocusEvent, type KeyboardEvent } from 'react';

/** The mark of an element of the list that takes the focus. */
export const STOP_ATTRIBUTE = { 'data-list-stop': true } as const;
const STOP_SELECTOR = '[data-list-stop]';

export interface IListFocus {
  /** Returns the `tabIndex` of a stop; they are counted from 0. */
  readonly tabIndexOf: (stop: number) => 0 | -1;
  /** The handlers of the list. */
  readonly handlers: {
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
  stopCount: number,
  keys: IListKeys = LIST_KEYS
): IListFocus {
  const [lastStop, setLastStop] = useState(0);
  const activeStop = Math.min(lastStop, Math.max(stopCount - 1, 0));
  return {
    tabIndexOf: stop => (stop === activeStop ? 0 : -1),
    handlers: {
      onFocus: ({ currentTarget, target }) => {
        const stop = stopElementsOf(currentTarget).indexOf(target);
        if (stop >= 0) {
          setLastStop(stop);
        }
      },
      onKeyDown: event => {
        const stopElements = stopElementsOf(event.currentTarget);
        const currentStop = stopElements.indexOf(event.target as HTMLElement);
        const nextElement =
          currentStop < 0
            ? undefined
            : stopElements[
                stopAfterKey(event, currentStop, stopElements, keys)
              ];
        if (nextElement !== undefined) {
          event.preventDefault();
          nextElement.focus();
        }
      }
    }
  };
}

function stopElementsOf(list: HTMLElement): HTMLElement[] {
  return [...list.querySelectorAll<HTMLElement>(STOP_SELECTOR)];
}

function stopAfterKey(
  { key, altKey, ctrlKey, metaKey, shiftKey }: KeyboardEvent,
  currentStop: number,
  stopElements: readonly HTMLElement[],
  keys: IListKeys
): number {
  if (altKey || ctrlKey || metaKey || shiftKey) {
    return -1;
  }
  switch (key) {
    case keys.next:
      return currentStop + 1;
    case keys.before:
      return currentStop - 1;
    case 'Home':
      return 0;
    case 'End':
      return stopElements.length - 1;
    default:
      return -1;
  }
}

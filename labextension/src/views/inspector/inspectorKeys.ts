/**
 * Keys that work everywhere in an inspector: back and forward, to the breaks of the cache, to the search, to the list
 * of keys.
 */
import { useEffect, useMemo, useRef, type KeyboardEvent } from 'react';
import { nearestRequest } from '../../state/inspector/figures/requestCost';
import type {
  IInspectedSession,
  IInspectorCursor
} from './controls/inspection';
import type { IWaysBackAndForward } from './shownPlace';

/** The field that searches the grid's items, or the blocks of a request. */
const SEARCH_FIELD = '.plm-GridFilter-text, .plm-RequestViewer-find';
/** Inputs that take no letters. */
const WITHOUT_LETTERS: readonly string[] = [
  'button',
  'checkbox',
  'radio',
  'range'
];

/** The keys that, with Alt, go back and forward. */
const STEP_KEYS: Readonly<Record<string, 'back' | 'forward' | undefined>> = {
  ArrowLeft: 'back',
  ArrowRight: 'forward'
};

interface IInspectorKeysOptions {
  session: Pick<IInspectedSession, 'view' | 'goTo' | 'hiddenParts'>;
  cursor: Pick<IInspectorCursor, 'request'>;
  /** Null where the page's own keys go back and forward. */
  steps: IWaysBackAndForward | null;
  /** Opens the list of keys. */
  showKeys: () => void;
}

/** Returns the handler of the keys that are pressed in an inspector. */
export function useInspectorKeys({
  session,
  cursor,
  steps,
  showKeys
}: IInspectorKeysOptions): (event: KeyboardEvent<HTMLElement>) => void {
  const { view, goTo, hiddenParts } = session;
  const { request } = cursor;
  const breaks = useMemo(
    () =>
      hiddenParts.has('breaks')
        ? []
        : view.breaks.map(cacheBreak => cacheBreak.request),
    [view, hiddenParts]
  );
  /** The inspector whose search is to have the focus once its tab is drawn. */
  const searched = useRef<HTMLElement | null>(null);
  useEffect(() => {
    if (searched.current !== null && focusSearch(searched.current)) {
      searched.current = null;
    }
  });
  const goToBreak = (direction: 1 | -1) => {
    const to = nearestRequest(breaks, request, direction);
    if (to !== null) {
      goTo({ request: to, against: null });
    }
  };
  return event => {
    if (isForOthers(event)) {
      return;
    }
    if (event.altKey) {
      const direction = STEP_KEYS[event.key];
      if (steps !== null && direction !== undefined && !event.shiftKey) {
        // Also at the end, where the browser would leave the page.
        event.preventDefault();
        steps[direction]?.();
      }
      return;
    }
    switch (event.key) {
      case 'n':
        goToBreak(1);
        break;
      case 'p':
        goToBreak(-1);
        break;
      case '/':
        if (!focusSearch(event.currentTarget)) {
          searched.current = event.currentTarget;
          goTo({ tab: 'items' });
        }
        break;
      case '?':
        showKeys();
        break;
      default:
        return;
    }
    event.preventDefault();
  };
}

/** Moves the focus to the field of a search; returns whether there is one. */
function focusSearch(inspector: HTMLElement): boolean {
  const field = inspector.querySelector<HTMLInputElement>(SEARCH_FIELD);
  field?.focus();
  field?.select();
  return field !== null;
}

/** Returns whether a key belongs to the element it was pressed in, or to the browser. */
function isForOthers(event: KeyboardEvent): boolean {
  const { target } = event;
  return (
    event.defaultPrevented ||
    event.ctrlKey ||
    event.metaKey ||
    (target instanceof HTMLElement && takesLetters(target))
  );
}

function takesLetters(element: HTMLElement): boolean {
  return (
    (element instanceof HTMLInputElement &&
      !WITHOUT_LETTERS.includes(element.type)) ||
    element.isContentEditable ||
    element.closest('select, textarea, dialog, [role="listbox"]') !== null
  );
}

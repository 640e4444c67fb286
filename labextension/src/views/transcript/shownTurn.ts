/** Scrolls the transcript to a turn that a reader asked for from elsewhere. */
import { useEffect, useSyncExternalStore, type RefObject } from 'react';
import { openedPlace } from '../../state/display/openedPlace';
import type { ITurn } from '../../state/display/turns';
import { useLatest } from '../dom/effects';

/** Milliseconds in which a turn that was just rendered gets its height. */
const SETTLE_MS = 1500;

/**
 * Scrolls to the turn as soon as it is rendered, and gives it the keyboard.
 *
 * What was asked for is done once, and by the transcript that holds the turn: another one that is opened later stays
 * where it is.
 */
export function useShownTurn(
  elementRef: RefObject<HTMLElement>,
  turns: readonly ITurn[],
  onLeave: () => void
): void {
  const shown = useSyncExternalStore(
    openedPlace.subscribe,
    openedPlace.getSnapshot
  );
  const isHere =
    shown?.isScrolledTo === true &&
    turns.some(({ key }) => key === shown.turnKey);
  const leave = useLatest(onLeave);
  useEffect(() => {
    const node = elementRef.current;
    if (node === null || shown === null || !isHere) {
      return;
    }
    const { turnKey: turn } = shown;
    leave.current();
    let turnElement: HTMLElement | null = null;
    const scroll = () => {
      turnElement ??= node.querySelector<HTMLElement>(
        `.plm-Turn[data-turn="${CSS.escape(turn)}"][data-far="false"]`
      );
      if (turnElement !== null && document.activeElement !== turnElement) {
        turnElement.tabIndex = -1;
        turnElement.focus({ preventScroll: true });
      }
      turnElement?.scrollIntoView({ block: 'start' });
    };
    const domObserver = new MutationObserver(scroll);
    domObserver.observe(node, {
      childList: true,
      subtree: true,
      attributes: true,
      attributeFilter: ['data-far']
    });
    const listening = new AbortController();
    const { signal } = listening;
    const stop = () => {
      clearTimeout(timer);
      domObserver.disconnect();
      listening.abort();
    };
    const end = () => {
      stop();
      openedPlace.set(null);
    };
    // From then on, or from the first act of the reader, the place is theirs.
    const timer = setTimeout(end, SETTLE_MS);
    for (const act of READER_EVENTS) {
      document.addEventListener(act, end, {
        capture: true,
        passive: true,
        signal
      });
    }
    // A panel that is being opened focuses its composer.
    document.addEventListener('focusin', scroll, { signal });
    scroll();
    return stop;
  }, [shown, isHere, elementRef, leave]);
}

const READER_EVENTS = ['wheel', 'keydown', 'pointerdown', 'touchmove'] as const;

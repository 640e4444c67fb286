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
 * A request is followed once, and only by the transcript that holds the turn: another one that is opened later stays
 * where it is.
 */
export function useShownTurn(
  elementRef: RefObject<HTMLElement>,
  turns: readonly ITurn[],
  onLeave: () => void
): void {
  const place = useSyncExternalStore(
    openedPlace.subscribe,
    openedPlace.getSnapshot
  );
  const isInTranscript =
    place?.isScrolledTo === true &&
    turns.some(({ key }) => key === place.turnKey);
  const leaveRef = useLatest(onLeave);
  useEffect(() => {
    const node = elementRef.current;
    if (node === null || place === null || !isInTranscript) {
      return;
    }
    const { turnKey: turn } = place;
    leaveRef.current();
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
    const listeners = new AbortController();
    const { signal } = listeners;
    const stop = () => {
      clearTimeout(timer);
      domObserver.disconnect();
      listeners.abort();
    };
    const end = () => {
      stop();
      openedPlace.set(null);
    };
    // After that time, or with the first event of the reader, only the reader scrolls.
    const timer = setTimeout(end, SETTLE_MS);
    for (const eventType of READER_EVENTS) {
      document.addEventListener(eventType, end, {
        capture: true,
        passive: true,
        signal
      });
    }
    // A panel that is being opened focuses its composer.
    document.addEventListener('focusin', scroll, { signal });
    scroll();
    return stop;
  }, [place, isInTranscript, elementRef, leaveRef]);
}

const READER_EVENTS = ['wheel', 'keydown', 'pointerdown', 'touchmove'] as const;

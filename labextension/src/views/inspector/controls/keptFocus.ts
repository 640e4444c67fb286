/** Keeps the focus near where it was when what had it is no longer there. */
import { useEffect, type RefObject } from 'react';

/**
 * Watches an element. A view that is drawn anew, a patch of a live session or another tab may take away what has the
 * focus; the browser then begins at the top of the page. The nearest element around it that can have the focus
 * has it instead.
 */
export function useKeptFocus(place: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const root = place.current;
    if (root === null) {
      return;
    }
    let around: HTMLElement[] = [];
    const enter = (event: FocusEvent) => {
      around =
        event.target instanceof HTMLElement ? path(event.target, root) : [];
    };
    const leave = (event: FocusEvent) => {
      const had = event.target;
      if (event.relatedTarget !== null) {
        around = [];
        return;
      }
      // Without a target it went out of the page, a person clicked beside everything, or what had it is being removed.
      queueMicrotask(() => {
        const isThere = had instanceof Node && had.isConnected;
        if (isThere && document.hasFocus() && around[0] === had) {
          around = [];
        }
      });
    };
    const observer = new MutationObserver(() => {
      const [had] = around;
      if (had === undefined || had.isConnected) {
        return;
      }
      const isLost =
        document.activeElement === null ||
        document.activeElement === document.body;
      const next = around.find(
        one => one.isConnected && one.matches('[tabindex], [aria-label]')
      );
      around = [];
      if (isLost && next !== undefined) {
        if (!next.hasAttribute('tabindex')) {
          next.tabIndex = -1;
        }
        next.focus({ preventScroll: true });
      }
    });
    root.addEventListener('focusin', enter);
    root.addEventListener('focusout', leave);
    observer.observe(root, { childList: true, subtree: true });
    return () => {
      root.removeEventListener('focusin', enter);
      root.removeEventListener('focusout', leave);
      observer.disconnect();
    };
  }, [place]);
}

/** Returns an element and those around it, up to a root. */
function path(from: HTMLElement, root: HTMLElement): HTMLElement[] {
  const found = [];
  let at: HTMLElement | null = from;
  while (at !== null) {
    found.push(at);
    at = at === root ? null : at.parentElement;
  }
  return found;
}

/** Keeps the focus near where it was when what had it is no longer there. */
import { useEffect, type RefObject } from 'react';

/**
 * Watches an element. A view that is drawn anew, a patch of a live session or another tab may take away what has the
 * focus; the browser then begins at the top of the page. The nearest element around it that can have the focus
 * has it instead.
 */
export function useKeptFocus(elementRef: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const root = elementRef.current;
    if (root === null) {
      return;
    }
    let ancestors: HTMLElement[] = [];
    const enter = (event: FocusEvent) => {
      ancestors =
        event.target instanceof HTMLElement
          ? elementAndAncestors(event.target, root)
          : [];
    };
    const leave = (event: FocusEvent) => {
      const previous = event.target;
      if (event.relatedTarget !== null) {
        ancestors = [];
        return;
      }
      // Without a target it went out of the page, a person clicked beside everything, or what had it is being removed.
      queueMicrotask(() => {
        const isThere = previous instanceof Node && previous.isConnected;
        if (isThere && document.hasFocus() && ancestors[0] === previous) {
          ancestors = [];
        }
      });
    };
    const observer = new MutationObserver(() => {
      const [previous] = ancestors;
      if (previous === undefined || previous.isConnected) {
        return;
      }
      const isLost =
        document.activeElement === null ||
        document.activeElement === document.body;
      const next = ancestors.find(
        element =>
          element.isConnected && element.matches('[tabindex], [aria-label]')
      );
      ancestors = [];
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
  }, [elementRef]);
}

/** Returns an element and those around it, up to a root. */
function elementAndAncestors(
  from: HTMLElement,
  root: HTMLElement
): HTMLElement[] {
  const elements = [];
  let current: HTMLElement | null = from;
  while (current !== null) {
    elements.push(current);
    current = current === root ? null : current.parentElement;
  }
  return elements;
}

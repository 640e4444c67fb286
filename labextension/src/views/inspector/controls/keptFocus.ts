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
    const rememberAncestors = (event: FocusEvent) => {
      ancestors =
        event.target instanceof HTMLElement
          ? elementAndAncestors(event.target, root)
          : [];
    };
    const forgetAncestors = (event: FocusEvent) => {
      const previous = event.target;
      if (event.relatedTarget !== null) {
        ancestors = [];
        return;
      }
      // Without a target it went out of the page, a person clicked beside everything, or what had it is being removed.
      queueMicrotask(() => {
        const isStillInPage = previous instanceof Node && previous.isConnected;
        if (isStillInPage && document.hasFocus() && ancestors[0] === previous) {
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
      const nextElement = ancestors.find(
        element =>
          element.isConnected && element.matches('[tabindex], [aria-label]')
      );
      ancestors = [];
      if (isLost && nextElement !== undefined) {
        if (!nextElement.hasAttribute('tabindex')) {
          nextElement.tabIndex = -1;
        }
        nextElement.focus({ preventScroll: true });
      }
    });
    root.addEventListener('focusin', rememberAncestors);
    root.addEventListener('focusout', forgetAncestors);
    observer.observe(root, { childList: true, subtree: true });
    return () => {
      root.removeEventListener('focusin', rememberAncestors);
      root.removeEventListener('focusout', forgetAncestors);
      observer.disconnect();
    };
  }, [elementRef]);
}

/** Returns an element and those around it, up to a root. */
function elementAndAncestors(
  innermost: HTMLElement,
  root: HTMLElement
): HTMLElement[] {
  const elements = [];
  let current: HTMLElement | null = innermost;
  while (current !== null) {
    elements.push(current);
    current = current === root ? null : current.parentElement;
  }
  return elements;
}

/** Determines which rows of a long list are near the viewport; only those are fully rendered. */
import {
  createContext,
  useContext,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
  type CSSProperties,
  type RefObject
} from 'react';

/** The distance from the viewport up to which rows are rendered: two screens. */
const ROOT_MARGIN = '200% 0px';

const ScrollContext = createContext<RefObject<HTMLElement> | null>(null);

/** Provides the scroll container of the rows below; without it, it is searched for. */
export const ScrollProvider = ScrollContext.Provider;

interface INearViewport<E extends HTMLElement> {
  elementRef: RefObject<E>;
  /** Whether the row is fully rendered. */
  near: boolean;
}

/**
 * Observes one row; a row that is not `watched` is in a page that is far away as a whole.
 *
 * A row that is `held`, that has the focus or a selection, or in which the user opened something,
 * stays as it is. Where the browser cannot observe visibility, all rows are near.
 */
export function useNearViewport<E extends HTMLElement>(
  startsNear: () => boolean,
  held = false,
  watched = true
): INearViewport<E> {
  const elementRef = useRef<E>(null);
  const scrolls = useContext(ScrollContext);
  const [near, setNear] = useState(() => held || !canWatch() || startsNear());
  const current = useRef({ near, held, seen: near, touched: false });
  useLayoutEffect(() => {
    current.current.held = held;
  }, [held]);
  useEffect(() => {
    const node = elementRef.current;
    if (node === null || !canWatch()) {
      return;
    }
    const state = current.current;
    const updateIsNear = () => {
      const isNear =
        state.seen || state.held || state.touched || hasFocus(node);
      // Replacing the content would lose the selection.
      if (isNear !== state.near && !isSelected(node)) {
        state.near = isNear;
        setNear(isNear);
      }
    };
    const markTouched = () => {
      state.touched = true;
    };
    const setSeen = (isSeen: boolean) => {
      state.seen = isSeen;
      updateIsNear();
    };
    const root = scrolls?.current ?? scrollContainerOf(node);
    const end = watched ? watchRow(node, root, setSeen) : undefined;
    if (!watched) {
      setSeen(false);
    }
    const settleAfterInput = () => {
      if (state.seen !== state.near) {
        updateIsNear();
      }
    };
    const listening = new AbortController();
    const { signal } = listening;
    node.addEventListener('click', markTouched, { signal });
    node.addEventListener('focusout', settleAfterInput, { signal });
    document.addEventListener('selectionchange', settleAfterInput, { signal });
    return () => {
      end?.();
      listening.abort();
    };
  }, [watched, scrolls]);
  return { elementRef: elementRef, near: near || held };
}

/** Returns the style of a far row with an estimated height; the browser prefers the one it has seen. */
export function heightOfFar(pixels: number): CSSProperties {
  return { containIntrinsicHeight: `auto ${pixels}px` };
}

function hasFocus(node: Node): boolean {
  return node.contains(document.activeElement);
}

function isSelected(node: Node): boolean {
  const selection = document.getSelection();
  return (
    selection !== null &&
    !selection.isCollapsed &&
    selection.rangeCount > 0 &&
    selection.getRangeAt(0).intersectsNode(node)
  );
}

/** Returns the scroll container of an element; null if it is the page. */
function scrollContainerOf(node: Element): Element | null {
  for (
    let ancestor = node.parentElement;
    ancestor !== null;
    ancestor = ancestor.parentElement
  ) {
    const isLonger = ancestor.scrollHeight > ancestor.clientHeight;
    if (isLonger && /auto|scroll/.test(getComputedStyle(ancestor).overflowY)) {
      return ancestor;
    }
  }
  return null;
}

type OnSeen = (isSeen: boolean) => void;

const rows = new WeakMap<Element, OnSeen>();
const observers = new WeakMap<Element, IntersectionObserver>();
let pageObserver: IntersectionObserver | null = null;

/** The number of rows fully rendered in one frame before their visibility is known. */
const MAX_EARLY_ROWS = 12;
let drawnInFrame = 0;

/** Takes one of the frame's draws for rows of unknown visibility; returns whether one was left. */
export function takeEarlyDraw(): boolean {
  if (drawnInFrame === 0) {
    requestAnimationFrame(() => {
      drawnInFrame = 0;
    });
  }
  drawnInFrame += 1;
  return drawnInFrame <= MAX_EARLY_ROWS;
}

function canWatch(): boolean {
  return typeof IntersectionObserver !== 'undefined';
}

/** Calls back when a row enters or leaves the area; returns a function that stops this. */
function watchRow(
  row: Element,
  root: Element | null,
  onSeen: OnSeen
): () => void {
  const observer = observerOf(root);
  rows.set(row, onSeen);
  observer.observe(row);
  return () => {
    rows.delete(row);
    observer.unobserve(row);
  };
}

function observerOf(root: Element | null): IntersectionObserver {
  const existing = root === null ? pageObserver : observers.get(root);
  if (existing) {
    return existing;
  }
  const observer = new IntersectionObserver(
    entries => {
      for (const entry of entries) {
        const { boundingClientRect: box, isIntersecting, target } = entry;
        // An element without a size, such as in a closed side bar, does not count as far away.
        if (isIntersecting || box.width > 0 || box.height > 0) {
          rows.get(target)?.(isIntersecting);
        }
      }
    },
    { root, rootMargin: ROOT_MARGIN }
  );
  if (root === null) {
    pageObserver = observer;
  } else {
    observers.set(root, observer);
  }
  return observer;
}

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
  isNear: boolean;
}

/**
 * Returns a reference for a row, and whether it is near; a row that is not `isWatched` is in a page that is far away as
 * a whole.
 *
 * A row that is `isHeld`, that has the focus or a selection, or in which the user opened something,
 * stays as it is. Where the browser cannot observe visibility, all rows are near.
 */
export function useNearViewport<E extends HTMLElement>(
  startsNear: () => boolean,
  isHeld = false,
  isWatched = true
): INearViewport<E> {
  const elementRef = useRef<E>(null);
  const scrollRef = useContext(ScrollContext);
  const [isNearNow, setNearNow] = useState(
    () => isHeld || !canWatch() || startsNear()
  );
  const stateRef = useRef({
    isNear: isNearNow,
    isHeld,
    isSeen: isNearNow,
    wasTouched: false
  });
  useLayoutEffect(() => {
    stateRef.current.isHeld = isHeld;
  }, [isHeld]);
  useEffect(() => {
    const node = elementRef.current;
    if (node === null || !canWatch()) {
      return;
    }
    const state = stateRef.current;
    const updateIsNear = () => {
      const isNear =
        state.isSeen || state.isHeld || state.wasTouched || hasFocus(node);
      // Replacing the content would lose the selection.
      if (isNear !== state.isNear && !isSelected(node)) {
        state.isNear = isNear;
        setNearNow(isNear);
      }
    };
    const markTouched = () => {
      state.wasTouched = true;
    };
    const setSeen = (isSeen: boolean) => {
      state.isSeen = isSeen;
      updateIsNear();
    };
    const root = scrollRef?.current ?? scrollContainerOf(node);
    const unwatchRow = isWatched ? watchRow(node, root, setSeen) : undefined;
    if (!isWatched) {
      setSeen(false);
    }
    const updateAfterInput = () => {
      if (state.isSeen !== state.isNear) {
        updateIsNear();
      }
    };
    const listenerController = new AbortController();
    const { signal } = listenerController;
    node.addEventListener('click', markTouched, { signal });
    node.addEventListener('focusout', updateAfterInput, { signal });
    document.addEventListener('selectionchange', updateAfterInput, { signal });
    return () => {
      unwatchRow?.();
      listenerController.abort();
    };
  }, [isWatched, scrollRef]);
  return { elementRef, isNear: isNearNow || isHeld };
}

/** Returns the style of a far row with an estimated height; the browser prefers the one it has seen. */
export function farRowStyle(pixels: number): CSSProperties {
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

const rowCallbacks = new WeakMap<Element, OnSeen>();
const observers = new WeakMap<Element, IntersectionObserver>();
let pageObserver: IntersectionObserver | null = null;

/** The number of rows fully rendered in one frame before their visibility is known. */
const MAX_EARLY_ROWS = 12;
let earlyRowsInFrame = 0;

/** Takes one of the frame's draws for rows of unknown visibility; returns whether one was left. */
export function takeEarlyDraw(): boolean {
  if (earlyRowsInFrame === 0) {
    requestAnimationFrame(() => {
      earlyRowsInFrame = 0;
    });
  }
  earlyRowsInFrame += 1;
  return earlyRowsInFrame <= MAX_EARLY_ROWS;
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
  rowCallbacks.set(row, onSeen);
  observer.observe(row);
  return () => {
    rowCallbacks.delete(row);
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
          rowCallbacks.get(target)?.(isIntersecting);
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

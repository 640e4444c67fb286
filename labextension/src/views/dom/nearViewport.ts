/**
 * Tells which rows of something long are near to what is seen; only those are drawn whole.
 */
import {
  createContext,
  useContext,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
  type RefObject
} from 'react';

/** So far around what is seen, rows are drawn whole: two screens. */
const AROUND = '200% 0px';

const ScrollContext = createContext<RefObject<HTMLElement> | null>(null);

/** Says in what the rows below are scrolled; elsewhere it is looked for. */
export const ScrollProvider = ScrollContext.Provider;

interface INearViewport<E extends HTMLElement> {
  place: RefObject<E>;
  /** The row is drawn whole. */
  near: boolean;
}

/**
 * Follows one row; one that is not `watched` lies in something that is far as a whole.
 *
 * A row that is `held`, in which something has the keyboard or is selected, or in which a person
 * opened something, stays as it is drawn. Where a page cannot tell what is seen, all are near.
 */
export function useNearViewport<E extends HTMLElement>(
  starts: () => boolean,
  held = false,
  watched = true
): INearViewport<E> {
  const place = useRef<E>(null);
  const scrolls = useContext(ScrollContext);
  const [near, setNear] = useState(() => held || !canWatch() || starts());
  const now = useRef({ near, held, seen: near, touched: false });
  useLayoutEffect(() => {
    now.current.held = held;
  }, [held]);
  useEffect(() => {
    const node = place.current;
    if (node === null || !canWatch()) {
      return;
    }
    const state = now.current;
    const settle = () => {
      const wants = state.seen || state.held || state.touched || hasFocus(node);
      // What is selected would be lost with what it stands in.
      if (wants !== state.near && !isSelected(node)) {
        state.near = wants;
        setNear(wants);
      }
    };
    const touch = () => {
      state.touched = true;
    };
    const tell = (seen: boolean) => {
      state.seen = seen;
      settle();
    };
    const root = scrolls?.current ?? scroller(node);
    const end = watched ? watch(node, root, tell) : undefined;
    if (!watched) {
      tell(false);
    }
    const later = () => {
      if (state.seen !== state.near) {
        settle();
      }
    };
    node.addEventListener('click', touch);
    node.addEventListener('focusout', later);
    document.addEventListener('selectionchange', later);
    return () => {
      end?.();
      node.removeEventListener('click', touch);
      node.removeEventListener('focusout', later);
      document.removeEventListener('selectionchange', later);
    };
  }, [watched, scrolls]);
  return { place, near: near || held };
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

/** Returns what scrolls an element; null where that is the page. */
function scroller(node: Element): Element | null {
  for (let up = node.parentElement; up !== null; up = up.parentElement) {
    const isLonger = up.scrollHeight > up.clientHeight;
    if (isLonger && /auto|scroll/.test(getComputedStyle(up).overflowY)) {
      return up;
    }
  }
  return null;
}

type Told = (seen: boolean) => void;

const rows = new WeakMap<Element, Told>();
const observers = new WeakMap<Element, IntersectionObserver>();
let ofPage: IntersectionObserver | null = null;

/** So many rows are drawn whole within one frame before anybody knows what is seen. */
const AT_ONCE = 12;
let begun = 0;

/** Tells whether another row may be drawn before it is known to be near; counts it. */
export function mayDrawNow(): boolean {
  if (begun === 0) {
    requestAnimationFrame(() => {
      begun = 0;
    });
  }
  begun += 1;
  return begun <= AT_ONCE;
}

function canWatch(): boolean {
  return typeof IntersectionObserver !== 'undefined';
}

/** Calls back when a row comes near and when it is far again; returns how to end that. */
function watch(row: Element, root: Element | null, told: Told): () => void {
  const observer = observerOf(root);
  rows.set(row, told);
  observer.observe(row);
  return () => {
    rows.delete(row);
    observer.unobserve(row);
  };
}

function observerOf(root: Element | null): IntersectionObserver {
  const known = root === null ? ofPage : observers.get(root);
  if (known) {
    return known;
  }
  const made = new IntersectionObserver(
    entries => {
      for (const entry of entries) {
        const { boundingClientRect: box, isIntersecting, target } = entry;
        // What is hidden with all around it, such as in a closed side bar, is not far.
        if (isIntersecting || box.width > 0 || box.height > 0) {
          rows.get(target)?.(isIntersecting);
        }
      }
    },
    { root, rootMargin: AROUND }
  );
  if (root === null) {
    ofPage = made;
  } else {
    observers.set(root, made);
  }
  return made;
}

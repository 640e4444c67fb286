/** Sizes in CSS pixels, followed while a view is drawn. */
import {
  useLayoutEffect,
  useState,
  useSyncExternalStore,
  type RefObject
} from 'react';

/** Returns the height of the window. */
export function useWindowHeight(): number {
  return useSyncExternalStore(followResizes, () => window.innerHeight);
}

function followResizes(onResize: () => void): () => void {
  window.addEventListener('resize', onResize);
  return () => {
    window.removeEventListener('resize', onResize);
  };
}

/** The width of an element that is not laid out yet. */
const UNKNOWN_WIDTH_PX = 800;
const MIN_WIDTH_PX = 60;

/** Returns the width of an element. */
export function useElementWidth(
  elementRef: RefObject<HTMLElement | null>
): number {
  const [width, setWidth] = useState(UNKNOWN_WIDTH_PX);
  useLayoutEffect(() => {
    const element = elementRef.current;
    if (element === null || typeof ResizeObserver === 'undefined') {
      return;
    }
    const measure = () => {
      setWidth(Math.max(Math.round(element.clientWidth), MIN_WIDTH_PX));
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => {
      observer.disconnect();
    };
  }, [elementRef]);
  return width;
}

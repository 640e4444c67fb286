/** The width of an element, followed while it is drawn. */
import { useLayoutEffect, useState, type RefObject } from 'react';

const UNKNOWN_PX = 800;

/** Returns the width in CSS pixels. */
export function useElementWidth(
  elementRef: RefObject<HTMLElement | null>
): number {
  const [width, setWidth] = useState(UNKNOWN_PX);
  useLayoutEffect(() => {
    const element = elementRef.current;
    if (element === null || typeof ResizeObserver === 'undefined') {
      return;
    }
    const measure = () => {
      setWidth(Math.max(Math.round(element.clientWidth), 60));
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

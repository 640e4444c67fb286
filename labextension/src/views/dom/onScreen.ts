/** Whether an element is on the screen: what is not need not be drawn again. */
import { useEffect, useRef, useState, type RefObject } from 'react';

const callbacks = new WeakMap<Element, (isOnScreen: boolean) => void>();
let observer: IntersectionObserver | null = null;

/** Returns a reference for an element, and whether it is on the screen; true until that is known. */
export function useOnScreen<E extends HTMLElement>(): [RefObject<E>, boolean] {
  const elementRef = useRef<E>(null);
  const [isOnScreen, setOnScreen] = useState(true);
  useEffect(() => {
    const element = elementRef.current;
    if (element === null || typeof IntersectionObserver === 'undefined') {
      return;
    }
    observer ??= new IntersectionObserver(entries => {
      for (const { isIntersecting, target } of entries) {
        callbacks.get(target)?.(isIntersecting);
      }
    });
    const usedObserver = observer;
    callbacks.set(element, setOnScreen);
    usedObserver.observe(element);
    return () => {
      callbacks.delete(element);
      usedObserver.unobserve(element);
    };
  }, []);
  return [elementRef, isOnScreen];
}

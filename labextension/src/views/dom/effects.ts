/** Effects, references and handlers of keys that several views have. */
import { useEffect, useRef, type KeyboardEvent, type RefObject } from 'react';

/** Passes a promise's result on, unless the returned cleanup function is called before. */
export function unlessGone<T>(
  result: Promise<T>,
  onValue: (value: T) => void
): () => void {
  let isGone = false;
  void result.then(value => {
    if (!isGone) {
      onValue(value);
    }
  });
  return () => {
    isGone = true;
  };
}

/** Returns the reference of an element that gets the focus when it is first drawn. */
export function useFirstFocus<E extends HTMLElement>(): RefObject<E> {
  const elementRef = useRef<E>(null);
  useEffect(() => {
    elementRef.current?.focus();
  }, []);
  return elementRef;
}

/** Returns a reference that holds the value of the newest drawing. */
export function useLatest<T>(value: T): { readonly current: T } {
  const latest = useRef(value);
  useEffect(() => {
    latest.current = value;
  });
  return latest;
}

/** Runs an action after a time; returns a function that cancels it. */
export function runAfter(milliseconds: number, action: () => void): () => void {
  const timer = setTimeout(action, milliseconds);
  return () => {
    clearTimeout(timer);
  };
}

/** Returns a handler that does something at Escape, which then reaches nothing around the element; null does nothing. */
export function onEscape(
  action: (() => void) | null
): (event: KeyboardEvent) => void {
  return event => {
    if (event.key === 'Escape' && action !== null) {
      event.stopPropagation();
      action();
    }
  };
}

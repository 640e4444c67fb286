/** Effects and references that several views have. */
import { useEffect, useRef, type RefObject } from 'react';

/** Passes a promise's result on, unless the returned cleanup function is called before. */
export function unlessGone<T>(
  result: Promise<T>,
  use: (value: T) => void
): () => void {
  let isGone = false;
  void result.then(value => {
    if (!isGone) {
      use(value);
    }
  });
  return () => {
    isGone = true;
  };
}

/** Returns the reference of an element that gets the focus when it is first drawn. */
export function useFirstFocus<E extends HTMLElement>(): RefObject<E> {
  const place = useRef<E>(null);
  useEffect(() => {
    place.current?.focus();
  }, []);
  return place;
}

/** Returns a reference to the newest of a value that each drawing makes anew. */
export function useLatest<T>(value: T): { readonly current: T } {
  const latest = useRef(value);
  useEffect(() => {
    latest.current = value;
  });
  return latest;
}

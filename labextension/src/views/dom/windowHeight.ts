/** The height of the window, followed while an element is drawn. */
import { useSyncExternalStore } from 'react';

/** Returns the height in CSS pixels. */
export function useWindowHeight(): number {
  return useSyncExternalStore(followResizes, () => window.innerHeight);
}

function followResizes(onResize: () => void): () => void {
  window.addEventListener('resize', onResize);
  return () => {
    window.removeEventListener('resize', onResize);
  };
}

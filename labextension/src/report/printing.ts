/** Prepares the page for printing: everything is shown, in a light theme and as wide as paper. */
import { useEffect, useState } from 'react';
import { flushSync } from 'react-dom';

/** The width of a sheet of A4 or Letter without its margins, in CSS pixels. */
const PAPER_PX = 700;

/** Returns whether the page is being printed; `container` is made as wide as paper meanwhile. */
export function usePrinting(container: HTMLElement): boolean {
  const [isPrinted, setPrinted] = useState(false);
  useEffect(() => {
    const paper = window.matchMedia('print');
    let isOn = false;
    let theme: string | undefined;
    const setPrinting = (isPrinting: boolean) => {
      if (isPrinting === isOn) {
        return;
      }
      isOn = isPrinting;
      if (isPrinting) {
        theme = container.dataset.jpThemeLight;
        container.dataset.jpThemeLight = 'true';
        container.style.width = `${PAPER_PX}px`;
      } else {
        if (theme !== undefined) {
          container.dataset.jpThemeLight = theme;
        }
        container.style.removeProperty('width');
      }
      // What is printed is drawn before the browser goes on.
      flushSync(() => {
        setPrinted(isPrinting);
      });
    };
    const follow = ({ type }: Event) => {
      setPrinting(type === 'change' ? paper.matches : type === 'beforeprint');
    };
    window.addEventListener('beforeprint', follow);
    window.addEventListener('afterprint', follow);
    paper.addEventListener('change', follow);
    return () => {
      window.removeEventListener('beforeprint', follow);
      window.removeEventListener('afterprint', follow);
      paper.removeEventListener('change', follow);
    };
  }, [container]);
  return isPrinted;
}

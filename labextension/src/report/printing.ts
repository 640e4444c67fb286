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
    let wasPrinting = false;
    let screenTheme: string | undefined;
    const setPrinting = (isPrinting: boolean) => {
      if (isPrinting === wasPrinting) {
        return;
      }
      wasPrinting = isPrinting;
      if (isPrinting) {
        screenTheme = container.dataset.jpThemeLight;
        container.dataset.jpThemeLight = 'true';
        container.style.width = `${PAPER_PX}px`;
      } else {
        if (screenTheme !== undefined) {
          container.dataset.jpThemeLight = screenTheme;
        }
        container.style.removeProperty('width');
      }
      // What is printed is drawn before the browser goes on.
      flushSync(() => {
        setPrinted(isPrinting);
      });
    };
    const onPrintEvent = ({ type }: Event) => {
      setPrinting(type === 'change' ? paper.matches : type === 'beforeprint');
    };
    window.addEventListener('beforeprint', onPrintEvent);
    window.addEventListener('afterprint', onPrintEvent);
    paper.addEventListener('change', onPrintEvent);
    return () => {
      window.removeEventListener('beforeprint', onPrintEvent);
      window.removeEventListener('afterprint', onPrintEvent);
      paper.removeEventListener('change', onPrintEvent);
    };
  }, [container]);
  return isPrinted;
}

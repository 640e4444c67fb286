/** Links to a session, a request or an item: a click opens the inspector, wherever on the page they stand. */
import { readLink } from './targets';
import type { IInspectorTarget } from '../views/actions/inspector';

/** Opens our links in a document when they are clicked; returns a function that stops this. */
export function followLinks(
  page: Document,
  open: (target: IInspectorTarget) => void
): () => void {
  const openLink = (event: MouseEvent) => {
    const link =
      event.target instanceof Element ? event.target.closest('a[href]') : null;
    const target = readLink(link?.getAttribute('href') ?? '');
    if (target !== null && event.button === 0) {
      event.preventDefault();
      event.stopPropagation();
      open(target);
    }
  };
  page.addEventListener('click', openLink, true);
  return () => {
    page.removeEventListener('click', openLink, true);
  };
}

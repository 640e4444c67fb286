/**
 * Draws a text once for two places that show it at the same time, as a cell and the panel do while an answer grows: the
 * second place gets a copy.
 */

/** Milliseconds in which a drawing is copied: both places draw in the same frames. */
export const SHARED_MS = 1000;

/** What was drawn within the last `SHARED_MS`, by its key. */
const drawings = new Map<string, HTMLElement>();

/** What an element shows, so that one that was drawn over is not copied. */
const keyOf = new WeakMap<HTMLElement, string>();

/** Fills an element with what another one shows for the same key, or has it drawn. */
export async function drawOnce(
  place: HTMLElement,
  key: string,
  draw: () => Promise<void>
): Promise<void> {
  const drawing = drawings.get(key);
  if (
    drawing !== undefined &&
    drawing !== place &&
    keyOf.get(drawing) === key
  ) {
    place.replaceChildren(...drawing.cloneNode(true).childNodes);
    keyOf.set(place, key);
    return;
  }
  keyOf.delete(place);
  await draw();
  keyOf.set(place, key);
  drawings.set(key, place);
  setTimeout(() => {
    if (drawings.get(key) === place) {
      drawings.delete(key);
    }
  }, SHARED_MS);
}

/** Markdown whose drawing depends on the file beside it, or that may be HTML. */
const LINKS = /[<\]]/;

/** Returns whether Markdown is drawn alike in all places of the page. */
export function isDrawnAlike(markdown: string): boolean {
  return !LINKS.test(markdown);
}

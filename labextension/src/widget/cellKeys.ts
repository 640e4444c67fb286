/** Keeps keys pressed in a cell's views from the notebook; Escape moves the focus back to the cell. */

import { listenWhileFocused } from '../views/dom/focusedKeys';

/** JupyterLab runs no command for a key that was pressed in an element with it. */
const SUPPRESS_SHORTCUTS = 'data-lm-suppress-shortcuts';

/**
 * Keeps plain keys from the notebook while an element of the views has the focus; returns a function that stops this.
 *
 * In command mode JupyterLab takes letters for commands, such as x, which deletes the cell, and Shift+M, which merges
 * cells, even where a list or a grid has the focus. Keys with Control, Alt or Meta stay commands, such as save and
 * find, and Shift+Enter runs the cell.
 */
export function keepPlainKeys(views: HTMLElement): () => void {
  let marked: Element | null = null;
  const unmark = () => {
    marked?.removeAttribute(SUPPRESS_SHORTCUTS);
    marked = null;
  };
  const decide = (event: KeyboardEvent) => {
    const { target } = event;
    unmark();
    // Views that were removed from the page while focused may get no event.
    const isInside = target instanceof Element && views.contains(target);
    // JupyterLab asks the element that has the focus before those around it, so it is the one to be marked.
    if (isInside && isPlain(event)) {
      marked = target;
      marked.setAttribute(SUPPRESS_SHORTCUTS, '');
    }
  };
  return listenWhileFocused(views, decide, unmark);
}

function isPlain(event: KeyboardEvent): boolean {
  const { key, altKey, ctrlKey, metaKey, shiftKey } = event;
  return !altKey && !ctrlKey && !metaKey && !(shiftKey && key === 'Enter');
}

interface IPressedKey {
  readonly key: string;
  readonly target: EventTarget;
  isDefaultPrevented(): boolean;
}

/** Moves the focus from the views to their cell when Escape is pressed that nothing in them takes. */
export function leaveByEscape(event: IPressedKey): void {
  const { target } = event;
  const isCleared =
    target instanceof HTMLInputElement &&
    target.type === 'search' &&
    target.value !== '';
  if (event.key === 'Escape' && !event.isDefaultPrevented() && !isCleared) {
    const cell =
      target instanceof Element
        ? target.closest<HTMLElement>('.jp-Cell')
        : null;
    cell?.focus();
  }
}

/** Keeps keys pressed in a cell's views from the notebook; Escape moves the focus back to the cell. */

import { listenWhileFocused } from '../views/dom/focusedKeys';

/** The attribute of an element in which a pressed key runs no command of JupyterLab. */
const SUPPRESS_SHORTCUTS = 'data-lm-suppress-shortcuts';

/**
 * Keeps plain keys from the notebook while an element of the views has the focus; returns a function that stops this.
 *
 * In command mode JupyterLab takes letters for commands, such as x, which deletes the cell, and Shift+M, which merges
 * cells, even where a list or a grid has the focus. Keys with Control, Alt or Meta stay commands, such as save and
 * find, and Shift+Enter runs the cell.
 */
export function keepPlainKeys(views: HTMLElement): () => void {
  let markedElement: Element | null = null;
  const unmark = () => {
    markedElement?.removeAttribute(SUPPRESS_SHORTCUTS);
    markedElement = null;
  };
  const markTarget = (event: KeyboardEvent) => {
    const { target } = event;
    unmark();
    // Views that were removed from the page while focused may get no event.
    const isInside = target instanceof Element && views.contains(target);
    // JupyterLab asks the element that has the focus before those around it, so it is the one to be marked.
    if (isInside && isPlain(event)) {
      markedElement = target;
      markedElement.setAttribute(SUPPRESS_SHORTCUTS, '');
    }
  };
  return listenWhileFocused(views, markTarget, unmark);
}

function isPlain(event: KeyboardEvent): boolean {
  const { key, altKey, ctrlKey, metaKey, shiftKey } = event;
  return !altKey && !ctrlKey && !metaKey && !(shiftKey && key === 'Enter');
}

interface IKeyInViews {
  readonly key: string;
  readonly target: EventTarget;
  isDefaultPrevented(): boolean;
}

/** Moves the focus from the views to their cell at Escape, where nothing in the views uses that key. */
export function leaveByEscape(event: IKeyInViews): void {
  const { target } = event;
  const clearsSearch =
    target instanceof HTMLInputElement &&
    target.type === 'search' &&
    target.value !== '';
  if (event.key === 'Escape' && !event.isDefaultPrevented() && !clearsSearch) {
    const cell =
      target instanceof Element
        ? target.closest<HTMLElement>('.jp-Cell')
        : null;
    cell?.focus();
  }
}

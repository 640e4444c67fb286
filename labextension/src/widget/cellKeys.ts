/** Keys in the views of a cell belong to the views, and Escape gives them back to the notebook. */

/** JupyterLab runs no command for a key that was pressed in an element with it. */
const OURS = 'data-lm-suppress-shortcuts';

/**
 * Keeps plain keys from the notebook while an element of the views has the focus; returns a function that stops this.
 *
 * In command mode JupyterLab takes letters for commands, such as x, which deletes the cell, even where a list or a
 * grid has the focus. Keys with Control, Shift, Alt or Meta stay commands: save, run, find.
 */
export function keepPlainKeys(views: HTMLElement): () => void {
  const decide = (event: KeyboardEvent) => {
    const isPlain =
      !event.ctrlKey && !event.metaKey && !event.altKey && !event.shiftKey;
    views.toggleAttribute(OURS, isPlain);
  };
  // JupyterLab listens at the document, which is asked after the window.
  const enter = () => {
    window.addEventListener('keydown', decide, true);
  };
  const leave = () => {
    window.removeEventListener('keydown', decide, true);
    views.removeAttribute(OURS);
  };
  views.addEventListener('focusin', enter);
  views.addEventListener('focusout', leave);
  return () => {
    leave();
    views.removeEventListener('focusin', enter);
    views.removeEventListener('focusout', leave);
  };
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

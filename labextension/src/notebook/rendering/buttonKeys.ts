/**
 * Keys that operate buttons of ours do not reach the notebook.
 *
 * In command mode it would take Enter, Space and the arrows for its own commands.
 */
import { isScrollKey } from '../../views/dom/scrollBoxes';

/** Keeps the keys of buttons inside an element; returns a function that stops this. */
export function keepButtonKeys(node: HTMLElement): () => void {
  node.addEventListener('focusin', watchKeys);
  node.addEventListener('focusout', leaveKeys);
  return () => {
    node.removeEventListener('focusin', watchKeys);
    node.removeEventListener('focusout', leaveKeys);
    leaveKeys();
  };
}

/**
 * Listens in the capture phase while an element of ours has the focus: Notebook 7.4 and 7.5 handle
 * keys for their commands there.
 */
function watchKeys(): void {
  window.addEventListener('keydown', keepKeys, true);
}

function leaveKeys(): void {
  window.removeEventListener('keydown', keepKeys, true);
}

/** Enter and Space press a focused button, arrows scroll; in command mode the notebook would take these keys. */
function keepKeys(event: KeyboardEvent): void {
  const onButton = event.target instanceof HTMLButtonElement;
  const isPlain =
    !event.ctrlKey && !event.shiftKey && !event.metaKey && !event.altKey;
  if (onButton && isPlain && (event.key === 'Enter' || event.key === ' ')) {
    event.stopPropagation();
  }
  if (isPlain && isScrollKey(event)) {
    event.stopPropagation();
  }
}

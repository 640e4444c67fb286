/**
 * Keys that operate buttons of ours do not reach the notebook.
 *
 * In command mode it would take Enter, Space and the arrows for its own commands.
 */
import { listenWhileFocused } from '../../views/dom/focusedKeys';
import { isScrollKey } from '../../views/dom/scrollBoxes';

/** Keeps the keys of buttons inside an element; returns a function that stops this. */
export function keepButtonKeys(node: HTMLElement): () => void {
  return listenWhileFocused(node, keepKeys);
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

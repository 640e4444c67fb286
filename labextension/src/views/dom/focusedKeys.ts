/** Listens to the keys that are pressed in an element. */

/**
 * Calls `onKey` in the capture phase of the window while an element inside `node` has the focus, and `onLeave` when it
 * loses it; returns a function that stops this.
 *
 * JupyterLab listens at the document, which is asked after the window; Notebook 7.4 and 7.5 handle keys for their
 * commands in the capture phase, too.
 */
export function listenWhileFocused(
  node: HTMLElement,
  onKey: (event: KeyboardEvent) => void,
  onLeave: () => void = () => undefined
): () => void {
  const enter = () => {
    window.addEventListener('keydown', onKey, true);
  };
  const leave = () => {
    window.removeEventListener('keydown', onKey, true);
    onLeave();
  };
  node.addEventListener('focusin', enter);
  node.addEventListener('focusout', leave);
  return () => {
    node.removeEventListener('focusin', enter);
    node.removeEventListener('focusout', leave);
    leave();
  };
}

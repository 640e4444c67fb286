/**
 * Digit keys answer the open question of a notebook, wherever the focus is in it.
 *
 * Only in command mode, and only for a question that has been visible: while the user types, keys are
 * text.
 */
import type { NotebookPanel } from '@jupyterlab/notebook';
import type { ILink } from '../kernel/kernelLink';
import { buttonOfKey, digitOf } from '../views/parts/answerKeys';
import { openQuestionId } from './waitingQuestions';

/** Milliseconds for which a question must be visible, so that a key meant for something else does not answer it. */
const MIN_SEEN_MS = 500;

/** Selects the elements in which keys are text. */
const TEXT_FIELDS =
  'input, textarea, select, [contenteditable="true"], .cm-editor';

/** Listens to a notebook's keys; returns a function that stops this. */
export function addQuestionShortcuts(
  panel: NotebookPanel,
  link: ILink
): () => void {
  let seenQuestion = { id: '', sinceMs: 0 };
  const unsubscribe = link.store.subscribe(() => {
    const id = openQuestionId(link.store.getSnapshot());
    if (id !== seenQuestion.id) {
      seenQuestion = { id, sinceMs: performance.now() };
    }
  });
  const onKey = (event: KeyboardEvent) => {
    const { target } = event;
    if (
      digitOf(event) === null ||
      event.shiftKey ||
      event.repeat ||
      !(target instanceof Element) ||
      !panel.node.contains(target) ||
      target.closest(TEXT_FIELDS) !== null ||
      seenQuestion.id === '' ||
      performance.now() - seenQuestion.sinceMs < MIN_SEEN_MS
    ) {
      return;
    }
    const question = panel.node.querySelector(
      `[data-ask="${CSS.escape(seenQuestion.id)}"]`
    );
    const button = buttonOfKey(event, question);
    if (button !== null && isVisible(button)) {
      event.preventDefault();
      event.stopPropagation();
      button.click();
    }
  };
  // In the capture phase: Notebook 7.4 and 7.5 handle keys for their commands there.
  window.addEventListener('keydown', onKey, true);
  return () => {
    unsubscribe();
    window.removeEventListener('keydown', onKey, true);
  };
}

function isVisible(element: HTMLElement): boolean {
  const { bottom, height, top } = element.getBoundingClientRect();
  return height > 0 && bottom > 0 && top < window.innerHeight;
}

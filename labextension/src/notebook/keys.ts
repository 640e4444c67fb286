/**
 * The keys 1, 2 and 3 answer the open question of a notebook, wherever in it the focus is.
 *
 * Only in command mode, and only a question that a person can have seen: while somebody types,
 * keys are words.
 */
import type { NotebookPanel } from '@jupyterlab/notebook';
import type { ILink } from '../kernel/link';
import { answerOfKey } from '../views/question';

/** A question that has just appeared is not answered by a key that was meant for something else. */
const SEEN_MS = 500;

const TYPES = 'input, textarea, select, [contenteditable="true"], .cm-editor';

/** Listens to a notebook's keys; returns how to end that. */
export function answerByKey(panel: NotebookPanel, link: ILink): () => void {
  let asked = { id: '', since: 0 };
  const unsubscribe = link.store.subscribe(() => {
    const ask = openAsk(link);
    if (ask?.id !== asked.id) {
      asked = { id: ask?.id ?? '', since: performance.now() };
    }
  });
  const onKey = (event: KeyboardEvent) => {
    const { target } = event;
    const answer = answerOfKey(event);
    if (
      answer === null ||
      event.shiftKey ||
      event.repeat ||
      !(target instanceof Element) ||
      !panel.node.contains(target) ||
      target.closest(TYPES) !== null ||
      asked.id === '' ||
      performance.now() - asked.since < SEEN_MS
    ) {
      return;
    }
    const button = panel.node.querySelector<HTMLButtonElement>(
      `[data-ask="${CSS.escape(asked.id)}"] [data-answer="${answer}"]:enabled`
    );
    if (button !== null && isVisible(button)) {
      event.preventDefault();
      event.stopPropagation();
      button.click();
    }
  };
  // Before the host: Notebook 7.4 and 7.5 hand keys to their commands while they come down.
  window.addEventListener('keydown', onKey, true);
  return () => {
    unsubscribe();
    window.removeEventListener('keydown', onKey, true);
  };
}

function openAsk(link: ILink) {
  const { current, sessions } = link.store.getSnapshot();
  return current === null
    ? undefined
    : sessions.get(current)?.transcript.asks[0];
}

function isVisible(element: HTMLElement): boolean {
  const { bottom, height, top } = element.getBoundingClientRect();
  return height > 0 && bottom > 0 && top < window.innerHeight;
}

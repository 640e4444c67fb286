/**
 * Shows that the agent waits for a person: scrolls to its question once, and marks the tab.
 */
import type { NotebookPanel } from '@jupyterlab/notebook';
import type { ILink } from '../kernel/kernelLink';
import type { IKernelView } from '../state/store/kernelStore';

/** A place of the page where a question waits. */
interface IWaitingQuestion {
  panel: NotebookPanel;
  /** The question that waits longest. */
  id: string;
}

/** The notebooks of a page in which a question waits. */
export class WaitingQuestions {
  private readonly _waiting = new Map<NotebookPanel, string>();
  private readonly _readers = new Set<() => void>();

  /** The first of them; null when nothing waits. */
  get first(): IWaitingQuestion | null {
    const [found] = this._waiting;
    return found === undefined ? null : { panel: found[0], id: found[1] };
  }

  /** Notes what waits in a notebook; nothing, where the id is empty. */
  note(panel: NotebookPanel, id: string): void {
    if ((this._waiting.get(panel) ?? '') === id) {
      return;
    }
    if (id === '') {
      this._waiting.delete(panel);
    } else {
      this._waiting.set(panel, id);
    }
    this._readers.forEach(changed => {
      changed();
    });
  }

  subscribe(changed: () => void): void {
    this._readers.add(changed);
  }
}

/** Follows what a notebook's agent asks; returns how to end that. */
export function showWaiting(
  panel: NotebookPanel,
  link: ILink,
  waiting: WaitingQuestions
): () => void {
  const shown = new Set<string>();
  let now = '';
  // A question is drawn a moment after it was told.
  const drawn = new MutationObserver(() => {
    show();
  });
  const show = () => {
    const question = findQuestion(panel, now);
    if (question === null) {
      return;
    }
    drawn.disconnect();
    shown.add(now);
    if (panel.isVisible && !isInView(question)) {
      question.scrollIntoView({ block: 'center' });
    }
  };
  const follow = () => {
    const before = now;
    now = openQuestion(link.store.getSnapshot());
    if (now === before) {
      return;
    }
    waiting.note(panel, now);
    mark(panel, now !== '');
    drawn.disconnect();
    if (now !== '' && !shown.has(now)) {
      drawn.observe(panel.content.node, { childList: true, subtree: true });
      show();
    }
  };
  const unsubscribe = link.store.subscribe(follow);
  follow();
  return () => {
    unsubscribe();
    drawn.disconnect();
    waiting.note(panel, '');
  };
}

/** Brings a question into view, with its notebook. */
export function showQuestion({ panel, id }: IWaitingQuestion): void {
  const question = findQuestion(panel, id);
  question?.scrollIntoView({ block: 'center' });
  question?.querySelector<HTMLElement>('button:enabled')?.focus();
}

/** Returns the id of the question that waits longest in the notebook's session; empty without one. */
export function openQuestion({ current, sessions }: IKernelView): string {
  const transcript = sessions.get(current ?? '')?.transcript;
  return transcript?.asks[0]?.id ?? transcript?.questions[0]?.question_id ?? '';
}

function findQuestion(panel: NotebookPanel, id: string): HTMLElement | null {
  return id === ''
    ? null
    : panel.content.node.querySelector(`[data-ask="${CSS.escape(id)}"]`);
}

function isInView(element: HTMLElement): boolean {
  const { bottom, top } = element.getBoundingClientRect();
  return top >= 0 && bottom <= window.innerHeight;
}

const MARK = 'plm-question';

/** The style sheet puts a sign on a tab with this mark. */
function mark({ title }: NotebookPanel, waits: boolean): void {
  const others = Object.entries(title.dataset).filter(
    ([name]) => name !== MARK
  );
  const own = waits ? [[MARK, 'true'] as const] : [];
  title.dataset = Object.fromEntries([...others, ...own]);
}

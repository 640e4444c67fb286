/** Shows that the agent waits for an answer: scrolls to its question once, and marks the tab. */
import type { NotebookPanel } from '@jupyterlab/notebook';
import type { ILink } from '../kernel/kernelLink';
import type { IKernelView } from '../state/store/kernelStore';
import { ReaderSet } from '../state/store/readerSet';

/** A notebook with an open question. */
interface IWaitingQuestion {
  panel: NotebookPanel;
  /** The id of the question that has been open longest. */
  id: string;
}

/** The notebooks of a page that have an open question. */
export class WaitingQuestions {
  private readonly _waiting = new Map<NotebookPanel, string>();
  private readonly _readers = new ReaderSet();

  /** The first of them; null when no question is open. */
  get first(): IWaitingQuestion | null {
    const [oldest] = this._waiting;
    return oldest === undefined ? null : { panel: oldest[0], id: oldest[1] };
  }

  /** Records the open question of a notebook; none if the id is empty. */
  setQuestion(panel: NotebookPanel, id: string): void {
    if ((this._waiting.get(panel) ?? '') === id) {
      return;
    }
    if (id === '') {
      this._waiting.delete(panel);
    } else {
      this._waiting.set(panel, id);
    }
    this._readers.notify();
  }

  readonly subscribe = this._readers.subscribe;
}

/** Follows the open questions of a notebook's agent; returns a function that stops this. */
export function showWaiting(
  panel: NotebookPanel,
  link: ILink,
  waiting: WaitingQuestions
): () => void {
  const shownIds = new Set<string>();
  let questionId = '';
  // A question is rendered a moment after its notice.
  const domObserver = new MutationObserver(() => {
    scrollOnce();
  });
  const scrollOnce = () => {
    const question = findQuestion(panel, questionId);
    if (question === null) {
      return;
    }
    domObserver.disconnect();
    shownIds.add(questionId);
    if (panel.isVisible && !isInView(question)) {
      question.scrollIntoView({ block: 'center' });
    }
  };
  const follow = () => {
    const before = questionId;
    questionId = openQuestion(link.store.getSnapshot());
    if (questionId === before) {
      return;
    }
    waiting.setQuestion(panel, questionId);
    markTab(panel, questionId !== '');
    domObserver.disconnect();
    if (questionId !== '' && !shownIds.has(questionId)) {
      domObserver.observe(panel.content.node, {
        childList: true,
        subtree: true
      });
      scrollOnce();
    }
  };
  const unsubscribe = link.store.subscribe(follow);
  follow();
  return () => {
    unsubscribe();
    domObserver.disconnect();
    waiting.setQuestion(panel, '');
  };
}

/** Activates the question's notebook and scrolls to the question. */
export function showQuestion({ panel, id }: IWaitingQuestion): void {
  const question = findQuestion(panel, id);
  question?.scrollIntoView({ block: 'center' });
  question?.querySelector<HTMLElement>('button:enabled')?.focus();
}

/** Returns the id of the oldest open question in the notebook's session; empty if there is none. */
export function openQuestion({ current, sessions }: IKernelView): string {
  const transcript = sessions.get(current ?? '')?.transcript;
  return (
    transcript?.asks[0]?.id ??
    transcript?.questions[0]?.question_id ??
    transcript?.held[0]?.id ??
    ''
  );
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

const TAB_MARK = 'plm-question';

/** Marks a tab, to which the style sheet then adds a symbol. */
function markTab({ title }: NotebookPanel, waits: boolean): void {
  const others = Object.entries(title.dataset).filter(
    ([name]) => name !== TAB_MARK
  );
  const own = waits ? [[TAB_MARK, 'true'] as const] : [];
  title.dataset = Object.fromEntries([...others, ...own]);
}

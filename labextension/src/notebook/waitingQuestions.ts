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
  private readonly _questionIds = new Map<NotebookPanel, string>();
  private readonly _readers = new ReaderSet();

  /** The question that was recorded first; null when none is open. */
  get first(): IWaitingQuestion | null {
    const [oldest] = this._questionIds;
    return oldest === undefined ? null : { panel: oldest[0], id: oldest[1] };
  }

  /** Records the open question of a notebook; none if the id is empty. */
  setQuestion(panel: NotebookPanel, id: string): void {
    if ((this._questionIds.get(panel) ?? '') === id) {
      return;
    }
    if (id === '') {
      this._questionIds.delete(panel);
    } else {
      this._questionIds.set(panel, id);
    }
    this._readers.notify();
  }

  readonly subscribe = this._readers.subscribe;
}

/** Follows the open questions of a notebook's agent; marks its tab and scrolls to each; returns a function that stops this. */
export function followQuestions(
  panel: NotebookPanel,
  link: ILink,
  waitingQuestions: WaitingQuestions
): () => void {
  const scrolledIds = new Set<string>();
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
    scrolledIds.add(questionId);
    if (panel.isVisible && !isInView(question)) {
      question.scrollIntoView({ block: 'center' });
    }
  };
  const updateQuestion = () => {
    const idBefore = questionId;
    questionId = openQuestionId(link.store.getSnapshot());
    if (questionId === idBefore) {
      return;
    }
    waitingQuestions.setQuestion(panel, questionId);
    markTab(panel, questionId !== '');
    domObserver.disconnect();
    if (questionId !== '' && !scrolledIds.has(questionId)) {
      domObserver.observe(panel.content.node, {
        childList: true,
        subtree: true
      });
      scrollOnce();
    }
  };
  const unsubscribe = link.store.subscribe(updateQuestion);
  updateQuestion();
  return () => {
    unsubscribe();
    domObserver.disconnect();
    waitingQuestions.setQuestion(panel, '');
  };
}

/** Scrolls to a question and focuses its first button. */
export function showQuestion({ panel, id }: IWaitingQuestion): void {
  const question = findQuestion(panel, id);
  question?.scrollIntoView({ block: 'center' });
  question?.querySelector<HTMLElement>('button:enabled')?.focus();
}

/** Returns the id of the oldest open question in the notebook's session; empty if there is none. */
export function openQuestionId({ current, sessions }: IKernelView): string {
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

/** Sets or clears the mark of a tab, to which the style sheet adds a symbol. */
function markTab({ title }: NotebookPanel, hasQuestion: boolean): void {
  const otherMarks = Object.entries(title.dataset).filter(
    ([name]) => name !== TAB_MARK
  );
  const ownMark = hasQuestion ? [[TAB_MARK, 'true'] as const] : [];
  title.dataset = Object.fromEntries([...otherMarks, ...ownMark]);
}

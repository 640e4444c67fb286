/** Shows in the status bar that the agent waits for an answer, and leads to its question. */
import type { JupyterFrontEnd } from '@jupyterlab/application';
import type { TranslationBundle } from '@jupyterlab/translation';
import { Widget } from '@lumino/widgets';
import { showQuestion, type WaitingQuestions } from './waitingQuestions';

/** The part of JupyterLab's status bar that we use; other hosts have none. */
interface IStatusBar {
  registerStatusItem(
    id: string,
    item: { item: Widget; align: 'left'; rank: number }
  ): unknown;
}

const STATUS_BAR_ID = 'jp-main-statusbar';

/** The item's rank: after those for kernels and terminals. */
const RANK = 100;

/** Adds an item to the status bar, which is visible while a question is open. */
export async function addStatusItem(
  app: JupyterFrontEnd,
  waitingQuestions: WaitingQuestions,
  words: TranslationBundle
): Promise<void> {
  await app.restored;
  const bar = statusBar(app);
  if (bar === null) {
    return;
  }
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'plm-QuestionStatus';
  button.textContent = words.__('The agent waits for you');
  button.title = words.__('Show its question');
  button.addEventListener('click', () => {
    const { first } = waitingQuestions;
    if (first !== null) {
      app.shell.activateById(first.panel.id);
      showQuestion(first);
    }
  });
  const item = new Widget();
  item.node.append(button);
  const updateVisibility = () => {
    // The status bar makes items visible again whenever one of them changes.
    button.hidden = waitingQuestions.first === null;
  };
  bar.registerStatusItem('jupyter-palimpsest:waits', {
    item,
    align: 'left',
    rank: RANK
  });
  waitingQuestions.subscribe(updateVisibility);
  updateVisibility();
}

function statusBar({ shell }: JupyterFrontEnd): IStatusBar | null {
  // Notebook 7 has neither this area nor modes, and logs an error when asked for the area.
  if (!('mode' in shell)) {
    return null;
  }
  const widget = [...shell.widgets('bottom')].find(
    ({ id }) => id === STATUS_BAR_ID
  );
  return widget !== undefined && 'registerStatusItem' in widget
    ? (widget as unknown as IStatusBar)
    : null;
}

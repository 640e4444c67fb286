/**
 * Buttons under the error of a cell, which ask the agent about it.
 *
 * They are elements of the page beside the outputs, so the notebook's file does not hold them.
 */
import type { Cell } from '@jupyterlab/cells';
import type { NotebookPanel } from '@jupyterlab/notebook';
import type { IOutputModel } from '@jupyterlab/rendermime';
import type { ILink } from '../../kernel/kernelLink';
import type { IWords } from '../../views/host';
import { CellMarks } from './cellMarks';
import {
  errorOf,
  errorPrompt,
  sendPrompt,
  type ErrorRequest
} from './errorPrompts';
import { keepButtonKeys } from '../rendering/buttonKeys';

/** Adds the buttons while the kernel has the package; returns a function that removes them. */
export function addErrorButtons(
  panel: NotebookPanel,
  link: ILink,
  words: IWords,
  showPanel: () => void
): () => void {
  /** Errors of a kernel before, or of cells that ran before the package was loaded: it knows none of them. */
  const unknownErrors = new WeakSet<IOutputModel>();
  let wasRecording = false;
  const ask = (cell: Cell, request: ErrorRequest) => {
    showPanel();
    return sendPrompt(link, errorPrompt(request, cell.model));
  };
  const bars = new CellMarks(
    panel,
    ({ model }) => {
      const error = errorOf(model);
      return error !== null && recordsErrors(link) && !unknownErrors.has(error)
        ? error
        : null;
    },
    cell => addErrorBar(cell, words, ask)
  );
  const updateBars = () => {
    const isRecording = recordsErrors(link);
    if (isRecording === wasRecording && link.state !== 'absent') {
      return;
    }
    if (!isRecording && (wasRecording || link.state === 'absent')) {
      for (const { model } of panel.content.widgets) {
        const error = errorOf(model);
        if (error !== null) {
          unknownErrors.add(error);
        }
      }
    }
    if (wasRecording && !isRecording) {
      bars.removeAll();
    }
    wasRecording = isRecording;
    bars.updateSoon();
  };
  const unsubscribe = link.store.subscribe(updateBars);
  updateBars();
  return () => {
    unsubscribe();
    bars.dispose();
  };
}

/** Returns whether the kernel records the errors of its cells: it does also while the package still loads. */
function recordsErrors({ state }: ILink): boolean {
  return state === 'ready' || state === 'loading';
}

/** The outputs of a code cell. */
interface IOutputs {
  outputArea: { node: HTMLElement };
}

/**
 * Puts the buttons behind the last output, where JupyterLab's layout of the outputs does not count them; returns a
 * function that removes them.
 */
function addErrorBar(
  cell: Cell,
  words: IWords,
  ask: (cell: Cell, request: ErrorRequest) => Promise<string>
): () => void {
  const bar = document.createElement('div');
  bar.className = 'plm-ErrorBar';
  bar.setAttribute('role', 'group');
  bar.setAttribute('aria-label', words.__('Ask the agent about this error'));
  const status = document.createElement('span');
  status.className = 'plm-ErrorBar-told';
  status.setAttribute('role', 'status');
  let isWaiting = false;
  const askOnce = async (request: ErrorRequest) => {
    if (isWaiting) {
      return;
    }
    isWaiting = true;
    status.textContent = words.__('Asked; the answer is in the panel.');
    const problem = await ask(cell, request);
    isWaiting = false;
    status.textContent = problem;
  };
  const makeButton = (request: ErrorRequest, text: string, label: string) => {
    const element = document.createElement('button');
    element.type = 'button';
    element.className = 'plm-Button plm-Button-small';
    element.textContent = text;
    element.setAttribute('aria-label', label);
    element.title = label;
    element.addEventListener('click', () => {
      void askOnce(request);
    });
    return element;
  };
  bar.append(
    makeButton(
      'Fix',
      words.__('Fix'),
      words.__('Fix this error with the agent')
    ),
    makeButton(
      'Explain',
      words.__('Explain'),
      words.__('Explain this error with the agent')
    ),
    status
  );
  const releaseKeys = keepButtonKeys(bar);
  (cell as Partial<IOutputs>).outputArea?.node.append(bar);
  return () => {
    releaseKeys();
    bar.remove();
  };
}

/** The panel's commands for the palette, menus and the user's own shortcuts. */
import type { JupyterFrontEnd } from '@jupyterlab/application';
import type { ICommandPalette } from '@jupyterlab/apputils';
import type { ILauncher } from '@jupyterlab/launcher';
import { NotebookActions, type INotebookTracker } from '@jupyterlab/notebook';
import type { TranslationBundle } from '@jupyterlab/translation';
import { dropOrigins } from '../notebook/cells/cellOrigins';
import {
  errorOf,
  errorPrompt,
  sendPrompt,
  type ErrorRequest
} from '../notebook/cells/errorPrompts';
import { canCompact, isBusy } from '../state/session/status';
import { selectedText } from '../views/controls/quoteButton';
import { agentIcon } from './icon';
import type { PanelModel } from './panelModel';
import type { PanelWidget } from './panelWidget';

export const COMMANDS = {
  open: 'jupyter-palimpsest:open-panel',
  focus: 'jupyter-palimpsest:focus-composer',
  search: 'jupyter-palimpsest:search-session',
  stop: 'jupyter-palimpsest:stop',
  compact: 'jupyter-palimpsest:compact',
  create: 'jupyter-palimpsest:new-session',
  insert: 'jupyter-palimpsest:insert-cell',
  quote: 'jupyter-palimpsest:quote-selection',
  fix: 'jupyter-palimpsest:fix-error',
  explain: 'jupyter-palimpsest:explain-error',
  dropOrigins: 'jupyter-palimpsest:drop-origins'
} as const;

/** The first line of a new cell for the agent. */
const CELL_START = '%%agent\n';

const NO_ARGUMENTS = { args: { type: 'object', properties: {} } };

/** Adds the commands, also to the palette. */
export function addCommands(
  app: JupyterFrontEnd,
  panel: PanelWidget,
  model: PanelModel,
  tracker: INotebookTracker | null,
  palette: ICommandPalette | null,
  launcher: ILauncher | null,
  words: TranslationBundle
): void {
  const { commands, shell } = app;
  const isReady = () => model.getSnapshot().status === 'ready';
  commands.addCommand(COMMANDS.open, {
    describedBy: NO_ARGUMENTS,
    label: args =>
      args.isLauncher === true
        ? words.__('Agent')
        : words.__('Open the Agent Panel'),
    icon: args => (args.isLauncher === true ? agentIcon : undefined),
    caption: words.__('Show the agent beside the notebook'),
    execute: async () => {
      await app.restored;
      shell.activateById(panel.id);
    }
  });
  commands.addCommand(COMMANDS.focus, {
    describedBy: NO_ARGUMENTS,
    label: words.__('Write to the Agent'),
    caption: words.__('Put the keyboard into the agent panel’s text field'),
    execute: async () => {
      // JupyterLab restores its layout first; opening the panel comes after it.
      await app.restored;
      shell.activateById(panel.id);
      panel.focusComposer();
    }
  });
  commands.addCommand(COMMANDS.search, {
    describedBy: NO_ARGUMENTS,
    label: words.__('Find in the Agent’s Session'),
    caption: words.__('Search all turns of the session, also what is folded'),
    isEnabled: isReady,
    execute: async () => {
      if (!panel.isVisible) {
        await commands.execute(COMMANDS.open);
      }
      model.openSearch();
    }
  });
  commands.addCommand(COMMANDS.quote, {
    describedBy: {
      args: {
        type: 'object',
        properties: {
          text: {
            type: 'string',
            description: 'The text; by default the selected one'
          }
        }
      }
    },
    label: words.__('Quote the Selection in the Prompt'),
    caption: words.__(
      'Put the selected text of the transcript or of an answer into the prompt, as a quote'
    ),
    isEnabled: args => typeof args.text === 'string' || selectedText() !== '',
    execute: async args => {
      const text = typeof args.text === 'string' ? args.text : selectedText();
      await app.restored;
      shell.activateById(panel.id);
      panel.quote(text);
    }
  });
  commands.addCommand(COMMANDS.stop, {
    describedBy: NO_ARGUMENTS,
    label: words.__('Stop the Agent'),
    caption: words.__('Stop the turn that runs and withdraw what waits'),
    isEnabled: () => isReady() && isBusy(model.getSnapshot().transcript),
    execute: () => {
      model.actions.turn.stop();
    }
  });
  commands.addCommand(COMMANDS.compact, {
    describedBy: NO_ARGUMENTS,
    label: words.__('Compact the Agent’s Session'),
    caption: words.__(
      'Put a summary in the place of what was said; it can be undone'
    ),
    isEnabled: () => isReady() && canCompact(model.getSnapshot().transcript),
    execute: () => {
      model.actions.compaction.compact();
    }
  });
  commands.addCommand(COMMANDS.create, {
    describedBy: NO_ARGUMENTS,
    label: words.__('New Agent Session'),
    caption: words.__('Begin a new session in the notebook in front'),
    isEnabled: isReady,
    execute: () => {
      model.actions.sessions.create();
    }
  });
  commands.addCommand(COMMANDS.insert, {
    describedBy: NO_ARGUMENTS,
    label: words.__('Insert an Agent Cell'),
    caption: words.__(
      'Insert a cell that begins with %1, and edit it',
      '%%agent'
    ),
    isEnabled: () => Boolean(tracker?.currentWidget),
    execute: () => insertCell(app, tracker)
  });
  const failedCell = () => {
    const cell = tracker?.activeCell?.model;
    return cell !== undefined && isReady() && errorOf(cell) !== null
      ? cell
      : null;
  };
  const askAbout = async (request: ErrorRequest) => {
    const { link } = model;
    const cell = failedCell();
    if (cell === null || link === null) {
      return;
    }
    const pendingError = sendPrompt(link, errorPrompt(request, cell));
    await commands.execute(COMMANDS.open);
    model.report({ error: (await pendingError) || undefined });
  };
  commands.addCommand(COMMANDS.fix, {
    describedBy: NO_ARGUMENTS,
    label: words.__('Fix the Error of This Cell'),
    caption: words.__('Ask the agent for the corrected cell'),
    isEnabled: () => failedCell() !== null,
    execute: () => askAbout('Fix')
  });
  commands.addCommand(COMMANDS.explain, {
    describedBy: NO_ARGUMENTS,
    label: words.__('Explain the Error of This Cell'),
    caption: words.__('Ask the agent what went wrong; nothing is changed'),
    isEnabled: () => failedCell() !== null,
    execute: () => askAbout('Explain')
  });
  commands.addCommand(COMMANDS.dropOrigins, {
    describedBy: NO_ARGUMENTS,
    label: words.__('Remove the Agent’s Signs from All Cells'),
    caption: words.__(
      'Remove from the notebook which cells the agent wrote, such as before it is passed on; undo brings it back'
    ),
    execute: () => {
      const notebookPanel = tracker?.currentWidget;
      if (notebookPanel?.context.model.readOnly === false) {
        dropOrigins(notebookPanel.context.model.sharedModel);
      }
    }
  });
  for (const command of Object.values(COMMANDS)) {
    if (command === COMMANDS.quote) {
      continue; // the palette takes the keyboard, and with it the selection
    }
    palette?.addItem({ command, category: words.__('Agent') });
  }
  launcher?.add({
    command: COMMANDS.open,
    args: { isLauncher: true },
    category: words.__('Notebook')
  });
  model.subscribe(() => {
    const { stop, compact, create, search, fix, explain } = COMMANDS;
    for (const command of [stop, compact, create, search, fix, explain]) {
      commands.notifyCommandChanged(command);
    }
  });
}

async function insertCell(
  app: JupyterFrontEnd,
  tracker: INotebookTracker | null
): Promise<void> {
  const notebookPanel = tracker?.currentWidget;
  if (!notebookPanel) {
    return;
  }
  const notebook = notebookPanel.content;
  NotebookActions.insertBelow(notebook);
  NotebookActions.changeCellType(notebook, 'code');
  const cell = notebook.activeCell;
  cell?.model.sharedModel.setSource(CELL_START);
  app.shell.activateById(notebookPanel.id);
  // A new cell gets its editor a little later.
  await cell?.ready;
  notebook.mode = 'edit';
  cell?.editor?.setCursorPosition({ line: 1, column: 0 });
  cell?.editor?.focus();
}

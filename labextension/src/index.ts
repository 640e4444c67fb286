/** The plugins that JupyterLab loads, one for each concern. */
import type {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import {
  IEditorExtensionRegistry,
  IEditorLanguageRegistry
} from '@jupyterlab/codemirror';
import { ICommandPalette } from '@jupyterlab/apputils';
import { INotebookCellExecutor, INotebookTracker } from '@jupyterlab/notebook';
import { IRenderMimeRegistry } from '@jupyterlab/rendermime';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import { version } from '../package.json';
import { LinkRegistry } from './kernel/linkRegistry';
import { inspector } from './inspector/plugin';
import { NotebookExtension } from './notebook/notebookExtension';
import { segmentFactory } from './notebook/rendering/segmentRenderer';
import { colourPromptCells } from './notebook/cells/promptCells';
import {
  addReviewCommands,
  NotebookReviews
} from './notebook/review/reviewCommands';
import { addStatusItem } from './notebook/statusBarItem';
import { WaitingQuestions } from './notebook/waitingQuestions';
import { COMMANDS } from './panel/commands';
import { panel } from './panel/plugin';
import { ILinkRegistry } from './kernel/tokens';
import {
  INSPECT_COMMAND,
  type IInspectorTarget
} from './views/actions/inspector';

const links: JupyterFrontEndPlugin<LinkRegistry> = {
  id: 'jupyter-palimpsest:links',
  description: 'Links the page with the kernels that have an agent.',
  provides: ILinkRegistry,
  activate: () => new LinkRegistry(version)
};

const segments: JupyterFrontEndPlugin<void> = {
  id: 'jupyter-palimpsest:segments',
  description: 'Draws what an agent said and did in the outputs of its cell.',
  autoStart: true,
  requires: [IRenderMimeRegistry, ILinkRegistry],
  optional: [
    ITranslator,
    IEditorLanguageRegistry,
    INotebookTracker,
    ICommandPalette,
    INotebookCellExecutor
  ],
  activate: (
    app: JupyterFrontEnd,
    registry: IRenderMimeRegistry,
    links: LinkRegistry,
    translator: ITranslator | null,
    languages: IEditorLanguageRegistry | null,
    tracker: INotebookTracker | null,
    palette: ICommandPalette | null,
    executor: INotebookCellExecutor | null
  ) => {
    const words = (translator ?? nullTranslator).load('jupyter_palimpsest');
    // Outside a notebook the kernel of a segment is unknown.
    registry.addFactory(segmentFactory(registry, words, languages));
    const waiting = new WaitingQuestions();
    void addStatusItem(app, waiting, words);
    const reviews = new NotebookReviews();
    if (tracker !== null) {
      addReviewCommands(app, reviews, tracker, palette, words);
    }
    const showPanel = () => {
      void app.commands.execute(COMMANDS.open);
    };
    const inspect = (target: IInspectorTarget) => {
      void app.commands.execute(INSPECT_COMMAND, { ...target });
    };
    app.docRegistry.addWidgetExtension(
      'Notebook',
      new NotebookExtension(
        links,
        words,
        languages,
        showPanel,
        inspect,
        waiting,
        reviews,
        executor
      )
    );
  }
};

const promptCells: JupyterFrontEndPlugin<void> = {
  id: 'jupyter-palimpsest:prompt-cells',
  description: 'Colours cells for the agent as Markdown.',
  autoStart: true,
  requires: [IEditorExtensionRegistry, IEditorLanguageRegistry],
  activate: (
    _app: JupyterFrontEnd,
    editors: IEditorExtensionRegistry,
    languages: IEditorLanguageRegistry
  ) => {
    colourPromptCells(editors, languages);
  }
};

export default [links, segments, promptCells, panel, inspector];

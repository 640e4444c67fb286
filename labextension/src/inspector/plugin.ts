/** The plugin of the inspector. */
import {
  ILabShell,
  ILayoutRestorer,
  type JupyterFrontEnd,
  type JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { ICommandPalette, WidgetTracker } from '@jupyterlab/apputils';
import { IEditorLanguageRegistry } from '@jupyterlab/codemirror';
import { IFileBrowserFactory } from '@jupyterlab/filebrowser';
import { ILauncher } from '@jupyterlab/launcher';
import { INotebookTracker } from '@jupyterlab/notebook';
import { IRenderMimeRegistry } from '@jupyterlab/rendermime';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import type { LinkRegistry } from '../kernel/linkRegistry';
import { ILinkRegistry } from '../kernel/tokens';
import { addInspectorCommands, INSPECTOR_COMMANDS } from './commands';
import { addComparedFiles } from './comparedFiles';
import { InspectionChoice } from './inspectionChoice';
import type { InspectorArea, InspectorTabs } from './inspectorTabs';
import { followLinks } from './links';
import { addRecordings } from './recordingFactory';
import type { IInspectorArguments } from './targets';

export const inspector: JupyterFrontEndPlugin<void> = {
  id: 'jupyter-palimpsest:inspector',
  description: 'Shows what the model saw in each request, in the main area.',
  autoStart: true,
  requires: [IRenderMimeRegistry, ILinkRegistry],
  optional: [
    INotebookTracker,
    ITranslator,
    ICommandPalette,
    ILayoutRestorer,
    IEditorLanguageRegistry,
    ILauncher,
    ILabShell,
    IFileBrowserFactory
  ],
  activate: (
    app: JupyterFrontEnd,
    registry: IRenderMimeRegistry,
    links: LinkRegistry,
    notebooks: INotebookTracker | null,
    translator: ITranslator | null,
    palette: ICommandPalette | null,
    restorer: ILayoutRestorer | null,
    languages: IEditorLanguageRegistry | null,
    launcher: ILauncher | null,
    labShell: ILabShell | null,
    browsers: IFileBrowserFactory | null
  ) => {
    const words = (translator ?? nullTranslator).load('jupyter_palimpsest');
    const open = (target: object) => {
      void app.commands.execute(INSPECTOR_COMMANDS.inspect, { ...target });
    };
    const choice = new InspectionChoice(app, notebooks, links, words);
    const surroundings = {
      registry,
      words,
      languages,
      chooseCompared: (target: IInspectorArguments) =>
        choice.askCompared(target)
    };
    const tracker = new WidgetTracker<InspectorArea>({
      namespace: 'jupyter-palimpsest-inspector'
    });
    let tabsPromise: Promise<InspectorTabs> | null = null;
    // The views are a chunk of their own, which a page loads with its first inspector.
    const loadTabs = () =>
      (tabsPromise ??= import('./inspectorTabs').then(
        ({ InspectorTabs }) =>
          new InspectorTabs(app, tracker, notebooks, links, surroundings)
      ));
    addInspectorCommands(
      app,
      loadTabs,
      tracker,
      notebooks,
      choice,
      palette,
      launcher,
      words
    );
    addRecordings(
      app,
      async (path, place) => (await loadTabs()).contentFor(path, place),
      words,
      restorer
    );
    // Notebook 7 shows one document a page, and its files on another one.
    if (labShell !== null && browsers !== null) {
      addComparedFiles(app, browsers, words);
    }
    followLinks(document, open);
    void restorer?.restore(tracker, {
      command: INSPECTOR_COMMANDS.inspect,
      args: ({ content }) => ({
        ...content.model.arguments,
        layout_name: content.layoutName
      }),
      name: ({ content }) => content.layoutName
    });
  }
};

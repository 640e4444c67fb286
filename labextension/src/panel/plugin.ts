/** The plugin of the chat panel. */
import {
  ILayoutRestorer,
  type JupyterFrontEnd,
  type JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import { INotebookTracker, NotebookActions } from '@jupyterlab/notebook';
import { IEditorLanguageRegistry } from '@jupyterlab/codemirror';
import { ILauncher } from '@jupyterlab/launcher';
import { IRenderMimeRegistry, type IRenderMime } from '@jupyterlab/rendermime';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import type { LinkRegistry } from '../kernel/linkRegistry';
import { ILinkRegistry } from '../kernel/tokens';
import { densityChoice, readDensity } from '../state/display/density';
import { COMPARE, INSPECT } from '../views/actions/inspector';
import { addCommands, COMMANDS } from './commands';
import { PanelModel } from './panelModel';
import { PANEL_ID, PanelWidget } from './panelWidget';

/** After JupyterLab's property inspector and debugger. */
const SIDE_BAR_RANK = 900;

const PLUGIN_ID = 'jupyter-palimpsest:panel';

export const panel: JupyterFrontEndPlugin<void> = {
  id: PLUGIN_ID,
  description: 'The agent of the notebook in front, in the right side bar.',
  autoStart: true,
  requires: [IRenderMimeRegistry, ILinkRegistry],
  optional: [
    INotebookTracker,
    ITranslator,
    ICommandPalette,
    ILayoutRestorer,
    ISettingRegistry,
    IEditorLanguageRegistry,
    ILauncher
  ],
  activate: (
    app: JupyterFrontEnd,
    registry: IRenderMimeRegistry,
    links: LinkRegistry,
    tracker: INotebookTracker | null,
    translator: ITranslator | null,
    palette: ICommandPalette | null,
    restorer: ILayoutRestorer | null,
    settings: ISettingRegistry | null,
    languages: IEditorLanguageRegistry | null,
    launcher: ILauncher | null
  ) => {
    const words = (translator ?? nullTranslator).load('jupyter_palimpsest');
    const model = new PanelModel(
      app,
      tracker,
      links,
      words,
      NotebookActions.runCells
    );
    const renderers =
      tracker === null
        ? registry
        : registry.clone({ resolver: notebookLinkResolver(tracker) });
    const widget = new PanelWidget(
      model,
      renderers,
      words,
      languages,
      target => {
        void app.commands.execute(INSPECT, { ...target });
      },
      (session, other) => {
        void app.commands.execute(COMPARE, { session, with: other });
      },
      () => {
        // JupyterLab and Notebook 7 have shells of their own, both with this method.
        (app.shell as { collapseRight?: () => void }).collapseRight?.();
      },
      text => {
        void app.commands.execute(COMMANDS.quote, { text });
      }
    );
    app.shell.add(widget, 'right', { rank: SIDE_BAR_RANK });
    restorer?.add(widget, PANEL_ID);
    addCommands(app, widget, model, tracker, palette, launcher, words);
    void applySettings(app, model, settings);
  }
};

/** Applies the settings, now and after every change. */
async function applySettings(
  app: JupyterFrontEnd,
  model: PanelModel,
  registry: ISettingRegistry | null
): Promise<void> {
  if (registry === null) {
    return;
  }
  const settings = await registry.load(PLUGIN_ID);
  const apply = () => {
    model.setSendKey(
      settings.get('sendKey').composite === 'Accel Enter'
        ? 'Accel Enter'
        : 'Enter'
    );
    densityChoice.setPage(readDensity(settings.get('density').composite));
  };
  settings.changed.connect(apply);
  apply();
  if (settings.get('openAtStart').composite === true) {
    await app.restored;
    await app.commands.execute(COMMANDS.open);
  }
}

/** Returns what resolves links in the panel relative to the active notebook, as in its cells. */
function notebookLinkResolver(
  tracker: INotebookTracker
): IRenderMime.IResolver {
  const currentResolver = (): IRenderMime.IResolver => {
    const resolver = tracker.currentWidget?.context.urlResolver;
    if (resolver === undefined) {
      throw new Error('No notebook is in front.');
    }
    return resolver;
  };
  return {
    // Asynchronous, so that a link without an active notebook rejects.
    resolveUrl: async (url, context) =>
      currentResolver().resolveUrl(url, context),
    getDownloadUrl: async url => currentResolver().getDownloadUrl(url),
    resolvePath: async path => currentResolver().resolvePath?.(path) ?? null
  };
}

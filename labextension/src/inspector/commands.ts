/** The inspector's commands, for the palette, menus, links and the user's own shortcuts. */
import type { JupyterFrontEnd } from '@jupyterlab/application';
import {
  InputDialog,
  Notification,
  type ICommandPalette,
  type WidgetTracker
} from '@jupyterlab/apputils';
import type { ILauncher } from '@jupyterlab/launcher';
import type { INotebookTracker } from '@jupyterlab/notebook';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { LinkRegistry } from '../kernel/linkRegistry';
import { COMPARE, INSPECT } from '../views/actions/inspector';
import { inspectorIcon } from './inspectorIcon';
import type { InspectorArea, InspectorTabs } from './inspectorTabs';
import { InspectionChoice } from './inspectionChoice';
import { readArguments, type IInspectorArguments } from './targets';

export const INSPECTOR_COMMANDS = {
  inspect: INSPECT,
  compare: COMPARE
} as const;

const INSPECT_ARGUMENTS = {
  args: {
    type: 'object',
    properties: {
      session: {
        type: 'string',
        description: 'Id of the session; by default the notebook’s'
      },
      request: {
        type: ['number', 'string'],
        description: 'Number of a request from 0, or the id of its message'
      },
      item: {
        type: ['number', 'string'],
        description: 'Number of an item from 0, or the id of its part'
      },
      path: { type: 'string', description: 'Path of a recorded file' },
      notebook: { type: 'string', description: 'Path of the notebook' },
      cwd: {
        type: 'string',
        description:
          'Folder whose recordings are offered where nothing is named'
      }
    }
  }
};

const COMPARE_ARGUMENTS = {
  args: {
    type: 'object',
    properties: {
      session: {
        type: 'string',
        description: 'Id of the first session; by default the open inspector’s'
      },
      with: {
        type: 'string',
        description: 'Id of the second session; by default it is asked for'
      },
      notebook: { type: 'string', description: 'Path of the notebook' }
    }
  }
};

/** Adds the commands, also to the palette. */
export function addInspectorCommands(
  app: JupyterFrontEnd,
  tabs: () => Promise<InspectorTabs>,
  tracker: WidgetTracker<InspectorArea>,
  notebooks: INotebookTracker | null,
  links: LinkRegistry,
  palette: ICommandPalette | null,
  launcher: ILauncher | null,
  words: TranslationBundle
): void {
  const choice = new InspectionChoice(app, notebooks, links, words);
  app.commands.addCommand(INSPECTOR_COMMANDS.inspect, {
    describedBy: INSPECT_ARGUMENTS,
    label: words.__('Inspect the Context'),
    caption: words.__(
      'Show what the model saw in each request, what it cost, and what other policies would have shown'
    ),
    icon: inspectorIcon,
    execute: async args => {
      const requested = readArguments(args);
      const folder = typeof args.cwd === 'string' ? args.cwd : '';
      const isOpen = notebooks?.currentWidget?.isVisible ?? false;
      const target =
        isOpen || hasTarget(requested) ? requested : await choice.ask(folder);
      return target === null ? undefined : (await tabs()).open(target);
    }
  });
  const open = () => tracker.currentWidget?.content.model.arguments;
  app.commands.addCommand(INSPECTOR_COMMANDS.compare, {
    describedBy: COMPARE_ARGUMENTS,
    label: words.__('Compare the Context with…'),
    caption: words.__(
      'Open another session, such as a fork, beside the inspector'
    ),
    icon: inspectorIcon,
    isEnabled: args =>
      readArguments(args).session !== undefined ||
      open()?.notebook !== undefined,
    execute: async args => {
      const target = readArguments(args);
      if (typeof args.with === 'string' && target.session !== undefined) {
        (await tabs()).compareTwo(target, args.with);
        return;
      }
      const { notebook = '', session } = open() ?? {};
      const panel = notebooks?.find(({ context }) => context.path === notebook);
      const link = panel && links.get(panel.sessionContext);
      const outcome = await link?.outcome('sessions', { words: '' });
      const rows = (outcome?.answer?.sessions ?? []).filter(
        ({ id }) => id !== session
      );
      if (rows.length === 0) {
        Notification.info(
          words.__('There is no other session here: fork this one to compare.')
        );
        return;
      }
      const names = rows.map(({ id, title }) => `${title} · ${id}`);
      const { button, value } = await InputDialog.getItem({
        title: words.__('Compare with which session?'),
        items: names,
        okLabel: words.__('Compare')
      });
      const chosen = rows[names.indexOf(value ?? '')];
      if (button.accept && chosen !== undefined) {
        (await tabs()).compare(chosen.id);
      }
    }
  });
  const category = words.__('Agent');
  for (const command of Object.values(INSPECTOR_COMMANDS)) {
    palette?.addItem({ command, category });
  }
  launcher?.add({ command: INSPECTOR_COMMANDS.inspect, category });
  tracker.currentChanged.connect(() => {
    app.commands.notifyCommandChanged(INSPECTOR_COMMANDS.compare);
  });
}

/** Returns whether arguments say what to inspect. */
function hasTarget(target: IInspectorArguments): boolean {
  return [target.session, target.path, target.notebook].some(
    value => value !== undefined
  );
}

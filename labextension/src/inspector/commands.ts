/** The inspector's commands, for the palette, menus, links and the user's own shortcuts. */
import type { JupyterFrontEnd } from '@jupyterlab/application';
import type { ICommandPalette, WidgetTracker } from '@jupyterlab/apputils';
import type { ILauncher } from '@jupyterlab/launcher';
import type { INotebookTracker } from '@jupyterlab/notebook';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { Widget } from '@lumino/widgets';
import { COMPARE_COMMAND, INSPECT_COMMAND } from '../views/actions/inspector';
import { inspectorIcon } from './inspectorIcon';
import type { InspectorArea, InspectorTabs } from './inspectorTabs';
import type { InspectionChoice } from './inspectionChoice';
import type { InspectorModel } from './inspectorModel';
import { RecordingDocument } from './recordingFactory';
import {
  besideNamed,
  readArguments,
  type IInspectorArguments
} from './targets';

export const INSPECTOR_COMMANDS = {
  inspect: INSPECT_COMMAND,
  compare: COMPARE_COMMAND
} as const;

/** Returns the description of an argument that is a text. */
function textArgument(description: string) {
  return { type: 'string', description };
}

const INSPECT_ARGUMENTS = {
  args: {
    type: 'object',
    properties: {
      session: textArgument('Id of the session; by default the notebook’s'),
      request: {
        type: ['number', 'string'],
        description: 'Number of a request from 0, or the id of its message'
      },
      item: {
        type: ['number', 'string'],
        description: 'Number of an item from 0, or the id of its part'
      },
      path: textArgument('Path of a recorded file'),
      notebook: textArgument('Path of the notebook'),
      beside: {
        type: 'object',
        description:
          'The session beside it: the id of one, the path of a recorded file, or both',
        properties: { path: { type: 'string' }, session: { type: 'string' } }
      },
      layout_name: textArgument(
        'Name of the tab in a layout that brings it back'
      ),
      cwd: textArgument(
        'Folder whose recordings are offered where nothing is named'
      )
    }
  }
};

const COMPARE_ARGUMENTS = {
  args: {
    type: 'object',
    properties: {
      session: textArgument(
        'Id of the first session; by default the open inspector’s'
      ),
      with: textArgument(
        'Id of the second session, or path of a recorded file; by default it is asked for'
      ),
      path: textArgument('Path of a recorded file that is the first one'),
      notebook: textArgument('Path of the notebook')
    }
  }
};

/** Adds the commands, also to the palette. */
export function addInspectorCommands(
  app: JupyterFrontEnd,
  tabs: () => Promise<InspectorTabs>,
  tracker: WidgetTracker<InspectorArea>,
  notebooks: INotebookTracker | null,
  choice: InspectionChoice,
  palette: ICommandPalette | null,
  launcher: ILauncher | null,
  words: TranslationBundle
): void {
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
      const isNotebookVisible = notebooks?.currentWidget?.isVisible ?? false;
      const target =
        isNotebookVisible || hasTarget(requested)
          ? requested
          : await choice.ask(folder);
      const { layout_name: name } = args;
      return target === null
        ? undefined
        : (await tabs()).open(
            target,
            typeof name === 'string' ? name : undefined
          );
    }
  });
  const findOpenModel = () => openModel(app.shell.currentWidget, tracker);
  app.commands.addCommand(INSPECTOR_COMMANDS.compare, {
    describedBy: COMPARE_ARGUMENTS,
    label: words.__('Compare the Context with…'),
    caption: words.__(
      'Show another session, such as a fork or a recording of the same task, beside this one: where they part, and what each cost'
    ),
    icon: inspectorIcon,
    isEnabled: args =>
      hasTarget(readArguments(args)) || findOpenModel() !== null,
    execute: async args => {
      const requested = readArguments(args);
      const model = hasTarget(requested) ? null : findOpenModel();
      const target = model?.arguments ?? requested;
      const beside =
        typeof args.with === 'string' && args.with !== ''
          ? besideNamed(args.with)
          : await choice.askCompared(target);
      if (beside === null) {
        return;
      }
      if (model !== null) {
        model.compareWith(beside);
      } else {
        (await tabs()).open({ ...target, beside, tab: 'compared' });
      }
    }
  });
  const category = words.__('Agent');
  for (const command of Object.values(INSPECTOR_COMMANDS)) {
    palette?.addItem({ command, category });
  }
  launcher?.add({ command: INSPECTOR_COMMANDS.inspect, category });
  const notifyCompareChanged = () => {
    app.commands.notifyCommandChanged(INSPECTOR_COMMANDS.compare);
  };
  tracker.currentChanged.connect(notifyCompareChanged);
  app.shell.currentChanged?.connect(notifyCompareChanged);
}

/** Returns the model of the inspector in a widget; null where it is none, or its code is not loaded yet. */
function openModel(
  widget: Widget | null,
  tracker: WidgetTracker<InspectorArea>
): InspectorModel | null {
  if (widget instanceof RecordingDocument) {
    return widget.model;
  }
  const area = tracker.find(({ id }) => id === widget?.id);
  return area?.content.model ?? null;
}

/** Returns whether arguments say what to inspect. */
function hasTarget(target: IInspectorArguments): boolean {
  return [target.session, target.path, target.notebook].some(
    value => value !== undefined
  );
}

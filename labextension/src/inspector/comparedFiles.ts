/** The file browser's menu: two recorded files that are selected are compared, or one with another that is asked for. */
import type { JupyterFrontEnd } from '@jupyterlab/application';
import type { IFileBrowserFactory } from '@jupyterlab/filebrowser';
import { COMPARE_COMMAND } from '../views/actions/inspector';
import type { IWords } from '../views/host';
import { inspectorIcon } from './inspectorIcon';
import { comparablePaths } from './recordingFormats';

/** The command in the file browser's menu. */
const COMPARE_FILES = 'palimpsest:compare-files';

/** Adds the command to the menu of files. */
export function addComparedFiles(
  app: JupyterFrontEnd,
  browsers: IFileBrowserFactory,
  words: IWords
): void {
  const selectedPaths = () =>
    comparablePaths([
      ...(browsers.tracker.currentWidget?.selectedItems() ?? [])
    ]);
  app.commands.addCommand(COMPARE_FILES, {
    describedBy: { args: { type: 'object', properties: {} } },
    label: () =>
      selectedPaths().length === 2
        ? words.__('Compare in the Inspector')
        : words.__('Compare in the Inspector with…'),
    caption: words.__(
      'Show two recorded sessions beside each other: where they part, and what each cost'
    ),
    icon: inspectorIcon,
    isVisible: () => selectedPaths().length > 0,
    execute: async () => {
      const [path, comparedPath] = selectedPaths();
      if (path !== undefined) {
        await app.commands.execute(COMPARE_COMMAND, {
          path,
          ...(comparedPath === undefined ? {} : { with: comparedPath })
        });
      }
    }
  });
  app.contextMenu.addItem({
    command: COMPARE_FILES,
    selector: '.jp-DirListing-item[data-isdir="false"]',
    rank: 3.5
  });
}

/** Asks which session or recording to inspect, where no notebook is in front. */
import type { JupyterFrontEnd } from '@jupyterlab/application';
import { InputDialog } from '@jupyterlab/apputils';
import type { INotebookTracker } from '@jupyterlab/notebook';
import type { LinkRegistry } from '../kernel/linkRegistry';
import type { IWords } from '../views/host';
import { isRecording } from './recordingFactory';
import { DEFAULT_TYPES, RECORDING_TYPES } from './recordingFormats';
import type { IInspectorArguments } from './targets';

/** How many `.jsonl` files of a folder are looked into; the newest come first. */
const MAX_FILES = 20;

interface IChoice {
  name: string;
  target: IInspectorArguments;
}

/**
 * The question which session or recording to inspect.
 *
 * Responsibilities: list the sessions of open notebooks and the recordings of a folder; let any other file be named.
 */
export class InspectionChoice {
  constructor(
    private readonly _app: JupyterFrontEnd,
    private readonly _notebooks: INotebookTracker | null,
    private readonly _links: LinkRegistry,
    private readonly _words: IWords
  ) {}

  /** Returns what the user chose, or null where the question was dismissed. */
  async ask(folder: string): Promise<IInspectorArguments | null> {
    const choices = [
      ...(await this._sessions()),
      ...(await this._recordings(folder))
    ];
    if (choices.length === 0) {
      return this._askForPath(folder);
    }
    const other = this._words.__('Another recorded file…');
    const names = choices.map(({ name }) => name);
    const { button, value } = await InputDialog.getItem({
      title: this._words.__('Inspect the context of which session?'),
      items: [...names, other],
      okLabel: this._words.__('Inspect')
    });
    if (!button.accept || value === null) {
      return null;
    }
    return value === other
      ? this._askForPath(folder)
      : (choices[names.indexOf(value)]?.target ?? null);
  }

  private async _askForPath(
    folder: string
  ): Promise<IInspectorArguments | null> {
    const { button, value } = await InputDialog.getText({
      title: this._words.__('Inspect which recorded file?'),
      label: this._words.__('Its path in the file browser'),
      text: folder === '' ? '' : `${folder}/`,
      okLabel: this._words.__('Inspect')
    });
    const path = (value ?? '').trim().replace(/^\/+/, '');
    return button.accept && path !== '' ? { path } : null;
  }

  /** Returns the sessions of open notebooks whose kernels answer; notebooks of one folder share theirs. */
  private async _sessions(): Promise<IChoice[]> {
    const choices = new Map<string, IChoice>();
    for (const panel of this._panels()) {
      const notebook = panel.context.path;
      const link = this._links.get(panel.sessionContext);
      if (link.state !== 'ready') {
        continue;
      }
      const current = link.store.getSnapshot().current;
      const outcome = await link.outcome('sessions', { words: '' });
      for (const { id, title } of outcome.answer?.sessions ?? []) {
        if (!choices.has(id) || id === current) {
          const name = `${title || id} · ${nameOf(notebook)} · ${id}`;
          choices.set(id, { name, target: { notebook, session: id } });
        }
      }
    }
    return [...choices.values()];
  }

  private _panels() {
    const panels: NonNullable<INotebookTracker['currentWidget']>[] = [];
    this._notebooks?.forEach(panel => {
      panels.push(panel);
    });
    return panels;
  }

  /** Returns the recordings that lie in a folder of the file browser. */
  private async _recordings(folder: string): Promise<IChoice[]> {
    const { contents } = this._app.serviceManager;
    const outcome = await contents.get(folder).catch(() => null);
    const files = (outcome?.type === 'directory' ? outcome.content : []) as {
      path: string;
      last_modified: string;
      type: string;
    }[];
    const jsonlFiles = files
      .filter(({ path, type }) => type === 'file' && path.endsWith('.jsonl'))
      .sort((a, b) => b.last_modified.localeCompare(a.last_modified))
      .slice(0, MAX_FILES);
    const areRecordings = await Promise.all(
      jsonlFiles.map(({ path }) => isRecording(this._app, path))
    );
    return [
      ...files.filter(({ path }) =>
        ENDINGS.some(ending => path.endsWith(ending))
      ),
      ...jsonlFiles.filter((_, at) => areRecordings[at])
    ].map(({ path }) => ({ name: path, target: { path } }));
  }
}

const ENDINGS = RECORDING_TYPES.filter(({ name }) =>
  DEFAULT_TYPES.some(type => type === name)
).flatMap(({ extensions }) => [...extensions]);

function nameOf(path: string): string {
  return path.split('/').at(-1) ?? path;
}

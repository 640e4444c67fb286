/** Asks which session or recording to inspect where no notebook is in front, and which one to compare with. */
import type { JupyterFrontEnd } from '@jupyterlab/application';
import { InputDialog } from '@jupyterlab/apputils';
import type { INotebookTracker } from '@jupyterlab/notebook';
import type { LinkRegistry } from '../kernel/linkRegistry';
import type { IWords } from '../views/host';
import { fileNameOf, folderOf } from '../state/text/filePaths';
import { isRecording } from './recordingFactory';
import { DEFAULT_TYPES, RECORDING_TYPES } from './recordingFormats';
import type { IBesideTarget, IInspectorArguments } from './targets';

/** How many `.jsonl` files of a folder are looked into; the newest come first. */
const MAX_JSONL_FILES = 20;

interface IChoice {
  name: string;
  target: IInspectorArguments;
}

/**
 * The questions which session or recording to inspect, and which one to compare it with.
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
      ...(await this._sessionChoices()),
      ...(await this._recordingChoices(folder))
    ];
    if (choices.length === 0) {
      return this._askForPath(
        this._words.__('Inspect which recorded file?'),
        folder,
        this._words.__('Inspect')
      );
    }
    return this._askForOne(
      choices,
      folder,
      this._words.__('Inspect the context of which session?'),
      this._words.__('Inspect')
    );
  }

  /**
   * Returns the session or recorded file that an inspected one is to be compared with, or null where the question was
   * dismissed. Offered are the sessions of its notebook, and the recordings in its folder.
   */
  async askCompared({
    notebook,
    path,
    session
  }: IInspectorArguments): Promise<IBesideTarget | null> {
    const file = path ?? notebook ?? '';
    const folder = folderOf(file);
    const sessions =
      path === undefined ? await this._sessionChoices(notebook) : [];
    const recordings = await this._recordingChoices(folder);
    const choices = [
      ...sessions.filter(({ target }) => target.session !== session),
      ...recordings.filter(({ target }) => target.path !== path)
    ];
    const title = this._words.__('Compare with which session?');
    const okLabel = this._words.__('Compare');
    const chosenTarget =
      choices.length === 0
        ? await this._askForPath(title, folder, okLabel)
        : await this._askForOne(choices, folder, title, okLabel);
    return chosenTarget === null
      ? null
      : chosenTarget.path === undefined
        ? { session: chosenTarget.session }
        : { path: chosenTarget.path };
  }

  /** Asks for one of the choices, or for the path of another recorded file. */
  private async _askForOne(
    choices: readonly IChoice[],
    folder: string,
    title: string,
    okLabel: string
  ): Promise<IInspectorArguments | null> {
    const otherFileLabel = this._words.__('Another recorded file…');
    const names = choices.map(({ name }) => name);
    const { button, value } = await InputDialog.getItem({
      title,
      items: [...names, otherFileLabel],
      okLabel
    });
    if (!button.accept || value === null) {
      return null;
    }
    return value === otherFileLabel
      ? this._askForPath(title, folder, okLabel)
      : (choices[names.indexOf(value)]?.target ?? null);
  }

  private async _askForPath(
    title: string,
    folder: string,
    okLabel: string
  ): Promise<IInspectorArguments | null> {
    const { button, value } = await InputDialog.getText({
      title,
      label: this._words.__('Its path in the file browser'),
      text: folder === '' ? '' : `${folder}/`,
      okLabel
    });
    const path = (value ?? '').trim().replace(/^\/+/, '');
    return button.accept && path !== '' ? { path } : null;
  }

  /** Returns the sessions of open notebooks, or of one, whose kernels answer; notebooks of one folder share theirs. */
  private async _sessionChoices(onlyNotebook?: string): Promise<IChoice[]> {
    const choices = new Map<string, IChoice>();
    for (const panel of this._panels()) {
      const notebook = panel.context.path;
      const link = this._links.get(panel.sessionContext);
      if (link.state !== 'ready' || (onlyNotebook ?? notebook) !== notebook) {
        continue;
      }
      const current = link.store.getSnapshot().current;
      const outcome = await link.outcome('sessions', { words: '' });
      for (const { id, title } of outcome.answer?.sessions ?? []) {
        if (!choices.has(id) || id === current) {
          const name = `${title || id} · ${fileNameOf(notebook)} · ${id}`;
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
  private async _recordingChoices(folder: string): Promise<IChoice[]> {
    const { contents } = this._app.serviceManager;
    const folderModel = await contents.get(folder).catch(() => null);
    const files = (
      folderModel?.type === 'directory' ? folderModel.content : []
    ) as {
      path: string;
      last_modified: string;
      type: string;
    }[];
    const jsonlFiles = files
      .filter(({ path, type }) => type === 'file' && path.endsWith('.jsonl'))
      .sort((a, b) => b.last_modified.localeCompare(a.last_modified))
      .slice(0, MAX_JSONL_FILES);
    const areRecordings = await Promise.all(
      jsonlFiles.map(({ path }) => isRecording(this._app, path))
    );
    return [
      ...files.filter(({ path }) =>
        RECORDING_ENDINGS.some(ending => path.endsWith(ending))
      ),
      ...jsonlFiles.filter((_, index) => areRecordings[index])
    ].map(({ path }) => ({ name: path, target: { path } }));
  }
}

const RECORDING_ENDINGS = RECORDING_TYPES.filter(({ name }) =>
  DEFAULT_TYPES.some(type => type === name)
).flatMap(({ extensions }) => [...extensions]);

/** Recorded files as documents: a double click, or "Open With", opens the inspector over a kernel of its own. */
import type { ILayoutRestorer, JupyterFrontEnd } from '@jupyterlab/application';
import { WidgetTracker } from '@jupyterlab/apputils';
import {
  ABCWidgetFactory,
  DocumentModel,
  DocumentWidget,
  TextModelFactory,
  type DocumentRegistry
} from '@jupyterlab/docregistry';
import { ServerConnection } from '@jupyterlab/services';
import { StackedPanel, Widget } from '@lumino/widgets';
import type { IWords } from '../views/host';
import { inspectorIcon } from './inspectorIcon';
import type { InspectorModel } from './inspectorModel';
import type { InspectorWidget } from './inspectorWidget';
import {
  MAX_BEGINNING_BYTES,
  beginsLikeRecording,
  DEFAULT_TYPES,
  RECORDING_TYPES
} from './recordingFormats';
import { readArguments, type IInspectorArguments } from './targets';

/** Name of the factory, as menus show it. */
export const RECORDING_FACTORY = 'Palimpsest Inspector';

/** Name of the factory that looks at a `.jsonl` file's beginning. */
const LINES_FACTORY = 'Palimpsest Recording or Text';

/** The content that a model shares between pages; ours has none. */
type SharedFile =
  NonNullable<
    Parameters<TextModelFactory['createNew']>[0]
  > extends DocumentRegistry.IModelOptions<infer T>
    ? T
    : never;

const MODEL_NAME = 'palimpsest-recording';

/** A model without content: the kernel reads the file, which may be larger than a page can hold. */
class UnreadModelFactory extends TextModelFactory {
  constructor() {
    super(false);
  }

  override get name(): string {
    return MODEL_NAME;
  }

  override get fileFormat(): 'text' {
    // JupyterLab fetches no content where the format is null; its class allows only 'text'.
    return null as unknown as 'text';
  }

  /** Makes a model that JupyterLab does not save, so that it puts no checkpoint beside the file. */
  override createNew(
    options: DocumentRegistry.IModelOptions<SharedFile> = {}
  ): DocumentRegistry.ICodeModel {
    return new DocumentModel({ ...options, collaborationEnabled: true });
  }
}

/** The command by which JupyterLab brings a recorded file back with its layout. */
const RESTORE_COMMAND = 'palimpsest:restore-recording';

/** Makes the inspector of a recorded file, at a place. */
type MakeInspector = (
  path: string,
  place: IInspectorArguments
) => Promise<InspectorWidget>;

/** The document of one recorded file; the inspector comes into it once its code is loaded. */
export class RecordingDocument extends DocumentWidget<StackedPanel> {
  /** Called when another place is shown. */
  onPlace: () => void = () => undefined;
  private _inspector: InspectorWidget | null = null;

  constructor(
    context: DocumentRegistry.Context,
    private readonly _initialPlace: IInspectorArguments,
    inspector: Promise<InspectorWidget>
  ) {
    super({ content: new StackedPanel(), context });
    this.title.icon = inspectorIcon;
    void inspector.then(widget => {
      if (this.isDisposed) {
        widget.dispose();
        return;
      }
      this._inspector = widget;
      this.content.addWidget(widget);
      widget.model.subscribe(() => {
        this.onPlace();
      });
    });
  }

  /** The model of its inspector; null until its code is loaded. */
  get model(): InspectorModel | null {
    return this._inspector?.model ?? null;
  }

  /** The arguments that restore this document as it is. */
  get arguments(): IInspectorArguments {
    const inspectorArguments =
      this._inspector?.model.arguments ?? this._initialPlace;
    return { ...inspectorArguments, path: this.context.path };
  }
}

/** Makes the documents of recorded files. */
class RecordingFactory extends ABCWidgetFactory<RecordingDocument> {
  /** Places of documents that are being restored, by path. */
  readonly restoredPlaces = new Map<string, IInspectorArguments>();

  constructor(
    private readonly _makeInspector: MakeInspector,
    options: DocumentRegistry.IWidgetFactoryOptions<RecordingDocument>
  ) {
    super(options);
  }

  protected createNewWidget(
    context: DocumentRegistry.Context
  ): RecordingDocument {
    const { path } = context;
    const initialPlace = this.restoredPlaces.get(path) ?? { path };
    return new RecordingDocument(
      context,
      initialPlace,
      this._makeInspector(path, initialPlace)
    );
  }
}

/**
 * Opens a `.jsonl` file: in the inspector if it begins like a recording, and else in what would open it without us.
 *
 * Its own widget is empty and closes at once.
 */
class LinesFactory extends ABCWidgetFactory<DocumentWidget> {
  constructor(
    private readonly _app: JupyterFrontEnd,
    options: DocumentRegistry.IWidgetFactoryOptions<DocumentWidget>
  ) {
    super(options);
  }

  protected createNewWidget(context: DocumentRegistry.Context): DocumentWidget {
    const widget = emptyDocument(context);
    void this._open(context.path)
      .finally(() => {
        widget.dispose();
      })
      .then(opened => {
        if (opened instanceof Widget && !opened.isAttached) {
          // Notebook 7 has room for one document, which was the empty one.
          this._app.shell.add(opened, 'main');
        }
      });
    return widget;
  }

  private async _open(path: string): Promise<unknown> {
    const factory = (await isRecording(this._app, path))
      ? RECORDING_FACTORY
      : this._app.docRegistry
          .preferredWidgetFactories(path)
          .map(({ name }) => name)
          .find(name => name !== RECORDING_FACTORY && name !== LINES_FACTORY);
    // With any other reference Notebook 7 would open a page of its own.
    const options = { ref: '_noref' };
    return (await this._app.commands.execute('docmanager:open', {
      path,
      factory,
      options
    })) as unknown;
  }
}

function emptyDocument(context: DocumentRegistry.Context): DocumentWidget {
  return new DocumentWidget({ content: new Widget(), context });
}

/**
 * Registers the factory: for names that only recordings have it is the default; for other JSON it is offered in
 * "Open With", and a `.jsonl` file opens in it by a double click if it begins like a recording. Open documents come
 * back with the layout.
 */
export function addRecordings(
  app: JupyterFrontEnd,
  inspector: MakeInspector,
  words: IWords,
  restorer: ILayoutRestorer | null
): void {
  const { docRegistry } = app;
  const typeNames = RECORDING_TYPES.map(({ name, extensions, what }) => {
    docRegistry.addFileType({
      name,
      displayName: words.__(what),
      extensions: [...extensions],
      mimeTypes: ['application/octet-stream'],
      fileFormat: 'base64',
      icon: inspectorIcon
    });
    return name;
  });
  docRegistry.addModelFactory(new UnreadModelFactory());
  const recordings = new RecordingFactory(inspector, {
    name: RECORDING_FACTORY,
    label: words.__('Palimpsest Inspector'),
    modelName: MODEL_NAME,
    fileTypes: [...typeNames, 'jsonl', 'json'],
    defaultFor: [...DEFAULT_TYPES],
    readOnly: true
  });
  docRegistry.addWidgetFactory(recordings);
  if (restorer !== null) {
    keepInLayout(app, recordings, restorer);
  }
  docRegistry.addWidgetFactory(
    new LinesFactory(app, {
      name: LINES_FACTORY,
      label: words.__('Recording or Text'),
      modelName: MODEL_NAME,
      fileTypes: ['jsonl'],
      defaultFor: ['jsonl'],
      readOnly: true
    })
  );
}

/** Has JupyterLab keep the open documents of recorded files with its layout, each at the place where it was left. */
function keepInLayout(
  { commands }: JupyterFrontEnd,
  recordings: RecordingFactory,
  restorer: ILayoutRestorer
): void {
  const tracker = new WidgetTracker<RecordingDocument>({
    namespace: 'jupyter-palimpsest-recording'
  });
  recordings.widgetCreated.connect((_, widget) => {
    const save = () => {
      void tracker.save(widget);
    };
    void tracker.add(widget);
    widget.onPlace = save;
    widget.context.pathChanged.connect(save);
  });
  commands.addCommand(RESTORE_COMMAND, {
    describedBy: {
      args: {
        type: 'object',
        required: ['path'],
        properties: {
          path: { type: 'string', description: 'Path of a recorded file' }
        }
      }
    },
    execute: async args => {
      const place = readArguments(args);
      const { path = '' } = place;
      recordings.restoredPlaces.set(path, place);
      try {
        const openArguments = { path, factory: RECORDING_FACTORY };
        return (await commands.execute(
          'docmanager:open',
          openArguments
        )) as unknown;
      } finally {
        recordings.restoredPlaces.delete(path);
      }
    }
  });
  void restorer.restore(tracker, {
    command: RESTORE_COMMAND,
    args: widget => ({ ...widget.arguments }),
    name: ({ context }) => context.path
  });
}

/** Returns whether a file on the server begins like a recording; only its beginning is fetched. */
export async function isRecording(
  app: JupyterFrontEnd,
  path: string
): Promise<boolean> {
  const { contents, serverSettings } = app.serviceManager;
  try {
    const url = await contents.getDownloadUrl(path);
    const response = await ServerConnection.makeRequest(
      url,
      { headers: { Range: `bytes=0-${MAX_BEGINNING_BYTES - 1}` } },
      serverSettings
    );
    return response.ok && beginsLikeRecording(await beginningOf(response));
  } catch {
    return false;
  }
}

/** Reads the first bytes of an answer, also of a server that sends the whole file. */
async function beginningOf({ body }: Response): Promise<string> {
  const reader = body?.getReader();
  const decoder = new TextDecoder();
  let text = '';
  while (reader !== undefined && text.length < MAX_BEGINNING_BYTES) {
    const { done, value } = await reader.read();
    if (done) {
      break;
    }
    text += decoder.decode(value, { stream: true });
  }
  await reader?.cancel();
  return text;
}

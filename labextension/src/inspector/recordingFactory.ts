/**
 * Recorded files as documents: a double click, or "Open With", opens the inspector over a kernel of its own.
 */
import type { JupyterFrontEnd } from '@jupyterlab/application';
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
import {
  BEGINNING_BYTES,
  beginsLikeRecording,
  DEFAULT_TYPES,
  RECORDING_TYPES
} from './recordingFormats';

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

const MODEL = 'palimpsest-recording';

/** A model without content: the kernel reads the file, which may be larger than a page can hold. */
class UnreadModelFactory extends TextModelFactory {
  constructor() {
    super(false);
  }

  override get name(): string {
    return MODEL;
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

/** Makes the inspector of a recorded file. */
type MakeInspector = (path: string) => Promise<Widget>;

/** Makes the widget of one recorded file; the inspector comes into it once its code is loaded. */
class RecordingFactory extends ABCWidgetFactory<DocumentWidget> {
  constructor(
    private readonly _inspector: MakeInspector,
    options: DocumentRegistry.IWidgetFactoryOptions<DocumentWidget>
  ) {
    super(options);
  }

  protected createNewWidget(context: DocumentRegistry.Context): DocumentWidget {
    const content = new StackedPanel();
    void this._inspector(context.path).then(inspector => {
      if (content.isDisposed) {
        inspector.dispose();
      } else {
        content.addWidget(inspector);
      }
    });
    return new DocumentWidget({ content, context });
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
    const widget = blank(context);
    void this._open(context.path).finally(() => {
      widget.dispose();
    });
    return widget;
  }

  private async _open(path: string): Promise<void> {
    const factory = (await isRecording(this._app, path))
      ? RECORDING_FACTORY
      : this._app.docRegistry
          .preferredWidgetFactories(path)
          .map(({ name }) => name)
          .find(name => name !== RECORDING_FACTORY && name !== LINES_FACTORY);
    await this._app.commands.execute('docmanager:open', { path, factory });
  }
}

function blank(context: DocumentRegistry.Context): DocumentWidget {
  return new DocumentWidget({ content: new Widget(), context });
}

/**
 * Registers the factory: for names that only recordings have it is the default; for other JSON it is offered in
 * "Open With", and a `.jsonl` file opens in it by a double click if it begins like a recording.
 */
export function addRecordings(
  app: JupyterFrontEnd,
  inspector: MakeInspector,
  words: IWords
): void {
  const { docRegistry } = app;
  const own = RECORDING_TYPES.map(({ name, extensions, what }) => {
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
  docRegistry.addWidgetFactory(
    new RecordingFactory(inspector, {
      name: RECORDING_FACTORY,
      label: words.__('Palimpsest Inspector'),
      modelName: MODEL,
      fileTypes: [...own, 'jsonl', 'json'],
      defaultFor: [...DEFAULT_TYPES],
      readOnly: true
    })
  );
  docRegistry.addWidgetFactory(
    new LinesFactory(app, {
      name: LINES_FACTORY,
      label: words.__('Recording or Text'),
      modelName: MODEL,
      fileTypes: ['jsonl'],
      defaultFor: ['jsonl'],
      readOnly: true
    })
  );
}

/** Returns whether a file on the server begins like a recording; only its beginning is fetched. */
export async function isRecording(
  app: JupyterFrontEnd,
  path: string
): Promise<boolean> {
  const { contents, serverSettings } = app.serviceManager;
  try {
    const url = await contents.getDownloadUrl(path);
    const answer = await ServerConnection.makeRequest(
      url,
      { headers: { Range: `bytes=0-${BEGINNING_BYTES - 1}` } },
      serverSettings
    );
    return answer.ok && beginsLikeRecording(await beginningOf(answer));
  } catch {
    return false;
  }
}

/** Reads the first bytes of an answer, also of a server that sends the whole file. */
async function beginningOf({ body }: Response): Promise<string> {
  const reader = body?.getReader();
  const decoder = new TextDecoder();
  let text = '';
  while (reader !== undefined && text.length < BEGINNING_BYTES) {
    const { done, value } = await reader.read();
    if (done) {
      break;
    }
    text += decoder.decode(value, { stream: true });
  }
  await reader?.cancel();
  return text;
}

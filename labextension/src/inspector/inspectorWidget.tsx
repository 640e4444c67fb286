/** The inspector as a widget in JupyterLab's main area. */
import type { IEditorLanguageRegistry } from '@jupyterlab/codemirror';
import type { IRenderMimeRegistry } from '@jupyterlab/rendermime';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { Message } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';
import { createRoot, type Root } from 'react-dom/client';
import { labHost } from '../notebook/rendering/labHost';
import { SlotLayout } from '../notebook/rendering/slotLayout';
import { fileNameOf } from '../state/text/filePaths';
import { nameRegion } from '../views/dom/regionName';
import { HostProvider } from '../views/host';
// The styles come with the views, with a page's first inspector.
import '../../style/inspector.css';
import '../../style/inspectorTab.css';
import type { IBesideState } from './besideSession';
import { inspectorIcon } from './inspectorIcon';
import type { InspectorModel } from './inspectorModel';
import { InspectorTab } from './inspectorTab';
import type { IBesideTarget, IInspectorArguments } from './targets';

/** Services that every inspector's tab needs. */
export interface IInspectorSurroundings {
  registry: IRenderMimeRegistry;
  words: TranslationBundle;
  languages: IEditorLanguageRegistry | null;
  /** Asks which session to compare an inspected one with; null where the question was dismissed. */
  chooseCompared: (
    target: IInspectorArguments
  ) => Promise<IBesideTarget | null>;
}

/** Draws one inspector, and disposes of its model when it is closed. */
export class InspectorWidget extends Widget {
  private static _count = 0;
  private readonly _root: Root;
  private readonly _unsubscribe: () => void;

  constructor(
    readonly model: InspectorModel,
    /** Name of the notebook or file. */
    private readonly _name: string,
    private readonly _surroundings: IInspectorSurroundings,
    /** The name under which a saved layout finds this tab again; it stays when the tab shows something else. */
    readonly layoutName = ''
  ) {
    super();
    const {
      registry,
      words,
      languages,
      chooseCompared: chooseBeside
    } = _surroundings;
    InspectorWidget._count += 1;
    this.id = `jupyter-palimpsest-inspector-${InspectorWidget._count}`;
    this.addClass('plm-InspectorWidget');
    this.title.icon = inspectorIcon;
    this.title.closable = true;
    this.node.tabIndex = -1;
    this.node.setAttribute('role', 'region');
    const slots = new SlotLayout();
    this.layout = slots;
    this._root = createRoot(this.node);
    this._root.render(
      <HostProvider value={labHost(registry, slots, words, languages)}>
        <InspectorTab
          model={model}
          name={_name}
          chooseCompared={chooseBeside}
        />
      </HostProvider>
    );
    this._unsubscribe = model.subscribe(this._updateTitle);
    this._updateTitle();
  }

  override dispose(): void {
    if (!this.isDisposed) {
      this._unsubscribe();
      this._root.unmount();
      this.model.dispose();
    }
    super.dispose();
  }

  protected override onActivateRequest(message: Message): void {
    super.onActivateRequest(message);
    if (!this.node.contains(document.activeElement)) {
      this.node.focus();
    }
  }

  private readonly _updateTitle = (): void => {
    const { words } = this._surroundings;
    const { file, title, beside } = this.model.getSnapshot();
    const name = fileNameOf(file) || this._name;
    const sessionName = title === '' ? name : title;
    const comparedTarget = this.model.arguments.beside;
    const heading =
      beside === null || comparedTarget === undefined
        ? sessionName
        : words.__(
            '%1 and %2',
            sessionName,
            besideName(beside, comparedTarget)
          );
    this.title.label =
      heading === '' ? words.__('Context') : words.__('Context: %1', heading);
    this.title.caption = words.__(
      'What the model saw in each request of %1',
      heading
    );
    nameRegion(
      this.node,
      heading === ''
        ? words.__('Inspect the Context')
        : words.__('Inspect the Context: %1', heading),
      words
    );
  };
}

/** Returns the name of the session beside: its file's, or its title. */
function besideName(
  { comparison }: IBesideState,
  { path, session = '' }: IBesideTarget
): string {
  return path === undefined
    ? comparison?.second.title || session
    : fileNameOf(path);
}

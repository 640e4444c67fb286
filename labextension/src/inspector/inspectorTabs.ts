/** The inspectors of a page: opens them, and finds the open ones. */
import type { JupyterFrontEnd } from '@jupyterlab/application';
import { MainAreaWidget, type WidgetTracker } from '@jupyterlab/apputils';
import type { INotebookTracker } from '@jupyterlab/notebook';
import { SplitPanel, type Widget } from '@lumino/widgets';
import type { LinkRegistry } from '../kernel/linkRegistry';
import type { IInspectedKernel } from './kernels/inspectedKernel';
import { InspectorModel } from './inspectorModel';
import {
  InspectorWidget,
  type IInspectorSurroundings
} from './inspectorWidget';
import { NotebookKernel } from './kernels/notebookKernel';
import { RecordingKernel } from './kernels/recordingKernel';
import { fileNameOf } from '../state/text/filePaths';
import { besideWord, isSameBeside, type IInspectorArguments } from './targets';

export type InspectorArea = MainAreaWidget<InspectorWidget>;

/**
 * Opens inspectors.
 *
 * Responsibilities: one tab for a session of a notebook or a file, and for each session that is shown beside it.
 */
export class InspectorTabs {
  constructor(
    private readonly _app: JupyterFrontEnd,
    private readonly _tracker: WidgetTracker<InspectorArea>,
    private readonly _notebooks: INotebookTracker | null,
    private readonly _links: LinkRegistry,
    private readonly _surroundings: IInspectorSurroundings
  ) {}

  /** Opens an inspector, or shows the place in the one that is open; a layout brings one back under its own name. */
  open(args: IInspectorArguments, layoutName?: string): InspectorArea {
    const target = this._withNotebook(args);
    const openTab = this._tracker.find(({ content, isDisposed }) => {
      const openArguments = content.model.arguments;
      return (
        !isDisposed &&
        openArguments.path === target.path &&
        openArguments.notebook === target.notebook &&
        (target.session === undefined ||
          openArguments.session === target.session) &&
        (target.beside === undefined ||
          isSameBeside(target.beside, openArguments.beside))
      );
    });
    if (openTab) {
      openTab.content.model.show(target);
      this._app.shell.activateById(openTab.id);
      return openTab;
    }
    return this._add(target, layoutName ?? this._freeName(target));
  }

  /** Returns the inspector of a recorded file at a place, for a document's widget. */
  contentFor(path: string, place: IInspectorArguments): InspectorWidget {
    return this._contentOn(this._kernelOf({ path }), { ...place, path });
  }

  /** Returns a kernel for a target: the notebook's, or one of its own. */
  private _kernelOf(target: IInspectorArguments): IInspectedKernel {
    const { notebook = '', path } = target;
    return path === undefined
      ? new NotebookKernel(
          this._app,
          this._notebooks,
          this._links,
          this._surroundings.words,
          notebook
        )
      : new RecordingKernel(
          this._app.serviceManager,
          this._links,
          this._surroundings.words,
          path
        );
  }

  /** Returns a target with its notebook, by default the one in front, and with the session that this has now. */
  private _withNotebook(target: IInspectorArguments): IInspectorArguments {
    if (target.path !== undefined) {
      return { ...target, notebook: undefined };
    }
    const { notebook = this._notebooks?.currentWidget?.context.path } = target;
    const panel = this._notebooks?.find(
      ({ context, isDisposed }) => !isDisposed && context.path === notebook
    );
    const link = panel && this._links.get(panel.sessionContext);
    const current = link?.store.getSnapshot().current ?? undefined;
    return { ...target, notebook, session: target.session ?? current };
  }

  private _contentOn(
    kernel: IInspectedKernel,
    target: IInspectorArguments,
    layoutName = ''
  ): InspectorWidget {
    const model = new InspectorModel(kernel, target);
    const name = fileNameOf(target.path ?? target.notebook ?? '');
    return new InspectorWidget(model, name, this._surroundings, layoutName);
  }

  /** Returns a name for the layout that no open tab has. */
  private _freeName({
    path,
    notebook,
    session,
    beside
  }: IInspectorArguments): string {
    const besideName = besideWord(beside);
    const name = [path ?? notebook, session, besideName].join(' ').trimEnd();
    let freeName = name;
    for (let number = 2; this._isNameUsed(freeName); number++) {
      freeName = `${name} ${number}`;
    }
    return freeName;
  }

  private _isNameUsed(name: string): boolean {
    return (
      this._tracker.find(({ content }) => content.layoutName === name) !==
      undefined
    );
  }

  private _add(target: IInspectorArguments, layoutName: string): InspectorArea {
    const kernel = this._kernelOf(target);
    const content = this._contentOn(kernel, target, layoutName);
    const { model } = content;
    const tab = new MainAreaWidget({ content });
    tab.id = `${content.id}-tab`;
    void this._tracker.add(tab);
    const unsubscribe = model.subscribe(() => {
      void this._tracker.save(tab);
    });
    tab.disposed.connect(unsubscribe);
    this._app.shell.add(tab, 'main', { mode: 'tab-after' });
    if (!tab.isAttached) {
      this._addBelow(tab);
    }
    this._app.shell.activateById(tab.id);
    return tab;
  }

  /** Puts a tab below the notebook: Notebook 7 has room for one document only. */
  private _addBelow(tab: InspectorArea): void {
    this._app.shell.add(tab, 'down');
    let above: Widget | null = tab.parent;
    while (above !== null && !(above instanceof SplitPanel)) {
      above = above.parent;
    }
    above?.setRelativeSizes([1, 1]);
  }
}

/** The inspectors of a page: opens them, finds the open ones, and puts two of them side by side. */
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
import type { IInspectorArguments } from './targets';

export type InspectorArea = MainAreaWidget<InspectorWidget>;

/** Where a tab is put. */
type Mode = 'tab-after' | 'split-right';

/**
 * Opens inspectors.
 *
 * Responsibilities: one tab for a session of a notebook or a file; a shared cursor for two that are compared.
 */
export class InspectorTabs {
  constructor(
    private readonly _app: JupyterFrontEnd,
    private readonly _tracker: WidgetTracker<InspectorArea>,
    private readonly _notebooks: INotebookTracker | null,
    private readonly _links: LinkRegistry,
    private readonly _surroundings: IInspectorSurroundings
  ) {}

  /** Opens an inspector, or shows the place in the one that is open. */
  open(args: IInspectorArguments): InspectorArea {
    const target = this._withNotebook(args);
    const open = this._tracker.find(({ content, isDisposed }) => {
      const shown = content.model.arguments;
      return (
        !isDisposed &&
        shown.path === target.path &&
        shown.notebook === target.notebook &&
        (target.session === undefined || shown.session === target.session)
      );
    });
    if (open) {
      open.content.model.show(target);
      this._app.shell.activateById(open.id);
      return open;
    }
    return this._add(target, 'tab-after');
  }

  /** Opens a second inspector to the right of one; a cursor that moves in one moves in the other. */
  compare(session: string): void {
    const first = this._tracker.currentWidget;
    if (first !== null) {
      this._openBeside(first, session);
    }
  }

  /** Opens the inspectors of two sessions side by side. */
  compareTwo(target: IInspectorArguments, session: string): void {
    this._openBeside(this.open(target), session);
  }

  private _openBeside(first: InspectorArea, session: string): void {
    const { notebook, path, request } = first.content.model.arguments;
    const target = { notebook, path, session, request };
    const second = this._add(target, 'split-right', first.id);
    linkCursors(first.content.model, second.content.model);
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
    target: IInspectorArguments
  ): InspectorWidget {
    const model = new InspectorModel(kernel, target);
    const path = target.path ?? target.notebook ?? '';
    const name = path.split('/').at(-1) ?? path;
    return new InspectorWidget(model, name, this._surroundings);
  }

  private _add(
    target: IInspectorArguments,
    mode: Mode,
    ref?: string
  ): InspectorArea {
    const kernel = this._kernelOf(target);
    const content = this._contentOn(kernel, target);
    const { model } = content;
    const tab = new MainAreaWidget({ content });
    tab.id = `${content.id}-tab`;
    void this._tracker.add(tab);
    const end = model.subscribe(() => {
      void this._tracker.save(tab);
    });
    tab.disposed.connect(end);
    this._app.shell.add(tab, 'main', { mode, ref });
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

/** Keeps two models at the same request until either is disposed. */
function linkCursors(first: InspectorModel, second: InspectorModel): void {
  const follow = (from: InspectorModel, to: InspectorModel) =>
    from.subscribe(() => {
      const { request } = from.getSnapshot().place;
      const { place, source } = to.getSnapshot();
      if (source !== null && request !== null && request !== place.request) {
        to.setPlace({ ...place, request });
      }
    });
  follow(first, second);
  follow(second, first);
}

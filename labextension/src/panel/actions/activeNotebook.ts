/** Tracks the active notebook, its kernel, and the link to it. */
import type { ISessionContext } from '@jupyterlab/apputils';
import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import { KernelDeath } from '../../kernel/kernelDeath';
import type { ILink } from '../../kernel/kernelLink';
import type { LinkRegistry } from '../../kernel/linkRegistry';
import type { PanelStatus } from '../../views/chat/panelState';

/**
 * Follows the active notebook.
 *
 * Responsibilities: emit a change when another notebook, kernel, status or name becomes active, or
 * when the kernel sent a notice; watch the kernel while the panel is visible.
 */
export class ActiveNotebook {
  private _panel: NotebookPanel | null = null;
  private _link: ILink | null = null;
  private _unwatch: (() => void) | null = null;
  private _unsubscribe: (() => void) | null = null;
  private _isVisible = false;
  private readonly _death = new KernelDeath();

  constructor(
    private readonly _tracker: INotebookTracker | null,
    private readonly _links: LinkRegistry,
    private readonly _onChange: () => void
  ) {
    _tracker?.currentChanged.connect(this._updateNotebook);
    this._updateNotebook();
  }

  get panel(): NotebookPanel | null {
    return this._panel;
  }

  get context(): ISessionContext | null {
    const panel = this._panel;
    return panel === null || panel.isDisposed ? null : panel.sessionContext;
  }

  get link(): ILink | null {
    return this._link;
  }

  /** The state of the notebook's kernel and session, as far as it is known. */
  get status(): PanelStatus {
    const { context, link } = this;
    if (context === null || link === null) {
      return 'no-notebook';
    }
    const kernel = context.session?.kernel;
    if (!kernel) {
      if (this._death.hasDied) {
        return 'dead';
      }
      return context.isReady || context.hasNoKernel ? 'no-kernel' : 'starting';
    }
    if (/starting/.test(kernel.status)) {
      return 'starting';
    }
    switch (link.state) {
      case 'dead':
      case 'absent':
      case 'connecting':
      case 'loading':
        return link.state;
      case 'ready': {
        // While the session changes, the composer stays.
        const { current, sessions } = link.store.getSnapshot();
        const isKnown = [...sessions.values()].some(
          ({ isLoaded: known }) => known
        );
        return current !== null && isKnown ? 'ready' : 'connecting';
      }
    }
  }

  /** Sets whether the panel is visible; the kernel is watched only then. */
  setVisible(isVisible: boolean): void {
    this._isVisible = isVisible;
    this._unwatch?.();
    this._unwatch = isVisible ? (this._link?.watch() ?? null) : null;
  }

  dispose(): void {
    this._tracker?.currentChanged.disconnect(this._updateNotebook);
    this._leaveNotebook();
  }

  private readonly _updateNotebook = (): void => {
    const panel = this._tracker?.currentWidget ?? null;
    if (panel !== this._panel) {
      this._leaveNotebook();
      this._panel = panel;
      if (panel !== null) {
        this._followNotebook(panel);
      }
    }
    this._onChange();
  };

  private readonly _onKernelChanged = (): void => {
    this._death.update(this.context?.session?.kernel, this._link?.state);
    this._onChange();
  };

  private _followNotebook(panel: NotebookPanel): void {
    const context = panel.sessionContext;
    context.kernelChanged.connect(this._onChange);
    context.statusChanged.connect(this._onKernelChanged);
    context.sessionChanged.connect(this._onChange);
    context.propertyChanged.connect(this._onChange);
    panel.context.pathChanged.connect(this._onChange);
    panel.disposed.connect(this._updateNotebook);
    void context.ready.then(this._onChange);
    this._link = this._links.get(context);
    this._unsubscribe = this._link.store.subscribe(this._onKernelChanged);
    context.kernelChanged.connect(this._onKernelChanged);
    this.setVisible(this._isVisible);
  }

  private _leaveNotebook(): void {
    this._unwatch?.();
    this._unsubscribe?.();
    this._unwatch = this._unsubscribe = this._link = null;
    const panel = this._panel;
    this._panel = null;
    this._death.forget();
    if (panel === null || panel.isDisposed) {
      return;
    }
    const context = panel.sessionContext;
    context.kernelChanged.disconnect(this._onChange);
    context.kernelChanged.disconnect(this._onKernelChanged);
    context.statusChanged.disconnect(this._onKernelChanged);
    context.sessionChanged.disconnect(this._onChange);
    context.propertyChanged.disconnect(this._onChange);
    panel.context.pathChanged.disconnect(this._onChange);
    panel.disposed.disconnect(this._updateNotebook);
  }
}

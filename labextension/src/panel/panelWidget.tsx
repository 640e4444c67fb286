/**
 * The panel as a widget in JupyterLab's side bar.
 */
import type { IEditorLanguageRegistry } from '@jupyterlab/codemirror';
import type { IRenderMimeRegistry } from '@jupyterlab/rendermime';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { Message } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';
import { useSyncExternalStore } from 'react';
import { createRoot, type Root } from 'react-dom/client';
import { labHost } from '../notebook/rendering/labHost';
import { SlotLayout } from '../notebook/rendering/slotLayout';
import {
  InspectorOpenerProvider,
  type IInspectorTarget
} from '../views/actions/inspector';
import { ChatPanel } from '../views/chat/chatPanel';
import { HostProvider } from '../views/host';
import { agentIcon } from './icon';
import type { PanelModel } from './panelModel';

export const PANEL_ID = 'jupyter-palimpsest-panel';

/** The media query at which the style sheet changes the panel's minimum width. */
const WIDE = '(min-width: 900px)';

/** Renders the model, and tells it whether the panel is visible. */
export class PanelWidget extends Widget {
  private readonly _root: Root;
  /** A request for focus that waits for the composer. */
  private _wanted: AbortController | null = null;
  private readonly _wide = window.matchMedia(WIDE);

  constructor(
    private readonly _model: PanelModel,
    registry: IRenderMimeRegistry,
    words: TranslationBundle,
    languages: IEditorLanguageRegistry | null,
    /** Opens the inspector of a session. */
    inspect: (target: IInspectorTarget) => void,
    /** Opens the inspectors of two sessions. */
    compare: (session: string, other: string) => void
  ) {
    super();
    this.id = PANEL_ID;
    this.addClass('plm-PanelWidget');
    this.title.icon = agentIcon;
    this.title.label = words.__('Agent');
    this.title.caption = words.__('Agent');
    this.node.setAttribute('role', 'region');
    this.node.setAttribute('aria-label', words.__('Agent'));
    const slots = new SlotLayout();
    this.layout = slots;
    this._wide.addEventListener('change', this._measure);
    this._root = createRoot(this.node);
    this._root.render(
      <HostProvider value={labHost(registry, slots, words, languages)}>
        <InspectorOpenerProvider
          value={{
            inspect: target => {
              inspect({ session: _model.session, ...target });
            },
            compare
          }}
        >
          <PanelContent model={_model} />
        </InspectorOpenerProvider>
      </HostProvider>
    );
  }

  /**
   * Focuses the composer or, if there is none, the button to press; while the kernel is still
   * connecting, as soon as either appears, unless the user does something else meanwhile.
   */
  focusComposer(): void {
    this._wanted?.abort();
    if (this._focus()) {
      return;
    }
    const wanted = (this._wanted = new AbortController());
    const { signal } = wanted;
    const drawn = new MutationObserver(() => {
      if (this._focus()) {
        wanted.abort();
      }
    });
    drawn.observe(this.node, { childList: true, subtree: true });
    signal.addEventListener('abort', () => {
      drawn.disconnect();
    });
    const give = () => {
      wanted.abort();
    };
    for (const sign of ['pointerdown', 'keydown'] as const) {
      document.addEventListener(sign, give, { capture: true, signal });
    }
  }

  private _focus(): boolean {
    const place = this.node.querySelector<HTMLElement>(
      '.plm-Composer-field, .plm-Panel-notice button'
    );
    place?.focus();
    return place !== null;
  }

  override dispose(): void {
    if (!this.isDisposed) {
      this._wanted?.abort();
      this._wide.removeEventListener('change', this._measure);
      this._root.unmount();
      this._model.dispose();
    }
    super.dispose();
  }

  protected override onAfterShow(message: Message): void {
    super.onAfterShow(message);
    this._look();
  }

  protected override onAfterHide(message: Message): void {
    super.onAfterHide(message);
    this._look();
  }

  protected override onAfterAttach(message: Message): void {
    super.onAfterAttach(message);
    this._look();
  }

  protected override onBeforeDetach(message: Message): void {
    this._model.look(false);
    super.onBeforeDetach(message);
  }

  protected override onActivateRequest(message: Message): void {
    super.onActivateRequest(message);
    this.focusComposer();
  }

  /** Minimum widths are read only at a new layout, which a growing window does not cause. */
  private readonly _measure = () => {
    this.parent?.fit();
  };

  private _look(): void {
    this._model.look(this.isVisible);
  }
}

function PanelContent({ model }: { model: PanelModel }) {
  const state = useSyncExternalStore(model.subscribe, model.getSnapshot);
  return (
    <ChatPanel
      state={state}
      actions={model.actions}
      onDismissFailure={model.dismissFailure}
      onDismissNotice={model.dismissNotice}
      onSearchEnd={model.endSearch}
    />
  );
}

/** The panel as a widget in JupyterLab's side bar. */
import type { IEditorLanguageRegistry } from '@jupyterlab/codemirror';
import type { IRenderMimeRegistry } from '@jupyterlab/rendermime';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { Message } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';
import { useSyncExternalStore } from 'react';
import { createRoot, type Root } from 'react-dom/client';
import { labHost } from '../notebook/rendering/labHost';
import { SlotLayout } from '../notebook/rendering/slotLayout';
import type { IReviewedChange } from '../state/review/cellReview';
import {
  InspectorOpenerProvider,
  type IInspectorTarget
} from '../views/actions/inspector';
import { ChatPanel } from '../views/chat/chatPanel';
import { HostProvider, useHost } from '../views/host';
import { agentIcon } from './icon';
import type { PanelModel } from './panelModel';
import { fitBoxesAround, PanelOverlay } from './panelOverlay';
import { addQuoteButton, insertQuote } from './quotes';
import { SmallButton } from '../views/controls/buttons';

export const PANEL_ID = 'jupyter-palimpsest-panel';

/** The media query at which the style sheet changes the panel's minimum width. */
const WIDE_WINDOW = '(min-width: 900px)';

/** Renders the model, and tells it whether the panel is visible. */
export class PanelWidget extends Widget {
  private readonly _root: Root;
  /** A request for focus that waits for the composer. */
  private _focusRequest: AbortController | null = null;
  /** A text that waits for the composer, to be quoted there. */
  private _pendingQuote = '';
  private readonly _removeQuoteButton: () => void;
  private readonly _wideQuery = window.matchMedia(WIDE_WINDOW);
  private readonly _overlay: PanelOverlay;

  constructor(
    private readonly _model: PanelModel,
    registry: IRenderMimeRegistry,
    words: TranslationBundle,
    languages: IEditorLanguageRegistry | null,
    /** Opens the inspector of a session. */
    inspect: (target: IInspectorTarget) => void,
    /** Opens the inspectors of two sessions. */
    compare: (session: string, other: string) => void,
    /** Closes the side area of the panel. */
    close: () => void,
    /** Shows the panel and quotes a text in its prompt. */
    onQuote: (text: string) => void
  ) {
    super();
    this._overlay = new PanelOverlay(this, close);
    this.id = PANEL_ID;
    this.addClass('plm-PanelWidget');
    this.title.icon = agentIcon;
    this.title.label = words.__('Agent');
    this.title.caption = words.__('Agent');
    this.node.setAttribute('role', 'region');
    this.node.setAttribute('aria-label', words.__('Agent'));
    const slots = new SlotLayout();
    this.layout = slots;
    const host = labHost(registry, slots, words, languages);
    this._removeQuoteButton = addQuoteButton(host, onQuote);
    this._wideQuery.addEventListener('change', this._fitBoxes);
    this._root = createRoot(this.node);
    this._root.render(
      <HostProvider value={host}>
        <InspectorOpenerProvider
          value={{
            inspect: target => {
              inspect({ session: _model.session, ...target });
            },
            compare
          }}
        >
          <PanelContent
            model={_model}
            overlay={this._overlay}
            onClose={() => {
              close();
              _model.actions.notebook.focus();
            }}
          />
        </InspectorOpenerProvider>
      </HostProvider>
    );
  }

  /**
   * Focuses the composer or, if there is none, the button to press; while the kernel is still
   * connecting, as soon as either appears, unless the user does something else meanwhile.
   */
  focusComposer(): void {
    this._focusRequest?.abort();
    if (this._tryFocus()) {
      return;
    }
    const request = (this._focusRequest = new AbortController());
    const { signal } = request;
    const domObserver = new MutationObserver(() => {
      if (this._tryFocus()) {
        request.abort();
      }
    });
    domObserver.observe(this.node, { childList: true, subtree: true });
    signal.addEventListener('abort', () => {
      domObserver.disconnect();
    });
    const giveUp = () => {
      this._pendingQuote = '';
      request.abort();
    };
    for (const eventType of ['pointerdown', 'keydown'] as const) {
      document.addEventListener(eventType, giveUp, { capture: true, signal });
    }
  }

  /** Quotes a text in the prompt, at the caret; as soon as there is a composer. */
  quote(text: string): void {
    this._pendingQuote = text;
    this.focusComposer();
  }

  private _tryFocus(): boolean {
    const field = this.node.querySelector<HTMLTextAreaElement>(
      'textarea.plm-Composer-field'
    );
    if (this._pendingQuote !== '') {
      if (field?.readOnly === false) {
        insertQuote(field, this._pendingQuote);
        this._pendingQuote = '';
      }
      return field !== null;
    }
    const focusTarget =
      field ?? this.node.querySelector<HTMLElement>('.plm-Panel-notice button');
    focusTarget?.focus();
    return focusTarget !== null;
  }

  override dispose(): void {
    if (!this.isDisposed) {
      this._focusRequest?.abort();
      this._wideQuery.removeEventListener('change', this._fitBoxes);
      this._overlay.dispose();
      this._root.unmount();
      this._removeQuoteButton();
      this._model.dispose();
    }
    super.dispose();
  }

  protected override onAfterShow(message: Message): void {
    super.onAfterShow(message);
    this._updateVisibility();
  }

  protected override onAfterHide(message: Message): void {
    super.onAfterHide(message);
    this._updateVisibility();
  }

  protected override onAfterAttach(message: Message): void {
    super.onAfterAttach(message);
    this._updateVisibility();
  }

  protected override onBeforeDetach(message: Message): void {
    this._model.setVisible(false);
    super.onBeforeDetach(message);
  }

  protected override onActivateRequest(message: Message): void {
    super.onActivateRequest(message);
    this.focusComposer();
  }

  /** Lays out anew: minimum widths are read only then, which a growing window does not cause. */
  private readonly _fitBoxes = () => {
    fitBoxesAround(this);
  };

  private _updateVisibility(): void {
    this._model.setVisible(this.isVisible);
    this._overlay.update();
  }
}

interface IPanelContentProps {
  model: PanelModel;
  overlay: PanelOverlay;
  onClose: () => void;
}

function PanelContent({ model, overlay, onClose }: IPanelContentProps) {
  const { words } = useHost();
  const state = useSyncExternalStore(model.subscribe, model.getSnapshot);
  const isOverNotebook = useSyncExternalStore(
    overlay.subscribe,
    overlay.getSnapshot
  );
  const { cellReviews, notebook } = model.actions;
  const actions = !isOverNotebook
    ? model.actions
    : {
        ...model.actions,
        cellReviews: {
          ...cellReviews,
          show: (change: IReviewedChange) => {
            cellReviews.show(change);
            onClose();
          }
        },
        notebook: {
          ...notebook,
          showCell: (id: string) => {
            notebook.showCell(id);
            onClose();
          }
        }
      };
  return (
    <div
      className="plm-PanelBox"
      onKeyDown={event => {
        if (
          isOverNotebook &&
          event.key === 'Escape' &&
          !event.defaultPrevented
        ) {
          event.preventDefault();
          event.stopPropagation();
          onClose();
        }
      }}
    >
      <ChatPanel
        state={state}
        actions={actions}
        above={
          isOverNotebook && (
            <div className="plm-PanelBox-close">
              <SmallButton onClick={onClose}>
                {words.__('Back to the notebook')}
              </SmallButton>
            </div>
          )
        }
        onDismissFailure={model.dismissFailure}
        onDismissNotice={model.dismissNotice}
        onSearchEnd={model.endSearch}
      />
    </div>
  );
}

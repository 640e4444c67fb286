/**
 * Draws the segments that a notebook holds.
 */
import type { IRenderMime, IRenderMimeRegistry } from '@jupyterlab/rendermime';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { Message } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';
import { createRoot, type Root } from 'react-dom/client';
import { flushSync } from 'react-dom';
import { readSegment, SEGMENT_MIME } from '../protocol/segment';
import { HostProvider, type IHost } from '../views/host';
import { Segment } from '../views/segment';
import { labHost } from './host';
import { Slots } from './slots';

/**
 * One segment in the page.
 *
 * JupyterLab keeps the widget while a display is updated, so what a person opened stays open.
 */
export class SegmentWidget extends Widget implements IRenderMime.IRenderer {
  private readonly _root: Root;
  private readonly _host: IHost;

  constructor(registry: IRenderMimeRegistry, words: TranslationBundle) {
    super();
    this.addClass('plm-SegmentWidget');
    const slots = new Slots();
    this.layout = slots;
    this._host = labHost(registry, slots, words);
    this._root = createRoot(this.node);
  }

  /** Draws a saved segment, or says that it is none. */
  renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    const segment = readSegment(model.data[SEGMENT_MIME]);
    // At once, so that the cell has its height before the notebook scrolls to it.
    flushSync(() => {
      this._root.render(
        <HostProvider value={this._host}>
          {segment === null ? (
            <p className="plm-Muted">
              {this._host.words.__('This output of the agent cannot be read.')}
            </p>
          ) : (
            <Segment segment={segment} />
          )}
        </HostProvider>
      );
    });
    return Promise.resolve();
  }

  override dispose(): void {
    if (!this.isDisposed) {
      this._root.unmount();
    }
    super.dispose();
  }

  /** Keeps the keys that work on our buttons from the notebook. */
  protected override onAfterAttach(message: Message): void {
    super.onAfterAttach(message);
    this.node.addEventListener('keydown', keepKeys);
  }

  protected override onBeforeDetach(message: Message): void {
    this.node.removeEventListener('keydown', keepKeys);
    super.onBeforeDetach(message);
  }
}

/** Enter and Space press a focused button; in command mode the notebook would take them. */
function keepKeys(event: KeyboardEvent): void {
  const onButton = event.target instanceof HTMLButtonElement;
  const plain =
    !event.ctrlKey && !event.shiftKey && !event.metaKey && !event.altKey;
  if (onButton && plain && (event.key === 'Enter' || event.key === ' ')) {
    event.stopPropagation();
  }
}

/** Makes the factory of segments. It is safe: what it draws was never trusted. */
export function segmentFactory(
  registry: IRenderMimeRegistry,
  words: TranslationBundle
): IRenderMime.IRendererFactory {
  return {
    safe: true,
    mimeTypes: [SEGMENT_MIME],
    // Before every form that the same story is saved in beside it.
    defaultRank: 30,
    createRenderer: () => new SegmentWidget(registry, words)
  };
}

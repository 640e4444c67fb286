/**
 * Draws the segments of a notebook: as they are saved, or live from what its kernel tells.
 */
import type { IEditorLanguageRegistry } from '@jupyterlab/codemirror';
import type { IRenderMime, IRenderMimeRegistry } from '@jupyterlab/rendermime';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { Message } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';
import { useMemo, useSyncExternalStore } from 'react';
import { createRoot, type Root } from 'react-dom/client';
import { flushSync } from 'react-dom';
import type { ILink } from '../../kernel/kernelLink';
import {
  readSegment,
  SEGMENT_MIME,
  type ISegment
} from '../../protocol/segment';
import {
  displayedSegment,
  type IDisplayedSegment
} from '../../state/display/liveSegment';
import type { IKernelView } from '../../state/store/kernelStore';
import { AnswerActionsProvider } from '../../views/actions/answers';
import { ContextEditorProvider } from '../../views/actions/contextEdits';
import { SessionOpenerProvider } from '../../views/actions/sessions';
import { TurnActionsProvider } from '../../views/actions/turn';
import { HostProvider, type IHost } from '../../views/host';
import { SegmentView } from '../../views/transcript/segmentView';
import { isScrollKey } from '../../views/dom/scrollBoxes';
import { labHost } from './labHost';
import {
  answerActions,
  contextEditor,
  turnActions,
  type ICommandTarget
} from './linkActions';
import { SlotLayout } from './slotLayout';

/**
 * One segment in the page.
 *
 * JupyterLab keeps the widget while a display is updated, so what a person opened stays open.
 */
class SegmentWidget extends Widget implements IRenderMime.IRenderer {
  private readonly _root: Root;
  private readonly _host: IHost;

  constructor(
    registry: IRenderMimeRegistry,
    words: TranslationBundle,
    languages: IEditorLanguageRegistry | null,
    private readonly _link: ILink | null,
    private readonly _showPanel: () => void
  ) {
    super();
    this.addClass('plm-SegmentWidget');
    const slots = new SlotLayout();
    this.layout = slots;
    this._host = labHost(registry, slots, words, languages);
    this._root = createRoot(this.node);
  }

  /** Draws a segment, or says that it is none. */
  renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    const segment = readSegment(model.data[SEGMENT_MIME]);
    if (segment?.open === true) {
      // Somebody writes it, so the package is loaded where this link leads.
      this._link?.retry();
    }
    // At once, so that the cell has its height before the notebook scrolls to it.
    flushSync(() => {
      this._root.render(
        <HostProvider value={this._host}>
          {segment === null ? (
            <p className="plm-Muted">
              {this._host.words.__('This output of the agent cannot be read.')}
            </p>
          ) : this._link === null ? (
            <SegmentView segment={segment} />
          ) : (
            <Live
              segment={segment}
              link={this._link}
              showPanel={this._showPanel}
            />
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
    this.node.addEventListener('focusin', watchKeys);
    this.node.addEventListener('focusout', leaveKeys);
  }

  protected override onBeforeDetach(message: Message): void {
    this.node.removeEventListener('focusin', watchKeys);
    this.node.removeEventListener('focusout', leaveKeys);
    leaveKeys();
    super.onBeforeDetach(message);
  }
}

/** Draws a segment from the store, where the store knows more than what is saved. */
function Live({
  segment,
  link,
  showPanel
}: {
  segment: ISegment;
  link: ILink;
  showPanel: () => void;
}) {
  const read = useMemo(() => reader(segment), [segment]);
  const shown = useSyncExternalStore(link.store.subscribe, () =>
    read(link.store.getSnapshot())
  );
  const actions = useMemo(() => {
    const target: ICommandTarget = {
      link,
      session: segment.session,
      report: () => undefined // a cell has no line for it: what was asked stays open
    };
    return {
      answers: answerActions(target),
      contextEdits: contextEditor(target),
      opener: {
        open: (session: string) => {
          void link.outcome('open', { session });
          showPanel();
        }
      },
      turn: turnActions(target)
    };
  }, [link, segment, showPanel]);
  const offered = shown.live || shown.again === true ? actions : null;
  return (
    <AnswerActionsProvider value={offered?.answers ?? null}>
      <TurnActionsProvider value={offered?.turn ?? null}>
        <SessionOpenerProvider value={offered?.opener ?? null}>
          <ContextEditorProvider value={actions.contextEdits}>
            <SegmentView
              segment={shown.segment}
              live={shown.live}
              status={shown.status}
              problem={shown.problem}
              interrupted={shown.interrupted}
              stray={shown.stray}
              again={shown.again}
              taken={shown.taken}
              stoppable
            />
          </ContextEditorProvider>
        </SessionOpenerProvider>
      </TurnActionsProvider>
    </AnswerActionsProvider>
  );
}

/** Returns a function that draws anew only when something of the segment's session changed. */
function reader(segment: ISegment): (view: IKernelView) => IDisplayedSegment {
  let before: [unknown, unknown, IDisplayedSegment] | null = null;
  return view => {
    const session = view.sessions.get(segment.session);
    if (before?.[0] === session && before?.[1] === view.link) {
      return before[2];
    }
    const now = displayedSegment(segment, view);
    before = [session, view.link, now];
    return now;
  };
}

/**
 * Listens before the host while something of ours has the focus: Notebook 7.4 and 7.5 hand keys
 * to their commands while they come down.
 */
function watchKeys(): void {
  window.addEventListener('keydown', keepKeys, true);
}

function leaveKeys(): void {
  window.removeEventListener('keydown', keepKeys, true);
}

/** Enter and Space press a focused button, arrows scroll; in command mode the notebook would take them. */
function keepKeys(event: KeyboardEvent): void {
  const onButton = event.target instanceof HTMLButtonElement;
  const plain =
    !event.ctrlKey && !event.shiftKey && !event.metaKey && !event.altKey;
  if (onButton && plain && (event.key === 'Enter' || event.key === ' ')) {
    event.stopPropagation();
  }
  if (plain && isScrollKey(event)) {
    event.stopPropagation();
  }
}

/** Makes the factory of segments. It is safe: what it draws was never trusted. */
export function segmentFactory(
  registry: IRenderMimeRegistry,
  words: TranslationBundle,
  languages: IEditorLanguageRegistry | null,
  link: ILink | null = null,
  showPanel: () => void = () => undefined
): IRenderMime.IRendererFactory {
  return {
    safe: true,
    mimeTypes: [SEGMENT_MIME],
    // Before every form that the same story is saved in beside it.
    defaultRank: 30,
    createRenderer: () =>
      new SegmentWidget(registry, words, languages, link, showPanel)
  };
}

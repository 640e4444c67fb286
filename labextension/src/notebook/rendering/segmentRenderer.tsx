/** Renders the segments of a notebook: as saved, or live from the kernel's notices. */
import type { IEditorLanguageRegistry } from '@jupyterlab/codemirror';
import type { IRenderMime, IRenderMimeRegistry } from '@jupyterlab/rendermime';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { Message } from '@lumino/messaging';
import { useMemo, useSyncExternalStore } from 'react';
import { createRoot, type Root } from 'react-dom/client';
import { flushSync } from 'react-dom';
import type { CompactionPart } from '../../protocol/generated';
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
import {
  UNKNOWN_KERNEL,
  type IKernelView
} from '../../state/store/kernelStore';
import { isBusy } from '../../state/session/status';
import type { TurnOutputs } from '../../state/display/turnRows';
import { newestCoveredPlace } from '../../state/display/coveredTurns';
import { proposedFix } from '../../state/lines/proposedFix';
import { openedPlace } from '../../state/display/openedPlace';
import { turnsOf } from '../../state/display/turns';
import { AnswerActionsProvider } from '../../views/actions/answers';
import {
  CellActionsProvider,
  type ICellActions
} from '../../views/actions/cells';
import {
  ContextEditorProvider,
  CoveredTurnsProvider
} from '../../views/actions/contextEdits';
import { HeldRequestActionsProvider } from '../../views/actions/heldRequests';
import {
  InspectorOpenerProvider,
  type IInspectorTarget
} from '../../views/actions/inspector';
import {
  ResendActionsProvider,
  type IResendActions
} from '../../views/actions/resends';
import {
  RevertActionsProvider,
  type IRevertActions
} from '../../views/actions/reverts';
import { SessionOpenerProvider } from '../../views/actions/sessions';
import { TurnActionsProvider } from '../../views/actions/turn';
import {
  HostProvider,
  useHost,
  type IHost,
  type IWords
} from '../../views/host';
import { ProposedFixProvider } from '../../views/parts/codeActions';
import { ResendButtons } from '../../views/transcript/resendButtons';
import { SegmentView } from '../../views/segment/segmentView';
import { ButtonKeysWidget } from './buttonKeysWidget';
import { CellOutputs, outputsOfTurn } from './cellOutputs';
import { labHost } from './labHost';
import {
  answerActions,
  contextEditor,
  heldRequestActions,
  revertActions,
  turnActions,
  type ICommandTarget
} from './linkActions';
import { SlotLayout } from './slotLayout';

/** Other places of the page that an answer's buttons lead to. */
export interface IOtherPlaces {
  /** Shows the panel, where an opened session is displayed. */
  showPanel: () => void;
  /** Opens the inspector. */
  inspect: (target: IInspectorTarget) => void;
}

const NOWHERE: IOtherPlaces = {
  showPanel: () => undefined,
  inspect: () => undefined
};

interface IOwnCellActions extends ICellActions {
  /** Returns the id of the cell whose output it is; empty where none is. */
  ownCell(): string;
}

/** Returns the actions on cells for an element inside a cell. */
type CellActionsOf = (node: HTMLElement) => IOwnCellActions;

/**
 * The widget of one segment in the page.
 *
 * JupyterLab keeps the widget while a display is updated, so disclosures that the user opened stay
 * open.
 */
class SegmentWidget extends ButtonKeysWidget implements IRenderMime.IRenderer {
  private readonly _root: Root;
  private readonly _host: IHost;
  private readonly _cells: IOwnCellActions | null;
  private readonly _outputs = new CellOutputs();

  constructor(
    registry: IRenderMimeRegistry,
    words: TranslationBundle,
    languages: IEditorLanguageRegistry | null,
    private readonly _link: ILink | null,
    private readonly _places: IOtherPlaces,
    cellActions: CellActionsOf | null
  ) {
    super();
    this._cells = cellActions?.(this.node) ?? null;
    this.addClass('plm-SegmentWidget');
    const slots = new SlotLayout();
    this.layout = slots;
    this._host = labHost(registry, slots, words, languages);
    this._root = createRoot(this.node);
  }

  /** Renders a segment, or an error text if the data is not one. */
  renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    const segment = readSegment(model.data[SEGMENT_MIME]);
    if (segment?.open === true) {
      // A live update arrived, so the package is loaded in the kernel of this link.
      this._link?.retry();
    }
    // Synchronously, so that the cell has its height before the notebook scrolls to it.
    flushSync(() => {
      this._root.render(
        <HostProvider value={this._host}>
          {segment === null ? (
            <p className="plm-Muted">
              {this._host.words.__('This output of the agent cannot be read.')}
            </p>
          ) : this._link === null ? (
            <Saved segment={segment} outputs={this._outputs} />
          ) : (
            <Live
              segment={segment}
              outputs={this._outputs}
              link={this._link}
              cells={this._cells}
              places={this._places}
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

  protected override onAfterAttach(message: Message): void {
    super.onAfterAttach(message);
    this._outputs.attach(this);
  }

  protected override onBeforeDetach(message: Message): void {
    this._outputs.detach();
    super.onBeforeDetach(message);
  }
}

/** Renders a segment as it was saved. */
function Saved({
  segment,
  outputs: readable
}: {
  segment: ISegment;
  outputs: CellOutputs;
}) {
  const [outputs, index] = useTurnOutputs(readable, segment);
  return (
    <SegmentView segment={segment} outputs={outputs} outputIndex={index} />
  );
}

/** Returns the outputs of a segment's turn in its cell, and the segment's place among them. */
function useTurnOutputs(
  { subscribe, getSnapshot }: CellOutputs,
  segment: ISegment
): [outputs: TurnOutputs, place: number] {
  const all = useSyncExternalStore(subscribe, getSnapshot);
  return useMemo(() => outputsOfTurn(all, segment), [all, segment]);
}

/** Renders a segment from the store, as far as the store is newer than the saved data. */
function Live({
  segment,
  outputs: readable,
  link,
  cells,
  places
}: {
  segment: ISegment;
  outputs: CellOutputs;
  link: ILink;
  cells: IOwnCellActions | null;
  places: IOtherPlaces;
}) {
  const [saved, index] = useTurnOutputs(readable, segment);
  const displayedOf = useMemo(() => displayedSelector(saved), [saved]);
  const displayed = useSyncExternalStore(link.store.subscribe, () =>
    displayedOf(link.store.getSnapshot())
  );
  const shown = displayed[index] ?? displayedSegment(segment, UNKNOWN_KERNEL);
  const outputs = useMemo(
    () => displayed.map(shownSegment => shownSegment?.segment ?? null),
    [displayed]
  );
  const actions = useMemo(() => {
    const target: ICommandTarget = {
      link,
      session: segment.session,
      report: () => undefined // a cell has no line for it: what was asked stays open
    };
    const open = (session: string) => {
      void link.outcome('open', { session });
      places.showPanel();
    };
    return {
      answers: answerActions(target),
      contextEdits: contextEditor(target),
      covered: {
        lookUnderneath: (mark: CompactionPart) => {
          const { current, sessions } = link.store.getSnapshot();
          const transcript = sessions.get(segment.session)?.transcript;
          if (current === segment.session) {
            places.showPanel();
          } else {
            open(segment.session);
          }
          openedPlace.set(
            newestCoveredPlace(
              turnsOf({ entries: transcript?.entries ?? [] }),
              mark
            )
          );
        }
      },
      heldRequests: heldRequestActions(target),
      opener: { open },
      reverts: revertActions(target),
      turn: turnActions(target),
      inspector: {
        inspect: (inspected: IInspectorTarget = {}) => {
          places.inspect({ session: segment.session, ...inspected });
        }
      }
    };
  }, [link, segment, places]);
  const prompt = useSyncExternalStore(link.store.subscribe, () => {
    const { sessions } = link.store.getSnapshot();
    const entries = sessions.get(segment.session)?.transcript.entries;
    return entries?.findLast(({ id }) => id === segment.turn);
  });
  const { words } = useHost();
  const resends = useMemo(
    () => (cells === null ? null : cellResends(cells, actions.reverts, words)),
    [cells, actions, words]
  );
  // One object while nothing changes, since a segment that is given another is drawn again.
  const buttons = useMemo(
    () =>
      segment.turn !== '' && (
        <RevertActionsProvider value={actions.reverts}>
          <ResendActionsProvider value={resends}>
            <ResendButtons turnId={segment.turn} />
          </ResendActionsProvider>
        </RevertActionsProvider>
      ),
    [actions, resends, segment.turn]
  );
  const canResend = useSyncExternalStore(link.store.subscribe, () =>
    isCurrentAndIdle(link.store.getSnapshot(), segment.session)
  );
  const { messages } = shown.segment;
  const fix = useMemo(
    () => proposedFix(prompt?.message.parts ?? [], messages),
    [prompt, messages]
  );
  const offered = shown.isLive || shown.canRetry === true ? actions : null;
  return (
    <AnswerActionsProvider value={offered?.answers ?? null}>
      <TurnActionsProvider value={offered?.turn ?? null}>
        <SessionOpenerProvider value={offered?.opener ?? null}>
          <ContextEditorProvider value={actions.contextEdits}>
            <CoveredTurnsProvider value={actions.covered}>
              <HeldRequestActionsProvider value={offered?.heldRequests ?? null}>
                <InspectorOpenerProvider value={actions.inspector}>
                  <CellActionsProvider value={cells}>
                    <ProposedFixProvider
                      value={shown.reverted === undefined ? fix : null}
                    >
                      <SegmentView
                        segment={shown.segment}
                        outputs={outputs}
                        outputIndex={index}
                        isLive={shown.isLive}
                        status={shown.status}
                        problem={shown.problemText}
                        isInterrupted={shown.isInterrupted}
                        strayAsks={shown.strayAsks}
                        heldRequests={shown.heldRequests}
                        canRetry={shown.canRetry}
                        revertExtent={shown.reverted}
                        hasStopButton
                        buttons={
                          canResend && shown.reverted === undefined && buttons
                        }
                      />
                    </ProposedFixProvider>
                  </CellActionsProvider>
                </InspectorOpenerProvider>
              </HeldRequestActionsProvider>
            </CoveredTurnsProvider>
          </ContextEditorProvider>
        </SessionOpenerProvider>
      </TurnActionsProvider>
    </AnswerActionsProvider>
  );
}

/** Returns the actions of a cell: its prompt is changed in the cell, and sent again by running it. */
function cellResends(
  cells: IOwnCellActions,
  reverts: IRevertActions,
  words: IWords
): IResendActions {
  return {
    resend: async (turn, overwrite) => {
      const cell = cells.ownCell();
      if (cell === '') {
        return words.__('The cell is no longer in the notebook.');
      }
      const { error } = await reverts.revert(turn, overwrite);
      return error ?? cells.run(cell);
    },
    edit: () => {
      void cells.focus(cells.ownCell());
    }
  };
}

/** Returns whether the notebook's cells go on with a session that does nothing now. */
function isCurrentAndIdle(view: IKernelView, id: string): boolean {
  const session = view.sessions.get(id);
  return (
    view.link === 'ready' &&
    view.current === id &&
    session?.isLoaded === true &&
    !session.head.read_only &&
    !isBusy(session.transcript)
  );
}

/** Returns a selector whose result changes only with what is displayed of the segments' own session. */
function displayedSelector(
  outputs: TurnOutputs
): (view: IKernelView) => readonly (IDisplayedSegment | null)[] {
  const id = outputs.find(segment => segment !== null)?.session ?? '';
  let before: [unknown, unknown] | null = null;
  let lastDisplayed: readonly (IDisplayedSegment | null)[] = [];
  return view => {
    const session = view.sessions.get(id);
    if (before?.[0] !== session || before?.[1] !== view.link) {
      before = [session, view.link];
      const now = outputs.map(segment =>
        segment === null ? null : displayedSegment(segment, view)
      );
      lastDisplayed =
        now.length === lastDisplayed.length &&
        now.every(
          (shownSegment, index) => shownSegment === lastDisplayed[index]
        )
          ? lastDisplayed
          : now;
    }
    return lastDisplayed;
  };
}

/** Creates the renderer factory for segments. It is marked safe: it treats all content as untrusted. */
export function segmentFactory(
  registry: IRenderMimeRegistry,
  words: TranslationBundle,
  languages: IEditorLanguageRegistry | null,
  link: ILink | null = null,
  places: IOtherPlaces = NOWHERE,
  cellActions: CellActionsOf | null = null
): IRenderMime.IRendererFactory {
  return {
    safe: true,
    mimeTypes: [SEGMENT_MIME],
    // Preferred to every other format of the same output.
    defaultRank: 30,
    createRenderer: () =>
      new SegmentWidget(registry, words, languages, link, places, cellActions)
  };
}

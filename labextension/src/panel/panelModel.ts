/** The state of the panel for the active notebook, and the user's actions there. */
import type { JupyterFrontEnd } from '@jupyterlab/application';
import type { INotebookTracker } from '@jupyterlab/notebook';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { ILink } from '../kernel/kernelLink';
import { prepareModel } from '../kernel/modelPreparation';
import type { LinkRegistry } from '../kernel/linkRegistry';
import { cellEdits, type RunCells } from '../notebook/cells/cellEdits';
import { showCell } from '../notebook/cells/shownCell';
import { REVIEW_COMMANDS } from '../notebook/review/reviewCommands';
import {
  answerActions,
  cellReviewActions,
  compactionActions,
  contextEditor,
  heldRequestActions,
  pictureLoader,
  revertActions,
  turnActions,
  type ICommandTarget
} from '../notebook/rendering/linkActions';
import {
  UNKNOWN_KERNEL,
  type IReadable,
  type ISessionView
} from '../state/store/kernelStore';
import { EMPTY_TRANSCRIPT } from '../state/store/transcript';
import { fileNameOf } from '../state/text/filePaths';
import type { IPanelActions } from '../views/actions/panel';
import type { IPanelState, PanelStatus } from '../views/chat/panelState';
import type { SendKey } from '../views/composer/composer';
import { ActiveNotebook } from './actions/activeNotebook';
import { mentionOf, readFile } from './browsedFiles';
import { KernelActions } from './actions/kernelActions';
import { MissingAnswerTracker } from './missingAnswerTracker';
import { PendingSwitches } from './actions/pendingSwitches';
import { permissionActions } from './actions/permissionActions';
import { promptActions } from './actions/promptActions';
import { sessionActions, sessionOpener } from './actions/sessionActions';
import { sharingActions } from './actions/sharingActions';
import { ReaderSet } from '../state/store/readerSet';

/**
 * The panel's model.
 *
 * Responsibilities: one immutable state for the views; the active notebook and its session as the
 * target of actions; the errors of actions, each as one sentence.
 */
export class PanelModel implements ICommandTarget, IReadable<IPanelState> {
  readonly actions: IPanelActions;
  private readonly _activeNotebook: ActiveNotebook;
  private readonly _readers = new ReaderSet();
  private readonly _kernelActions: KernelActions;
  private readonly _missingAnswers: MissingAnswerTracker;
  private readonly _switches = new PendingSwitches();
  /** The shown session, and how many switches the panel had made when it came. */
  private _shownSession = { key: '', switches: 0, isOpenedByPanel: false };
  private _sendKey: SendKey = 'Enter';
  /** The requests to search a session, until the search ends or another session is shown. */
  private _search = { key: '', count: 0 };
  private _isVisible = false;
  /** The current error, and the notebook it belongs to. */
  private _failure: { key: string; text: string } | null = null;
  /** The kernel's problem that the user dismissed. */
  private _dismissedProblem: string | null = null;
  /** The dismissed notice about how a session was opened. */
  private _dismissedNotice: string | null = null;
  private _state: IPanelState = {
    status: 'no-notebook',
    notebook: '',
    key: '',
    transcript: EMPTY_TRANSCRIPT,
    readOnly: false,
    failure: '',
    sendKey: 'Enter',
    search: 0
  };

  constructor(
    app: JupyterFrontEnd,
    tracker: INotebookTracker | null,
    links: LinkRegistry,
    words: TranslationBundle,
    runCells: RunCells
  ) {
    const switches = this._switches;
    this._missingAnswers = new MissingAnswerTracker(this._updateState);
    this._kernelActions = new KernelActions(
      app,
      () => this._activeNotebook,
      words,
      this._setFailure,
      this._updateState
    );
    this.actions = {
      answers: answerActions(this),
      cells: cellEdits(
        {
          notebook: () => this._activeNotebook.panel,
          index: ({ content }) => content.activeCellIndex
        },
        runCells,
        words
      ),
      cellReviews: {
        ...cellReviewActions(this),
        show: ({ change, key }) => {
          const { panel } = this._activeNotebook;
          if (panel !== null) {
            showCell(panel, change.cell);
            void app.commands.execute(REVIEW_COMMANDS.show, { key });
          }
        }
      },
      compaction: compactionActions(this),
      contextEdits: contextEditor(this),
      heldRequests: heldRequestActions(this),
      kernel: this._kernelActions,
      notebook: {
        focus: () => {
          const { panel } = this._activeNotebook;
          if (panel !== null) {
            app.shell.activateById(panel.id);
          }
        },
        showCell: id => {
          const { panel } = this._activeNotebook;
          if (panel !== null) {
            showCell(panel, id);
          }
        },
        mentionOf: path => {
          const contents = app.serviceManager.contents;
          const notebook = this._activeNotebook.panel?.context.path ?? '';
          return mentionOf(
            contents.localPath(path),
            contents.localPath(notebook)
          );
        },
        readFile: path => readFile(app.serviceManager.contents, path),
        insertAnswer: turn =>
          this._missingAnswers.insert(turn, this._activeNotebook.panel, this)
      },
      opener: sessionOpener(this, switches),
      permissions: permissionActions(this),
      pictures: pictureLoader(this),
      prompts: promptActions(this, switches, words, this._setFailure),
      reverts: revertActions(this),
      sessions: sessionActions(this, switches),
      sharing: sharingActions(this),
      turn: turnActions(this)
    };
    this._activeNotebook = new ActiveNotebook(
      tracker,
      links,
      this._updateState
    );
    this._updateState();
  }

  readonly subscribe = this._readers.subscribe;

  readonly getSnapshot = (): IPanelState => this._state;

  get link(): ILink | null {
    return this._activeNotebook.link;
  }

  get session(): string | undefined {
    return this._sessionView?.head.session;
  }

  /** Reports an error, unless the kernel itself is gone. */
  readonly report = ({ error }: { error?: string }): void => {
    // When the kernel is gone or restarting, the panel shows that instead, with a remedy.
    if (error !== undefined && this.link?.state === 'ready') {
      this._setFailure(error);
    }
  };

  /** Sets whether the panel is visible. */
  setVisible(isVisible: boolean): void {
    this._isVisible = isVisible;
    this._activeNotebook.setVisible(isVisible);
    this._updateState();
  }

  /** Sets the key that sends a prompt. */
  setSendKey(sendKey: SendKey): void {
    this._sendKey = sendKey;
    this._updateState();
  }

  /** Opens the search in the session, or puts the keyboard back into it. */
  openSearch(): void {
    const { key } = this._state;
    this._search = { key, count: this._state.search + 1 };
    this._updateState();
  }

  readonly endSearch = (): void => {
    this._search = { key: '', count: 0 };
    this._updateState();
  };

  /** Dismisses the shown error. */
  readonly dismissFailure = (): void => {
    if (this._state.failure === this._kernelProblem) {
      this._dismissedProblem = this._kernelProblem;
    }
    this._setFailure(null);
  };

  /** Dismisses the notice about how the session was opened. */
  readonly dismissNotice = (): void => {
    this._dismissedNotice = this._sessionView?.head.notice ?? null;
    this._updateState();
  };

  dispose(): void {
    this._activeNotebook.dispose();
    this._missingAnswers.dispose();
    this._readers.clear();
  }

  private get _sessionView(): ISessionView | undefined {
    const view = this.link?.store.getSnapshot();
    return view?.sessions.get(view.current ?? '');
  }

  /** The problem that the kernel reports; empty if there is none. */
  private get _kernelProblem(): string {
    const { problemText: problem } =
      this.link?.store.getSnapshot() ?? UNKNOWN_KERNEL;
    const sessionProblem = this._sessionView?.head.problem ?? '';
    return sessionProblem === '' ? problem : sessionProblem;
  }

  private readonly _setFailure = (text: string | null): void => {
    this._failure = text === null ? null : { key: this._notebookKey, text };
    this._updateState();
  };

  private get _notebookKey(): string {
    return this._activeNotebook.panel?.id ?? '';
  }

  private readonly _updateState = (): void => {
    // ActiveNotebook calls this in its constructor, before `_activeNotebook` is set.
    const activeNotebook = this._activeNotebook as ActiveNotebook | undefined;
    if (activeNotebook === undefined) {
      return;
    }
    const { context } = activeNotebook;
    const session = this._sessionView;
    const transcript = session?.transcript ?? EMPTY_TRANSCRIPT;
    const failure =
      this._failure?.key === this._notebookKey ? this._failure.text : '';
    const notice = session?.head.notice ?? '';
    const kernelProblem = this._kernelProblem;
    if (kernelProblem !== this._dismissedProblem) {
      // The problem is over or has changed: if it returns, it is shown again.
      this._dismissedProblem = null;
    }
    const key = `${this._notebookKey} ${session?.head.session ?? ''}`;
    if (key !== this._shownSession.key) {
      const { count } = this._switches;
      const isOpenedByPanel = count !== this._shownSession.switches;
      this._shownSession = { key, switches: count, isOpenedByPanel };
    }
    const state: IPanelState = {
      status: this._statusOf(activeNotebook),
      notebook: fileNameOf(context?.path ?? ''),
      key,
      switchedHere: this._shownSession.isOpenedByPanel,
      transcript,
      loading: session?.isLoaded !== true,
      readOnly: session?.head.read_only ?? false,
      missingAnswers: this._missingAnswers.missingTurns(
        activeNotebook.panel,
        transcript
      ),
      failure:
        failure === '' && kernelProblem !== this._dismissedProblem
          ? kernelProblem
          : failure,
      notice: notice === this._dismissedNotice ? '' : notice,
      sendKey: this._sendKey,
      search: this._search.key === key ? this._search.count : 0
    };
    if (this._isVisible && activeNotebook.link !== null && !state.readOnly) {
      // With the panel open, a prompt is likely.
      prepareModel(activeNotebook.link, this.session);
    }
    if (isDifferent(state, this._state)) {
      this._state = state;
      this._readers.notify();
    }
  };

  private _statusOf(activeNotebook: ActiveNotebook): PanelStatus {
    const kernel = activeNotebook.context?.session?.kernel;
    const { status } = activeNotebook;
    return kernel &&
      this._kernelActions.isLoading(kernel.id) &&
      status === 'absent'
      ? 'loading'
      : status;
  }
}

function isDifferent(left: IPanelState, right: IPanelState): boolean {
  return (Object.keys(left) as (keyof IPanelState)[]).some(
    name => left[name] !== right[name]
  );
}

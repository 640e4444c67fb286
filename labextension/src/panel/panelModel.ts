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
 * target of actions; errors of these as one sentence.
 */
export class PanelModel implements ICommandTarget, IReadable<IPanelState> {
  readonly actions: IPanelActions;
  private readonly _front: ActiveNotebook;
  private readonly _readers = new ReaderSet();
  private readonly _kernel: KernelActions;
  private readonly _missing: MissingAnswerTracker;
  private readonly _switches = new PendingSwitches();
  /** The shown session, and how many switches the panel had made when it came. */
  private _shown = { key: '', switches: 0, isByPanel: false };
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
    this._missing = new MissingAnswerTracker(this._changed);
    this._kernel = new KernelActions(
      app,
      () => this._front,
      words,
      this._fail,
      this._changed
    );
    this.actions = {
      answers: answerActions(this),
      cells: cellEdits(
        {
          notebook: () => this._front.panel,
          index: ({ content }) => content.activeCellIndex
        },
        runCells,
        words
      ),
      cellReviews: {
        ...cellReviewActions(this),
        show: ({ change, key }) => {
          const { panel } = this._front;
          if (panel !== null) {
            showCell(panel, change.cell);
            void app.commands.execute(REVIEW_COMMANDS.show, { key });
          }
        }
      },
      compaction: compactionActions(this),
      contextEdits: contextEditor(this),
      heldRequests: heldRequestActions(this),
      kernel: this._kernel,
      notebook: {
        focus: () => {
          const { panel } = this._front;
          if (panel !== null) {
            app.shell.activateById(panel.id);
          }
        },
        showCell: id => {
          const { panel } = this._front;
          if (panel !== null) {
            showCell(panel, id);
          }
        },
        mentionOf: path => {
          const contents = app.serviceManager.contents;
          const notebook = this._front.panel?.context.path ?? '';
          return mentionOf(
            contents.localPath(path),
            contents.localPath(notebook)
          );
        },
        readFile: path => readFile(app.serviceManager.contents, path),
        insertAnswer: turn =>
          this._missing.insert(turn, this._front.panel, this)
      },
      opener: sessionOpener(this, switches),
      permissions: permissionActions(this),
      pictures: pictureLoader(this),
      prompts: promptActions(this, switches, words, this._fail),
      reverts: revertActions(this),
      sessions: sessionActions(this, switches),
      sharing: sharingActions(this),
      turn: turnActions(this)
    };
    this._front = new ActiveNotebook(tracker, links, this._changed);
    this._changed();
  }

  readonly subscribe = this._readers.subscribe;

  readonly getSnapshot = (): IPanelState => this._state;

  get link(): ILink | null {
    return this._front.link;
  }

  get session(): string | undefined {
    return this._session?.head.session;
  }

  /** Reports an error, unless the kernel itself is gone. */
  readonly report = ({ error }: { error?: string }): void => {
    // When the kernel is gone or restarting, the panel shows that instead, with a remedy.
    if (error !== undefined && this.link?.state === 'ready') {
      this._fail(error);
    }
  };

  /** Sets whether the panel is visible. */
  setVisible(isVisible: boolean): void {
    this._isVisible = isVisible;
    this._front.setVisible(isVisible);
    this._changed();
  }

  /** Sets the key that sends a prompt. */
  setSendKey(sendKey: SendKey): void {
    this._sendKey = sendKey;
    this._changed();
  }

  /** Opens the search in the session, or puts the keyboard back into it. */
  search(): void {
    const { key } = this._state;
    this._search = { key, count: this._state.search + 1 };
    this._changed();
  }

  readonly endSearch = (): void => {
    this._search = { key: '', count: 0 };
    this._changed();
  };

  /** Dismisses the shown error. */
  readonly dismissFailure = (): void => {
    if (this._state.failure === this._kernelProblem) {
      this._dismissedProblem = this._kernelProblem;
    }
    this._fail(null);
  };

  /** Dismisses the notice about how the session was opened. */
  readonly dismissNotice = (): void => {
    this._dismissedNotice = this._session?.head.notice ?? null;
    this._changed();
  };

  dispose(): void {
    this._front.dispose();
    this._missing.dispose();
    this._readers.clear();
  }

  private get _session(): ISessionView | undefined {
    const view = this.link?.store.getSnapshot();
    return view?.sessions.get(view.current ?? '');
  }

  /** The problem that the kernel reports; empty if there is none. */
  private get _kernelProblem(): string {
    const { problem } = this.link?.store.getSnapshot() ?? UNKNOWN_KERNEL;
    const sessionProblem = this._session?.head.problem ?? '';
    return sessionProblem === '' ? problem : sessionProblem;
  }

  private readonly _fail = (text: string | null): void => {
    this._failure = text === null ? null : { key: this._notebookKey, text };
    this._changed();
  };

  private get _notebookKey(): string {
    return this._front.panel?.id ?? '';
  }

  private readonly _changed = (): void => {
    // The active notebook reports the first one before it is assigned here.
    const front = this._front as ActiveNotebook | undefined;
    if (front === undefined) {
      return;
    }
    const { context } = front;
    const session = this._session;
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
    if (key !== this._shown.key) {
      const { count } = this._switches;
      const isByPanel = count !== this._shown.switches;
      this._shown = { key, switches: count, isByPanel };
    }
    const state: IPanelState = {
      status: this._statusOf(front),
      notebook: context?.path.split('/').at(-1) ?? '',
      key,
      switchedHere: this._shown.isByPanel,
      transcript,
      loading: session?.known !== true,
      readOnly: session?.head.read_only ?? false,
      missingAnswers: this._missing.turns(front.panel, transcript),
      failure:
        failure === '' && kernelProblem !== this._dismissedProblem
          ? kernelProblem
          : failure,
      notice: notice === this._dismissedNotice ? '' : notice,
      sendKey: this._sendKey,
      search: this._search.key === key ? this._search.count : 0
    };
    if (this._isVisible && front.link !== null && !state.readOnly) {
      // With the panel open, a prompt is likely.
      prepareModel(front.link, this.session);
    }
    if (isDifferent(state, this._state)) {
      this._state = state;
      this._readers.notify();
    }
  };

  private _statusOf(front: ActiveNotebook): PanelStatus {
    const kernel = front.context?.session?.kernel;
    const { status } = front;
    return kernel && this._kernel.isLoading(kernel.id) && status === 'absent'
      ? 'loading'
      : status;
  }
}

function isDifferent(left: IPanelState, right: IPanelState): boolean {
  return (Object.keys(left) as (keyof IPanelState)[]).some(
    name => left[name] !== right[name]
  );
}

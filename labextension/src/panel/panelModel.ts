/**
 * What the panel shows of the notebook in front, and what a person does there.
 */
import type { JupyterFrontEnd } from '@jupyterlab/application';
import type { ISessionContext } from '@jupyterlab/apputils';
import type { INotebookTracker } from '@jupyterlab/notebook';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { IOutput } from '@jupyterlab/nbformat';
import type { ILink } from '../kernel/kernelLink';
import type { LinkRegistry } from '../kernel/linkRegistry';
import { insertOutputs, CellObserver } from '../notebook/missingOutputs';
import type {
  AllowanceRow,
  Choices,
  PromptAdmitted
} from '../protocol/generated';
import {
  missingAnswers,
  type IMissingAnswer
} from '../state/session/missingAnswers';
import {
  UNKNOWN_KERNEL,
  type IReadable,
  type ISessionView
} from '../state/store/kernelStore';
import { EMPTY_TRANSCRIPT, type ITranscript } from '../state/store/transcript';
import type { ContextEditAction } from '../state/session/contextEdits';
import type { ReplyAnswer, ReplyScope } from '../views/actions/answers';
import {
  LOAD_COMMAND,
  type IChatActions,
  type IPanelState,
  type IPromptOptions,
  type ISessionPage,
  type ISessionQuery,
  type SendKey,
  type PanelStatus
} from '../views/chat/panelState';
import { chosenFor } from '../views/composer/drafts';
import type { RequestRevert } from '../views/transcript/revertControls';
import { ActiveNotebook } from './activeNotebook';
import { filing, sharing } from './sharingActions';
import { PendingSwitches } from './pendingSwitches';

/**
 * The panel's model.
 *
 * Responsibilities: one immutable state for the views; a person's actions as commands to the
 * kernel; what went wrong with them as one sentence.
 */
export class PanelModel implements IChatActions, IReadable<IPanelState> {
  private readonly _front: ActiveNotebook;
  private readonly _readers = new Set<() => void>();
  private readonly _loading = new Set<string>();
  private readonly _moves = new PendingSwitches();
  private readonly _cells: CellObserver;
  /** What the notebook does not show, and what that was found from. */
  private _lost: {
    from: readonly unknown[];
    found: ReadonlyMap<string, IMissingAnswer>;
    turns: ReadonlySet<string>;
  } = { from: [], found: new Map(), turns: new Set() };
  private _sendKey: SendKey = 'Enter';
  /** What went wrong, and with whose notebook. */
  private _failure: { key: string; text: string } | null = null;
  /** What the kernel complains of, and a person knows. */
  private _dismissed: string | null = null;
  private _state: IPanelState = {
    status: 'no-notebook',
    notebook: '',
    key: '',
    transcript: EMPTY_TRANSCRIPT,
    readOnly: false,
    failure: '',
    sendKey: 'Enter'
  };

  constructor(
    private readonly _app: JupyterFrontEnd,
    tracker: INotebookTracker | null,
    links: LinkRegistry,
    private readonly _words: TranslationBundle
  ) {
    this._cells = new CellObserver(() => {
      this._changed();
    });
    this._front = new ActiveNotebook(tracker, links, this._changed);
    this._changed();
  }

  readonly subscribe = (changed: () => void): (() => void) => {
    this._readers.add(changed);
    return () => {
      this._readers.delete(changed);
    };
  };

  readonly getSnapshot = (): IPanelState => this._state;

  /** Says whether somebody looks at the panel. */
  look(looks: boolean): void {
    this._front.look(looks);
  }

  /** Chooses the key that sends. */
  setSendKey(sendKey: SendKey): void {
    this._sendKey = sendKey;
    this._changed();
  }

  load(): void {
    void this._load();
  }

  chooseKernel(): void {
    void this._app.commands.execute('notebook:change-kernel');
  }

  restart(): void {
    // Nothing is left in a dead kernel that a person should be asked about.
    void restarted(this._front.context).catch((reason: unknown) => {
      this._fail(
        this._words.__('The kernel could not be restarted: %1', String(reason))
      );
    });
  }

  async send(text: string, chosen: IPromptOptions): Promise<void> {
    const { link } = this._front;
    // Words that follow “New session” are meant for the new one.
    await this._moves.over;
    // So are words that follow a cell which went on with another session, before a frame drew it.
    link?.catchUp();
    const session = link?.store.getSnapshot().current ?? undefined;
    const seq = () => seqOf(link, session);
    const before = seq();
    const outcome = await link?.outcome('prompt', { ...chosen, text, session });
    if (outcome?.error === undefined) {
      return;
    }
    this._note(outcome);
    // A prompt that was taken is in the transcript; only one that was not is given back.
    if (seq() === before) {
      throw new Error(outcome.error);
    }
  }

  async retry(): Promise<string> {
    const { link } = this._front;
    return (await link?.outcome('retry', this._named({})))?.error ?? '';
  }

  // Handed down by itself, so it is bound to the model.
  choose = async (
    action: ContextEditAction,
    target: string
  ): Promise<string> => {
    const fields = this._named({ action, target });
    return (await this._front.link?.outcome('choose', fields))?.error ?? '';
  };

  revert: RequestRevert = async (action, target = '', overwrite = []) => {
    const fields = this._named({ action, target, overwrite: [...overwrite] });
    return (await this._front.link?.outcome('revert', fields)) ?? {};
  };

  // Handed down by itself, so it is bound to the model.
  putBack = async (turn: string): Promise<string> => {
    const { link, panel } = this._front;
    const one = this._lost.found.get(turn);
    const session = this._session?.head.session;
    if (panel === null || link === null || one === undefined) {
      return '';
    }
    const { error, outputs } = await link.outcome('put-back', {
      session,
      turn
    });
    if (outputs !== undefined && !panel.isDisposed) {
      insertOutputs(panel, one, outputs as unknown as IOutput[]);
    }
    return error ?? '';
  };

  readonly share = sharing(() => this._front.link);

  readonly files = filing(() => this._front.link);

  sendNow(prompt: PromptAdmitted): void {
    void this._sendNow(prompt);
  }

  async withdraw(promptId: string): Promise<boolean> {
    const fields = this._named({ prompt_id: promptId });
    const outcome = await this._front.link?.outcome('withdraw', fields);
    this._note(outcome ?? {});
    return (
      outcome !== undefined && outcome.error === undefined && !outcome.late
    );
  }

  stop(): void {
    void this._front.link?.outcome('cancel', this._named({})).then(this._note);
  }

  compact(): void {
    void this._front.link?.outcome('compact', this._named({})).then(this._note);
  }

  useMode(mode: string): void {
    const fields = this._named({ mode });
    void this._front.link?.outcome('mode', fields).then(this._note);
  }

  async allowed(revoke?: readonly number[]): Promise<readonly AllowanceRow[]> {
    const fields = this._named(
      revoke === undefined ? {} : { revoke: [...revoke] }
    );
    const outcome = await this._front.link?.outcome('allowed', fields);
    this._note(outcome ?? {});
    return outcome?.allowed ?? [];
  }

  async trust(): Promise<void> {
    this._note((await this._front.link?.outcome('trust')) ?? {});
  }

  reply(
    askId: string,
    answer: ReplyAnswer,
    feedback?: string,
    scope?: ReplyScope
  ): void {
    const fields = this._named({ ask_id: askId, answer, feedback, scope });
    void this._front.link?.outcome('reply', fields).then(this._note);
  }

  // Handed down by itself, so it is bound to the model.
  answer = (questionId: string, answers: string[][] | null): void => {
    const fields = this._named({
      question_id: questionId,
      answers: answers ?? undefined
    });
    void this._front.link?.outcome('answer', fields).then(this._note);
  };

  // Handed down by itself, so it is bound to the model.
  picture = async (url: string): Promise<string> => {
    const fields = this._named({ url });
    return (await this._front.link?.outcome('picture', fields))?.picture ?? '';
  };

  async choices(): Promise<Choices | null> {
    return (await this._front.link?.outcome('choices'))?.choices ?? null;
  }

  async sessions(wanted: ISessionQuery): Promise<ISessionPage> {
    const outcome = await this._front.link?.outcome('sessions', { ...wanted });
    this._note(outcome ?? {});
    const rows = outcome?.sessions ?? [];
    const total = outcome?.total ?? rows.length;
    return { rows, total, cursor: outcome?.cursor };
  }

  fork(session: string, message?: string): void {
    const fields = message === undefined ? { session } : { session, message };
    this._go(this._front.link?.outcome('fork', fields));
  }

  retitle(session: string, title: string): Promise<string> {
    return this._shelved('title', { session, title });
  }

  archive(session: string, archived: boolean): Promise<string> {
    return this._shelved('archive', { session, archived });
  }

  remove(session: string): Promise<string> {
    return this._shelved('delete', { session });
  }

  // Handed down by itself, so it is bound to the model.
  open = (session: string): void => {
    this._go(this._front.link?.outcome('open', { session }));
  };

  create(): void {
    this._go(this._front.link?.outcome('new'));
  }

  leave(): void {
    const { panel } = this._front;
    if (panel !== null) {
      this._app.shell.activateById(panel.id);
    }
  }

  forgive(): void {
    if (this._state.failure === this._complaint) {
      this._dismissed = this._complaint;
    }
    this._failure = null;
    this._changed();
  }

  dispose(): void {
    this._front.dispose();
    this._cells.dispose();
    this._readers.clear();
  }

  /** Goes to another session; what is sent meanwhile goes there too. */
  private _go(outcome: Promise<{ error?: string }> | undefined): void {
    if (outcome !== undefined) {
      this._moves.begin(outcome);
      void outcome.then(this._note);
    }
  }

  /** Does something with a kept session; resolves to what hindered it, or to nothing. */
  private async _shelved(
    command: 'title' | 'archive' | 'delete',
    fields: { session: string; title?: string; archived?: boolean }
  ): Promise<string> {
    const outcome = await this._front.link?.outcome(command, fields);
    this._note(outcome ?? {});
    return outcome?.error ?? '';
  }

  private get _session(): ISessionView | undefined {
    const view = this._front.link?.store.getSnapshot();
    return view?.sessions.get(view.current ?? '');
  }

  /** What the kernel complains of; empty where it does not. */
  private get _complaint(): string {
    const { problem } = this._front.link?.store.getSnapshot() ?? UNKNOWN_KERNEL;
    const ofSession = this._session?.head.problem ?? '';
    return ofSession === '' ? problem : ofSession;
  }

  /** Names the session that a person sees, so that a command never goes to another. */
  private _named<T extends object>(fields: T): T & { session?: string } {
    return { ...fields, session: this._session?.head.session };
  }

  private async _load(): Promise<void> {
    const kernel = this._front.context?.session?.kernel;
    const { link } = this._front;
    if (!kernel || this._loading.has(kernel.id)) {
      return;
    }
    this._failure = null;
    this._loading.add(kernel.id);
    this._changed();
    try {
      const future = kernel.requestExecute({
        code: LOAD_COMMAND,
        silent: true,
        store_history: false,
        allow_stdin: false,
        stop_on_error: false
      });
      const { content } = await future.done;
      if (content.status === 'error') {
        this._fail(
          this._words.__(
            'The kernel could not load Palimpsest (%1: %2). Install it where the kernel runs: pip install jupyter-palimpsest.',
            content.ename,
            content.evalue
          )
        );
      }
      link?.retry();
    } catch {
      this._fail(
        this._words.__('The kernel ended before Palimpsest was loaded.')
      );
    } finally {
      this._loading.delete(kernel.id);
      this._changed();
    }
  }

  private async _sendNow(prompt: PromptAdmitted): Promise<void> {
    const { link } = this._front;
    const { prompt_id, text } = prompt;
    const fields = this._named({ ...chosenFor(prompt), text });
    if (!(await this.withdraw(prompt_id))) {
      return;
    }
    const sent = await link?.outcome('steer', fields);
    if (sent?.error !== undefined) {
      this._fail(this._words.__('%1 It was not sent: “%2”', sent.error, text));
    }
  }

  private readonly _note = ({ error }: { error?: string }): void => {
    // Where the kernel is gone or begins anew, the panel says that, and what to do.
    if (error !== undefined && this._front.link?.state === 'ready') {
      this._fail(error);
    }
  };

  private _fail(text: string): void {
    this._failure = { key: this._notebookKey, text };
    this._changed();
  }

  private get _notebookKey(): string {
    return this._front.panel?.id ?? '';
  }

  private readonly _changed = (): void => {
    // Front tells of its first notebook before it is assigned here.
    const front = this._front as ActiveNotebook | undefined;
    if (front === undefined) {
      return;
    }
    const { context } = front;
    const session = this._session;
    const failure =
      this._failure?.key === this._notebookKey ? this._failure.text : '';
    const complaint = this._complaint;
    if (complaint !== this._dismissed) {
      // It is over, or another one: should it come again, it is said again.
      this._dismissed = null;
    }
    const state: IPanelState = {
      status: this._where(front),
      notebook: context?.path.split('/').at(-1) ?? '',
      key: `${this._notebookKey} ${session?.head.session ?? ''}`,
      transcript: session?.transcript ?? EMPTY_TRANSCRIPT,
      loading: session?.known !== true,
      readOnly: session?.head.read_only ?? false,
      missingAnswers: this._lostNow(session?.transcript),
      failure:
        failure === '' && complaint !== this._dismissed ? complaint : failure,
      sendKey: this._sendKey
    };
    if (differ(state, this._state)) {
      this._state = state;
      [...this._readers].forEach(changed => {
        changed();
      });
    }
  };

  /** Returns the same set while nothing changed, so that nothing is drawn anew. */
  private _lostNow(
    transcript: ITranscript = EMPTY_TRANSCRIPT
  ): ReadonlySet<string> {
    this._cells.follow(this._front.panel);
    const { cells, isSettled } = this._cells;
    const { entries, session, status } = transcript;
    const busy = status.type !== 'idle';
    // Every word of an answer makes new places, and no turn that is over.
    const from = [cells, busy || entries, session?.id, session?.notebook];
    const before = this._lost;
    if (isSettled && from.some((one, index) => one !== before.from[index])) {
      const found =
        cells === null
          ? new Map<string, IMissingAnswer>()
          : missingAnswers(transcript, cells);
      const isSame =
        found.size === before.turns.size &&
        [...found.keys()].every(turn => before.turns.has(turn));
      const turns = isSame ? before.turns : new Set(found.keys());
      this._lost = { from, found, turns };
    }
    return this._lost.turns;
  }

  private _where(front: ActiveNotebook): PanelStatus {
    const kernel = front.context?.session?.kernel;
    const { where } = front;
    return kernel && this._loading.has(kernel.id) && where === 'absent'
      ? 'loading'
      : where;
  }
}

/** Restarts a kernel, or starts another of its name where the page has let go of it. */
async function restarted(context: ISessionContext | null): Promise<void> {
  if (context === null) {
    return;
  }
  const kernel = context.session?.kernel;
  if (kernel && !kernel.isDisposed && kernel.status !== 'dead') {
    await context.restartKernel();
  } else {
    const name = context.prevKernelName || (kernel?.name ?? '');
    // A server forgets the session of a dead kernel, and has to be asked for a new one.
    await context.sessionManager.refreshRunning();
    await context.changeKernel(name === '' ? {} : { name });
  }
}

/** Returns the newest record that is known of a session. */
function seqOf(link: ILink | null, session: string | undefined): number {
  const known = link?.store.getSnapshot().sessions.get(session ?? '');
  return known?.transcript.seq ?? 0;
}

function differ(one: IPanelState, other: IPanelState): boolean {
  return (Object.keys(one) as (keyof IPanelState)[]).some(
    name => one[name] !== other[name]
  );
}

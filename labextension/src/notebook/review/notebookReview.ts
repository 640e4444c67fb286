/**
 * The review of one notebook: bars, differences and ghosts at its cells, and a way through them by keyboard.
 *
 * It is drawn anew from the session's parts and the notebook's cells whenever one of them changes, and keeps only what
 * this page does: which editors are shown, and which accepted cells are to be run.
 */
import type { Cell } from '@jupyterlab/cells';
import type { IEditorLanguageRegistry } from '@jupyterlab/codemirror';
import type { NotebookPanel } from '@jupyterlab/notebook';
import type { PanelLayout, Widget } from '@lumino/widgets';
import type { ILink } from '../../kernel/kernelLink';
import {
  changesOfMessage,
  reviewsByCell,
  reviewsKeepingObjects,
  undecidedChanges,
  type ICellReview,
  type IReviewedChange
} from '../../state/review/cellReview';
import { cellName, reviewTitle } from '../../state/review/changeWords';
import { pendingDecisions } from '../../state/review/pendingDecisions';
import { ReviewNumbers } from '../../state/review/reviewNumbers';
import {
  reviewPlaces,
  type IReviewPlace
} from '../../state/review/reviewPlaces';
import type { ITranscript } from '../../state/store/transcript';
import type {
  IChangeVerdict,
  ICellReviewActions
} from '../../views/actions/cells';
import type { IHost, IWords } from '../../views/host';
import type { IChangeBarActions } from '../../views/review/changeBar';
import type { RunCells } from '../cells/cellEdits';
import { cellOf } from '../cells/shownCell';
import { ChangeBarWidget, SourceWidget } from './reviewWidgets';

/** Milliseconds between a change of the notebook and the next look at its review. */
const PAUSE_MS = 50;

/** The class of a cell whose editor is covered by a difference. */
const COVERED = 'plm-mod-covered';

/** The class of a cell that is to be deleted. */
const DELETED = 'plm-mod-deleted';

/** The class of a cell that the agent inserted. */
const INSERTED = 'plm-mod-inserted';

/** What is drawn of one review at one place. */
interface IDrawnPlace {
  cell: Cell;
  position: IReviewPlace['position'];
  bar: ChangeBarWidget;
  source: SourceWidget | null;
}

/** A cell that is to run once its change was made. */
interface IAcceptedRun {
  call: string;
  cell: string;
  /** The source that it then has. */
  source: string;
}

export class NotebookReview {
  private readonly _drawn = new Map<string, IDrawnPlace>();
  private readonly _numbers = new ReviewNumbers();
  private readonly _voice = document.createElement('div');
  /** The reviews whose cell shows its own editor. */
  private readonly _editing = new Set<string>();
  private readonly _problems = new Map<string, string>();
  /** How often the reason of a rejection was asked for by key. */
  private readonly _rejections = new Map<string, number>();
  /** The cells that run when their change was made, with the source that they then have. */
  private readonly _runs = new Map<string, IAcceptedRun>();
  /** The transcript that was looked at last, and the reviews in it. */
  private _transcript: ITranscript | undefined;
  private _reviewed: readonly ICellReview[] = [];
  private _places: readonly IReviewPlace[] = [];
  /** The key of the review that was visited last. */
  private _current = '';
  /** A cell that was accepted last, and in whose frame it was proposed. */
  private _followed: { cell: string; frame: string } | null = null;
  private _timer: ReturnType<typeof setTimeout> | undefined;
  private readonly _disposers: (() => void)[];

  constructor(
    private readonly _panel: NotebookPanel,
    private readonly _link: ILink,
    private readonly _actions: Pick<ICellReviewActions, 'decide' | 'takeBack'>,
    private readonly _runCells: RunCells,
    private readonly _host: IHost,
    private readonly _languages: IEditorLanguageRegistry | null
  ) {
    this._voice.className = 'plm-Hidden';
    this._voice.setAttribute('role', 'status');
    _panel.node.append(this._voice);
    const { content, context } = _panel;
    context.model.contentChanged.connect(this._updateSoon);
    content.stateChanged.connect(this._followMode);
    this._disposers = [
      _link.store.subscribe(this._updateSoon),
      pendingDecisions.subscribe(this._updateSoon),
      () => {
        context.model.contentChanged.disconnect(this._updateSoon);
        content.stateChanged.disconnect(this._followMode);
      }
    ];
    this._updateSoon();
  }

  dispose(): void {
    this._disposers.forEach(end => {
      end();
    });
    clearTimeout(this._timer);
    this._drawn.forEach(remove);
    this._drawn.clear();
    this._voice.remove();
  }

  /** The reviews in the order of the notebook, each once. */
  get reviews(): readonly ICellReview[] {
    return this._places
      .filter(({ isMark }) => !isMark)
      .map(({ review }) => review);
  }

  /** Whether there is anything to decide. */
  get isOpen(): boolean {
    return this._places.length > 0;
  }

  /** Goes to the review that comes so many places later, round the end. */
  step(by: number): void {
    const { reviews } = this;
    const at = reviews.findIndex(({ key }) => key === this._current);
    const from = at < 0 ? (by > 0 ? -1 : 0) : at;
    const next = reviews.at((from + by) % reviews.length);
    if (next !== undefined) {
      void this._visit(next);
    }
  }

  /** Goes to the review with a change. */
  show({ key }: Pick<IReviewedChange, 'key'>): boolean {
    const review = this.reviews.find(({ changes }) =>
      changes.some(reviewed => reviewed.key === key)
    );
    if (review !== undefined) {
      void this._visit(review);
    }
    return review !== undefined;
  }

  /** Accepts the review at which the person is, if all of it was on the screen. */
  acceptCurrent(): void {
    const review = this._reviewInFocus();
    if (review !== null) {
      this._accept(review);
    }
  }

  /** Asks why the review at which the person is should be rejected. */
  rejectCurrent(): void {
    const review = this._reviewInFocus();
    if (review !== null) {
      this._rejections.set(
        review.key,
        (this._rejections.get(review.key) ?? 0) + 1
      );
      void this._visit(review);
      this._update();
    }
  }

  /** Accepts all reviews; a proposal that was not on the screen to its end is shown instead. */
  acceptAll(): void {
    const { words } = this._host;
    const reviews = this.reviews.filter(review => !isDecided(review));
    const seen = reviews.filter(
      review => this._isSeen(review) && this._canBeMade(review)
    );
    const unseen = reviews.find(review => !seen.includes(review));
    const done = words._n(
      '%1 change accepted.',
      '%1 changes accepted.',
      seen.length
    );
    void this._actions
      .decide(
        seen.flatMap(({ changes }) => changes),
        { accept: true }
      )
      .then(problem => {
        if (problem !== '') {
          this._announce(problem);
        }
      });
    if (unseen === undefined) {
      this._announce(done);
    } else {
      void this._visit(unseen, done);
    }
  }

  /** Returns whether a review can be accepted: what is only proposed was on the screen to its end. */
  private _isSeen({
    sourceBefore: before,
    isInserted,
    key,
    sourceAfter: now,
    state
  }: ICellReview) {
    return (
      state === 'open' ||
      (before === now && !isInserted) ||
      this._drawn.get(key)?.source?.isEndSeen === true
    );
  }

  /** Returns whether a proposed change finds its cell as it was; accepted, another one would fail its whole call. */
  private _canBeMade({
    sourceBefore: before,
    cellId: id,
    isInserted,
    state
  }: ICellReview) {
    return (
      state === 'open' ||
      isInserted ||
      cellOf(this._panel, id)?.model.sharedModel.getSource() === before
    );
  }

  private get _cannotBeMade(): string {
    return this._host.words.__(
      'The cell was changed since the agent read it, so this cannot be made: reject it.'
    );
  }

  private _accept(review: ICellReview, runs = false): void {
    if (!this._canBeMade(review)) {
      this._announce(this._cannotBeMade);
    } else if (this._isSeen(review)) {
      this._decide(review, { accept: true }, runs);
    } else {
      if (this._editing.delete(review.key)) {
        this._update();
      }
      this._drawn.get(review.key)?.source?.showEnd();
      this._announce(
        this._host.words.__(
          'This is the end of the change. It can now be accepted.'
        )
      );
    }
  }

  /** Returns the review of the active cell, else the one that was visited last, else the first. */
  private _reviewInFocus(): ICellReview | null {
    const { reviews } = this;
    const active = this._panel.content.activeCell?.model.id;
    const focused = [...this._drawn].find(([, { bar, source }]) =>
      [bar, source].some(widget =>
        widget?.node.contains(document.activeElement)
      )
    )?.[0];
    return (
      reviews.find(({ key }) => key === focused) ??
      reviews.find(({ cellId: cell }) => cell === active) ??
      reviews.find(({ key }) => key === this._current) ??
      reviews[0] ??
      null
    );
  }

  private readonly _updateSoon = (): void => {
    this._timer ??= setTimeout(() => {
      this._timer = undefined;
      this._update();
    }, PAUSE_MS);
  };

  /** Editing a cell by the notebook's own keys shows its editor. */
  private readonly _followMode = (
    _: unknown,
    { name, newValue }: { name: string; newValue: unknown }
  ): void => {
    const { activeCell } = this._panel.content;
    const review = this.reviews.find(
      ({ cellId: cell }) => cell === activeCell?.model.id
    );
    if (
      name === 'mode' &&
      newValue === 'edit' &&
      review !== undefined &&
      !this._editing.has(review.key) &&
      activeCell?.hasClass(COVERED) === true
    ) {
      this._editing.add(review.key);
      this._update();
      activeCell.editor?.focus();
    }
  };

  private _update(): void {
    if (this._panel.isDisposed) {
      return;
    }
    const { content } = this._panel;
    const { current, sessions } = this._link.store.getSnapshot();
    const transcript = sessions.get(current ?? '')?.transcript;
    if (transcript !== this._transcript) {
      this._transcript = transcript;
      this._reviewed = reviewsKeepingObjects(
        transcript === undefined
          ? []
          : reviewsByCell(undecidedChanges(transcript)),
        this._reviewed
      );
    }
    this._places = reviewPlaces(
      this._reviewed,
      content.widgets.map(({ model }) => model.id)
    );
    this._numbers.assign(this.reviews);
    const wanted = new Map<string, { place: IReviewPlace; cell: Cell }>();
    for (const place of this._places) {
      const cell = content.widgets[place.cellIndex];
      if (cell?.isPlaceholder() === true) {
        // A cell that was never in view has no content yet.
        void cell.ready.then(this._updateSoon);
      } else if (cell !== undefined) {
        wanted.set(keyOf(place), { place, cell });
      }
    }
    for (const [key, drawn] of this._drawn) {
      const now = wanted.get(key);
      if (
        drawn.bar.isDisposed ||
        now?.cell !== drawn.cell ||
        now.place.position !== drawn.position
      ) {
        remove(drawn);
        this._drawn.delete(key);
      }
    }
    for (const [key, { place, cell }] of wanted) {
      this._draw(key, place, cell);
    }
    if (this._runs.size > 0) {
      this._runAccepted(
        (transcript?.entries ?? []).flatMap(({ message }) =>
          changesOfMessage(message)
        )
      );
    }
    this._followInserted();
    this._rejectGone();
  }

  /** Makes an inserted cell the active one, in the place of the cell in whose frame it was proposed. */
  private _followInserted(): void {
    const { content } = this._panel;
    const { _followed: followed } = this;
    const index = content.widgets.findIndex(
      ({ model }) => model.id === followed?.cell
    );
    if (followed !== null && index >= 0) {
      this._followed = null;
      if (content.activeCell?.model.id === followed.frame) {
        content.deselectAll();
        content.activeCellIndex = index;
      }
    }
  }

  /**
   * Rejects proposals whose cell a person deleted, once all others of their question are decided: they have no bar, and
   * the question would wait for them.
   */
  private _rejectGone(): void {
    const shown = this._places.map(({ review }) => review);
    const gone = this._reviewed.filter(
      review =>
        review.state === 'proposed' &&
        !shown.includes(review) &&
        !isDecided(review)
    );
    for (const { changes } of gone) {
      const ask = changes.at(-1)?.ask?.id;
      const others = shown.filter(
        other => other.changes.at(-1)?.ask?.id === ask
      );
      if (others.length > 0 && others.every(isDecided)) {
        void this._actions.decide(changes, {
          accept: false,
          reason: this._host.words.__('The cell is no longer in the notebook.')
        });
      }
    }
  }

  private _draw(key: string, place: IReviewPlace, cell: Cell): void {
    const { words } = this._host;
    const { review, isMark } = place;
    let drawn = this._drawn.get(key);
    if (drawn === undefined) {
      const bar = barIn(
        cell,
        place.position,
        new ChangeBarWidget(this._host, this._numbers)
      );
      bar.node.dataset.change = key;
      drawn = { cell, position: place.position, bar, source: null };
      this._drawn.set(key, drawn);
    }
    if (isMark) {
      const name = nameOf(review, words);
      drawn.bar.drawMark(
        review.state === 'proposed'
          ? words.__('The agent wants to move %1 here.', name)
          : words.__('The agent moved %1 away from here.', name)
      );
      return;
    }
    const isGhost = place.position !== 'in';
    const hasDifference =
      isGhost ||
      (!review.isInserted && review.sourceBefore !== review.sourceAfter);
    const isEditing = this._editing.has(review.key);
    if (hasDifference && !isEditing) {
      drawn.source ??= this._addSource(drawn, key, cell, isGhost);
      void drawn.source.showSource({
        // A ghost shows the source alone.
        before: isGhost ? null : review.sourceBefore,
        now: review.isDeleted ? review.sourceBefore : review.sourceAfter,
        language:
          review.kind === 'code'
            ? this._panel.content.codeMimetype
            : 'text/x-ipythongfm'
      });
    } else {
      drawn.source?.dispose();
      drawn.source = null;
    }
    drawn.bar.toggleClass('plm-ChangeGhost', isGhost);
    drawn.bar.node.dataset.action = actionOf(review);
    if (!isGhost) {
      cell.toggleClass(COVERED, hasDifference && !isEditing);
      cell.toggleClass(DELETED, review.isDeleted);
      cell.toggleClass(INSERTED, review.isInserted);
    }
    drawn.bar.draw(
      review,
      {
        isEditing,
        problem: this._problems.get(review.key) ?? '',
        note: this._note(review, isGhost ? null : cell),
        isSeen: this._isSeen(review),
        canBeMade: this._canBeMade(review),
        rejectionRequests: this._rejections.get(review.key) ?? 0
      },
      this._barActions(review, isGhost, hasDifference)
    );
  }

  private _addSource(
    { bar }: IDrawnPlace,
    key: string,
    cell: Cell,
    isGhost: boolean
  ): SourceWidget {
    const source = new SourceWidget(
      this._languages,
      this._host,
      this._updateSoon,
      isGhost
        ? undefined
        : source => {
            this._decideParts(key, source);
          }
    );
    if (isGhost) {
      source.addClass('plm-ChangeGhost-source');
      const layout = bar.parent?.layout as PanelLayout | undefined;
      layout?.insertWidget(layout.widgets.indexOf(bar) + 1, source);
    } else {
      insertBeforeEditor(cell, source);
    }
    return source;
  }

  /** Returns what a person should know of a cell that is not as the change expects it. */
  private _note(review: ICellReview, cell: Cell | null): string {
    const { words } = this._host;
    const expected =
      review.state === 'proposed' ? review.sourceBefore : review.sourceAfter;
    const source = cell?.model.sharedModel.getSource() ?? expected;
    if (source === expected) {
      return '';
    }
    if (review.state === 'open' && source === review.sourceBefore) {
      return words.__(
        'Here the cell is as it was before: the change was undone, or another page made it. Then reload the notebook here.'
      );
    }
    return review.state === 'proposed'
      ? this._cannotBeMade
      : words.__(
          'The cell was changed since. This shows what the agent made; it can no longer be taken back.'
        );
  }

  private _barActions(
    review: ICellReview,
    isGhost: boolean,
    hasDifference: boolean
  ): IChangeBarActions {
    const canRun =
      review.kind === 'code' &&
      !review.isDeleted &&
      review.sourceBefore !== review.sourceAfter;
    const acceptAndRun = () => {
      this._accept(review, true);
    };
    return {
      accept: () => {
        this._accept(review);
      },
      ...(canRun ? { acceptAndRun } : {}),
      reject: reason => {
        this._decide(review, { accept: false, reason });
      },
      takeBack: () => {
        this._runs.delete(review.key);
        review.changes.forEach(this._actions.takeBack);
      },
      next: () => {
        this._current = review.key;
        this.step(1);
      },
      previous: () => {
        this._current = review.key;
        this.step(-1);
      },
      ...(isGhost || !hasDifference
        ? {}
        : {
            toggleEditor: () => {
              if (!this._editing.delete(review.key)) {
                this._editing.add(review.key);
              }
              this._update();
            }
          })
    };
  }

  /** Decides a change of which each part was kept or dropped; `source` is what is left. */
  private _decideParts(key: string, source: string): void {
    const review = this.reviews.find(other => other.key === key);
    if (review === undefined) {
      return;
    }
    this._decide(
      review,
      source === review.sourceBefore
        ? { accept: false, reason: '' }
        : { accept: true, ...(source === review.sourceAfter ? {} : { source }) }
    );
  }

  /** Decides a review, and goes on to the next one. */
  private _decide(
    review: ICellReview,
    verdict: IChangeVerdict,
    runs = false
  ): void {
    const { words } = this._host;
    const shown =
      this._drawn.get(review.key)?.source?.source ?? review.sourceAfter;
    const isPart =
      verdict.accept &&
      review.changes.length === 1 &&
      shown !== review.sourceAfter;
    const decided = isPart ? { ...verdict, source: shown } : verdict;
    const source = decided.source ?? review.sourceAfter;
    if (runs) {
      const call = review.changes.at(-1)?.callId ?? '';
      this._runs.set(review.key, { call, cell: review.cellId, source });
    }
    this._problems.delete(review.key);
    const { reviews } = this;
    const at = reviews.indexOf(review);
    const others = [...reviews.slice(at + 1), ...reviews.slice(0, at)];
    const next = others.find(other => !isDecided(other));
    const done = verdict.accept ? words.__('Accepted.') : words.__('Rejected.');
    if (next === undefined) {
      this._announce(done);
      this._panel.content.node.focus();
      const frame = this._drawn.get(review.key)?.cell.model.id;
      this._followed =
        verdict.accept && review.isInserted && frame !== undefined
          ? { cell: review.cellId, frame }
          : null;
    } else {
      void this._visit(next, done);
    }
    void this._actions.decide(review.changes, decided).then(problem => {
      if (problem !== '') {
        this._runs.delete(review.key);
        this._problems.set(review.key, problem);
        this._announce(problem);
        this._updateSoon();
      }
    });
  }

  /** Runs the cells whose change was accepted and made. */
  private _runAccepted(changes: readonly IReviewedChange[]): void {
    const { content, sessionContext } = this._panel;
    for (const [key, { call, cell: id, source }] of this._runs) {
      // The numbers of a call's changes differ before and after its question.
      const state = changes.findLast(
        reviewed => reviewed.callId === call && reviewed.change.cell === id
      )?.change.state;
      const cell = cellOf(this._panel, id);
      if (state === 'rejected') {
        this._runs.delete(key);
      } else if (
        state === 'accepted' &&
        cell?.model.sharedModel.getSource() === source
      ) {
        this._runs.delete(key);
        void this._runCells(content, [cell], sessionContext);
      }
    }
  }

  /** Scrolls to a review and puts the keyboard into its bar; announces both what was `done` before and the review. */
  private async _visit(review: ICellReview, done = ''): Promise<void> {
    const { words } = this._host;
    const { content } = this._panel;
    const place = this._places.find(
      candidate => candidate.review.key === review.key && !candidate.isMark
    );
    const cell = content.widgets[place?.cellIndex ?? -1];
    if (place === undefined || cell === undefined) {
      return;
    }
    this._current = review.key;
    const { reviews } = this;
    this._announce(
      [
        done,
        words.__(
          'Change %1 of %2: %3, %4.',
          reviews.indexOf(review) + 1,
          reviews.length,
          reviewTitle(review, words),
          nameOf(review, words)
        )
      ]
        .filter(text => text !== '')
        .join(' ')
    );
    content.activeCellIndex = place.cellIndex;
    await content.scrollToItem(place.cellIndex, 'smart');
    await cell.ready;
    this._update();
    const bar = this._drawn.get(review.key)?.bar.node;
    bar?.scrollIntoView({ block: 'nearest' });
    // The field for a reason takes the keyboard itself.
    if (bar?.querySelector('input') === null) {
      bar.querySelector('button')?.focus();
    }
  }

  private _announce(text: string): void {
    this._voice.textContent = text;
  }
}

/** Returns whether a person decided a proposal whose question waits for the others. */
function isDecided({ changes: [first] }: ICellReview): boolean {
  return (
    first !== undefined &&
    pendingDecisions.decisionsOf(first.ask?.id ?? '').has(first.index)
  );
}

function keyOf({ isMark, review }: IReviewPlace): string {
  return isMark ? `${review.key} mark` : review.key;
}

function nameOf(
  {
    executionCount: number,
    sourceBefore: before,
    sourceAfter: now
  }: ICellReview,
  words: IWords
): string {
  return cellName({ number, old: before, new: now }, words);
}

function actionOf(review: ICellReview): string {
  return review.isDeleted
    ? 'delete'
    : review.isInserted
      ? 'insert'
      : review.sourceBefore === review.sourceAfter
        ? 'move'
        : 'edit';
}

/** Puts a bar above a cell's input, or as a ghost's above or below the cell; returns it. */
function barIn(
  cell: Cell,
  position: IReviewPlace['position'],
  bar: ChangeBarWidget
): ChangeBarWidget {
  const layout = cell.layout as PanelLayout;
  const { widgets } = layout;
  const input = widgets.findIndex(widget =>
    widget.hasClass('jp-Cell-inputWrapper')
  );
  const indexes = { in: Math.max(0, input), above: 0, below: widgets.length };
  layout.insertWidget(indexes[position], bar);
  return bar;
}

/** Puts a source before a cell's editor; the active cell's input also holds a toolbar, so places are not fixed. */
function insertBeforeEditor({ inputArea }: Cell, source: Widget): void {
  const layout = inputArea?.layout as PanelLayout | undefined;
  const editor = layout?.widgets.findIndex(widget =>
    widget.hasClass('jp-InputArea-editor')
  );
  layout?.insertWidget(editor ?? 0, source);
}

function remove({ bar, cell, position, source }: IDrawnPlace): void {
  bar.dispose();
  source?.dispose();
  if (position === 'in' && !cell.isDisposed) {
    [COVERED, DELETED, INSERTED].forEach(name => {
      cell.removeClass(name);
    });
  }
}

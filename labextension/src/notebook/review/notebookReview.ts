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
const UPDATE_DELAY_MS = 50;

/** The class of a cell whose editor is covered by a difference. */
const COVERED_CLASS = 'plm-mod-covered';

/** The class of a cell that is to be deleted. */
const DELETED_CLASS = 'plm-mod-deleted';

/** The class of a cell that the agent inserted. */
const INSERTED_CLASS = 'plm-mod-inserted';

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
  private readonly _drawnPlaces = new Map<string, IDrawnPlace>();
  private readonly _numbers = new ReviewNumbers();
  private readonly _liveRegion = document.createElement('div');
  /** The reviews whose cell shows its own editor. */
  private readonly _editedKeys = new Set<string>();
  private readonly _problems = new Map<string, string>();
  /** How often the reason of a rejection was asked for by key. */
  private readonly _reasonRequests = new Map<string, number>();
  /** The cells that run when their change was made, with the source that they then have. */
  private readonly _acceptedRuns = new Map<string, IAcceptedRun>();
  /** The transcript that was looked at last, and the reviews in it. */
  private _transcript: ITranscript | undefined;
  private _reviews: readonly ICellReview[] = [];
  private _places: readonly IReviewPlace[] = [];
  /** The key of the review that was visited last. */
  private _currentKey = '';
  /** A cell that was accepted last, and in whose frame it was proposed. */
  private _acceptedCell: { cell: string; frame: string } | null = null;
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
    this._liveRegion.className = 'plm-Hidden';
    this._liveRegion.setAttribute('role', 'status');
    _panel.node.append(this._liveRegion);
    const { content, context } = _panel;
    context.model.contentChanged.connect(this._updateSoon);
    content.stateChanged.connect(this._handleModeChange);
    this._disposers = [
      _link.store.subscribe(this._updateSoon),
      pendingDecisions.subscribe(this._updateSoon),
      () => {
        context.model.contentChanged.disconnect(this._updateSoon);
        content.stateChanged.disconnect(this._handleModeChange);
      }
    ];
    this._updateSoon();
  }

  dispose(): void {
    this._disposers.forEach(end => {
      end();
    });
    clearTimeout(this._timer);
    this._drawnPlaces.forEach(removeDrawn);
    this._drawnPlaces.clear();
    this._liveRegion.remove();
  }

  /** The reviews in the order of the notebook, each once. */
  get reviews(): readonly ICellReview[] {
    return this._places
      .filter(({ isMark }) => !isMark)
      .map(({ review }) => review);
  }

  /** Whether there is anything to decide. */
  get hasReviews(): boolean {
    return this._places.length > 0;
  }

  /** Goes to the review that comes so many places later, round the end. */
  step(offset: number): void {
    const { reviews } = this;
    const currentIndex = reviews.findIndex(
      ({ key }) => key === this._currentKey
    );
    const startIndex = currentIndex < 0 ? (offset > 0 ? -1 : 0) : currentIndex;
    const next = reviews.at((startIndex + offset) % reviews.length);
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
      this._reasonRequests.set(
        review.key,
        (this._reasonRequests.get(review.key) ?? 0) + 1
      );
      void this._visit(review);
      this._update();
    }
  }

  /** Accepts all reviews; a proposal that was not on the screen to its end is shown instead. */
  acceptAll(): void {
    const { words } = this._host;
    const reviews = this.reviews.filter(review => !isDecided(review));
    const acceptable = reviews.filter(
      review => this._isSeen(review) && this._canBeMade(review)
    );
    const firstLeft = reviews.find(review => !acceptable.includes(review));
    const outcome = words._n(
      '%1 change accepted.',
      '%1 changes accepted.',
      acceptable.length
    );
    void this._actions
      .decide(
        acceptable.flatMap(({ changes }) => changes),
        { accept: true }
      )
      .then(problem => {
        if (problem !== '') {
          this._announce(problem);
        }
      });
    if (firstLeft === undefined) {
      this._announce(outcome);
    } else {
      void this._visit(firstLeft, outcome);
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
      this._drawnPlaces.get(key)?.source?.isEndSeen === true
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

  private get _conflictSentence(): string {
    return this._host.words.__(
      'The cell was changed since the agent read it, so this cannot be made: reject it.'
    );
  }

  private _accept(review: ICellReview, runsAfter = false): void {
    if (!this._canBeMade(review)) {
      this._announce(this._conflictSentence);
    } else if (this._isSeen(review)) {
      this._decide(review, { accept: true }, runsAfter);
    } else {
      if (this._editedKeys.delete(review.key)) {
        this._update();
      }
      this._drawnPlaces.get(review.key)?.source?.showEnd();
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
    const activeId = this._panel.content.activeCell?.model.id;
    const focusedKey = [...this._drawnPlaces].find(([, { bar, source }]) =>
      [bar, source].some(widget =>
        widget?.node.contains(document.activeElement)
      )
    )?.[0];
    return (
      reviews.find(({ key }) => key === focusedKey) ??
      reviews.find(({ cellId: cell }) => cell === activeId) ??
      reviews.find(({ key }) => key === this._currentKey) ??
      reviews[0] ??
      null
    );
  }

  private readonly _updateSoon = (): void => {
    this._timer ??= setTimeout(() => {
      this._timer = undefined;
      this._update();
    }, UPDATE_DELAY_MS);
  };

  /** Editing a cell by the notebook's own keys shows its editor. */
  private readonly _handleModeChange = (
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
      !this._editedKeys.has(review.key) &&
      activeCell?.hasClass(COVERED_CLASS) === true
    ) {
      this._editedKeys.add(review.key);
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
      this._reviews = reviewsKeepingObjects(
        transcript === undefined
          ? []
          : reviewsByCell(undecidedChanges(transcript)),
        this._reviews
      );
    }
    this._places = reviewPlaces(
      this._reviews,
      content.widgets.map(({ model }) => model.id)
    );
    this._numbers.assign(this.reviews);
    const placesToDraw = new Map<string, { place: IReviewPlace; cell: Cell }>();
    for (const place of this._places) {
      const cell = content.widgets[place.cellIndex];
      if (cell?.isPlaceholder() === true) {
        // A cell that was never in view has no content yet.
        void cell.ready.then(this._updateSoon);
      } else if (cell !== undefined) {
        placesToDraw.set(keyOf(place), { place, cell });
      }
    }
    for (const [key, drawn] of this._drawnPlaces) {
      const placeToDraw = placesToDraw.get(key);
      if (
        drawn.bar.isDisposed ||
        placeToDraw?.cell !== drawn.cell ||
        placeToDraw.place.position !== drawn.position
      ) {
        removeDrawn(drawn);
        this._drawnPlaces.delete(key);
      }
    }
    for (const [key, { place, cell }] of placesToDraw) {
      this._draw(key, place, cell);
    }
    if (this._acceptedRuns.size > 0) {
      this._runAccepted(
        (transcript?.entries ?? []).flatMap(({ message }) =>
          changesOfMessage(message)
        )
      );
    }
    this._activateInserted();
    this._rejectMissing();
  }

  /** Makes an inserted cell the active one, in the place of the cell in whose frame it was proposed. */
  private _activateInserted(): void {
    const { content } = this._panel;
    const { _acceptedCell: acceptedCell } = this;
    const index = content.widgets.findIndex(
      ({ model }) => model.id === acceptedCell?.cell
    );
    if (acceptedCell !== null && index >= 0) {
      this._acceptedCell = null;
      if (content.activeCell?.model.id === acceptedCell.frame) {
        content.deselectAll();
        content.activeCellIndex = index;
      }
    }
  }

  /**
   * Rejects proposals whose cell a person deleted, once all others of their question are decided: they have no bar, and
   * the question would wait for them.
   */
  private _rejectMissing(): void {
    const placedReviews = this._places.map(({ review }) => review);
    const missingReviews = this._reviews.filter(
      review =>
        review.state === 'proposed' &&
        !placedReviews.includes(review) &&
        !isDecided(review)
    );
    for (const { changes } of missingReviews) {
      const askId = changes.at(-1)?.ask?.id;
      const others = placedReviews.filter(
        other => other.changes.at(-1)?.ask?.id === askId
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
    let drawn = this._drawnPlaces.get(key);
    if (drawn === undefined) {
      const bar = insertBar(
        cell,
        place.position,
        new ChangeBarWidget(this._host, this._numbers)
      );
      bar.node.dataset.change = key;
      drawn = { cell, position: place.position, bar, source: null };
      this._drawnPlaces.set(key, drawn);
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
    const isEditing = this._editedKeys.has(review.key);
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
      cell.toggleClass(COVERED_CLASS, hasDifference && !isEditing);
      cell.toggleClass(DELETED_CLASS, review.isDeleted);
      cell.toggleClass(INSERTED_CLASS, review.isInserted);
    }
    drawn.bar.draw(
      review,
      {
        isEditing,
        problem: this._problems.get(review.key) ?? '',
        note: this._noteOn(review, isGhost ? null : cell),
        isSeen: this._isSeen(review),
        canBeMade: this._canBeMade(review),
        rejectionRequests: this._reasonRequests.get(review.key) ?? 0
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
  private _noteOn(review: ICellReview, cell: Cell | null): string {
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
      ? this._conflictSentence
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
        this._acceptedRuns.delete(review.key);
        review.changes.forEach(this._actions.takeBack);
      },
      showNext: () => {
        this._currentKey = review.key;
        this.step(1);
      },
      showPrevious: () => {
        this._currentKey = review.key;
        this.step(-1);
      },
      ...(isGhost || !hasDifference
        ? {}
        : {
            toggleEditor: () => {
              if (!this._editedKeys.delete(review.key)) {
                this._editedKeys.add(review.key);
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
    runsAfter = false
  ): void {
    const { words } = this._host;
    const drawnSource =
      this._drawnPlaces.get(review.key)?.source?.source ?? review.sourceAfter;
    const isPart =
      verdict.accept &&
      review.changes.length === 1 &&
      drawnSource !== review.sourceAfter;
    const fullVerdict = isPart ? { ...verdict, source: drawnSource } : verdict;
    const source = fullVerdict.source ?? review.sourceAfter;
    if (runsAfter) {
      const call = review.changes.at(-1)?.callId ?? '';
      this._acceptedRuns.set(review.key, { call, cell: review.cellId, source });
    }
    this._problems.delete(review.key);
    const { reviews } = this;
    const reviewIndex = reviews.indexOf(review);
    const others = [
      ...reviews.slice(reviewIndex + 1),
      ...reviews.slice(0, reviewIndex)
    ];
    const next = others.find(other => !isDecided(other));
    const outcome = verdict.accept
      ? words.__('Accepted.')
      : words.__('Rejected.');
    if (next === undefined) {
      this._announce(outcome);
      this._panel.content.node.focus();
      const frame = this._drawnPlaces.get(review.key)?.cell.model.id;
      this._acceptedCell =
        verdict.accept && review.isInserted && frame !== undefined
          ? { cell: review.cellId, frame }
          : null;
    } else {
      void this._visit(next, outcome);
    }
    void this._actions.decide(review.changes, fullVerdict).then(problem => {
      if (problem !== '') {
        this._acceptedRuns.delete(review.key);
        this._problems.set(review.key, problem);
        this._announce(problem);
        this._updateSoon();
      }
    });
  }

  /** Runs the cells whose change was accepted and made. */
  private _runAccepted(changes: readonly IReviewedChange[]): void {
    const { content, sessionContext } = this._panel;
    for (const [key, { call, cell: id, source }] of this._acceptedRuns) {
      // The numbers of a call's changes differ before and after its question.
      const state = changes.findLast(
        reviewed => reviewed.callId === call && reviewed.change.cell === id
      )?.change.state;
      const cell = cellOf(this._panel, id);
      if (state === 'rejected') {
        this._acceptedRuns.delete(key);
      } else if (
        state === 'accepted' &&
        cell?.model.sharedModel.getSource() === source
      ) {
        this._acceptedRuns.delete(key);
        void this._runCells(content, [cell], sessionContext);
      }
    }
  }

  /** Scrolls to a review and puts the keyboard into its bar; announces the `outcome` of the step before, and the review. */
  private async _visit(review: ICellReview, outcome = ''): Promise<void> {
    const { words } = this._host;
    const { content } = this._panel;
    const place = this._places.find(
      candidate => candidate.review.key === review.key && !candidate.isMark
    );
    const cell = content.widgets[place?.cellIndex ?? -1];
    if (place === undefined || cell === undefined) {
      return;
    }
    this._currentKey = review.key;
    const { reviews } = this;
    this._announce(
      [
        outcome,
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
    const bar = this._drawnPlaces.get(review.key)?.bar.node;
    bar?.scrollIntoView({ block: 'nearest' });
    // The field for a reason takes the keyboard itself.
    if (bar?.querySelector('input') === null) {
      bar.querySelector('button')?.focus();
    }
  }

  private _announce(text: string): void {
    this._liveRegion.textContent = text;
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
function insertBar(
  cell: Cell,
  position: IReviewPlace['position'],
  bar: ChangeBarWidget
): ChangeBarWidget {
  const layout = cell.layout as PanelLayout;
  const { widgets } = layout;
  const inputIndex = widgets.findIndex(widget =>
    widget.hasClass('jp-Cell-inputWrapper')
  );
  const indexes = {
    in: Math.max(0, inputIndex),
    above: 0,
    below: widgets.length
  };
  layout.insertWidget(indexes[position], bar);
  return bar;
}

/** Puts a source before a cell's editor; the active cell's input also holds a toolbar, so places are not fixed. */
function insertBeforeEditor({ inputArea }: Cell, source: Widget): void {
  const layout = inputArea?.layout as PanelLayout | undefined;
  const editorIndex = layout?.widgets.findIndex(widget =>
    widget.hasClass('jp-InputArea-editor')
  );
  layout?.insertWidget(editorIndex ?? 0, source);
}

function removeDrawn({ bar, cell, position, source }: IDrawnPlace): void {
  bar.dispose();
  source?.dispose();
  if (position === 'in' && !cell.isDisposed) {
    [COVERED_CLASS, DELETED_CLASS, INSERTED_CLASS].forEach(name => {
      cell.removeClass(name);
    });
  }
}

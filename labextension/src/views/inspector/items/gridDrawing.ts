/** Paints the grid: only the rows and columns that are seen. */
import type { TimelineView } from '../../../protocol/generated';
import type { ICacheMark } from '../../../state/inspector/cacheMarks';
import {
  definitionOfRow,
  definitionsOf,
  itemOfRow,
  MAX_ITEMS,
  rowOf
} from '../../../state/inspector/definitionRows';
import { scaleAt } from '../../../state/inspector/figures/requestScale';
import {
  subagentFigures,
  subagentsOf
} from '../../../state/inspector/subagents';
import { rowName } from '../../../state/inspector/rowNames';
import { count } from '../../../state/text/numberFormat';
import type {
  ItemState,
  ItemStates
} from '../../../state/inspector/figures/itemStates';
import {
  isInRange,
  type IRequestRange
} from '../../../state/inspector/figures/rangeFigures';
import type { GridPalette } from './gridPalette';

export const ROW_PX = 17;
export const HEAD_PX = 20;
/** At the left of this a press unfolds a row that holds others; its name begins here. */
export const FOLD_PX = 28;
/** Where the names of tool definitions begin. */
const INDENT_PX = 36;
/** Subagent figures are written where they leave a call's name more letters. */
const MIN_CALL_LETTERS = 8;
/** The space between the figures of a row and its squares. */
const RIGHT_PX = 8;
/** Tokens are written where they leave a definition's name more letters. */
const MIN_NAME_LETTERS = 12;
/** The room of a request's number above wide columns. */
const NUMBER_PX = 26;
/** The room of a request's number above narrow columns. */
const NARROW_NUMBER_PX = 52;
/** The least width of a cache mark. */
const MIN_MARK_PX = 9;
/** The least width of the cursor. */
const MIN_CURSOR_PX = 3;
/** Columns up to this width are named in tens. */
const NARROW_PX = 11;

export interface IGridShape {
  readonly width: number;
  readonly height: number;
  /** The width of the names at the left, in CSS pixels. */
  readonly namesPx: number;
  /** The width of a column, in CSS pixels. */
  readonly columnPx: number;
  /** The requests that have columns. */
  readonly range: IRequestRange;
  /** How far the grid is scrolled. */
  readonly left: number;
  readonly top: number;
}

interface IGridContent {
  readonly states: ItemStates;
  /** The tracks in each square: the recorded one, and below it that of the policy where one is chosen. */
  readonly tracks: readonly ItemStates[];
  readonly rows: Int32Array;
  readonly request: number;
  /** The chosen row, as one of `rows`. */
  readonly chosenRow: number | null;
  /** The cache marks of the request at the cursor. */
  readonly marks: readonly ICacheMark[];
  /** Whether the rows of calls open the subagents that these started. */
  readonly opensSubagents: boolean;
}

/** Paints the grid into a canvas, at the screen's own resolution. */
export function drawGrid(
  canvas: HTMLCanvasElement,
  palette: GridPalette,
  shape: IGridShape,
  content: IGridContent
): void {
  const pixelRatio = window.devicePixelRatio || 1;
  const pixels = {
    width: Math.round(shape.width * pixelRatio),
    height: Math.round(shape.height * pixelRatio)
  };
  if (canvas.width !== pixels.width || canvas.height !== pixels.height) {
    canvas.width = pixels.width;
    canvas.height = pixels.height;
  }
  const context = canvas.getContext('2d');
  if (context === null) {
    return;
  }
  context.setTransform(pixelRatio, 0, 0, pixelRatio, 0, 0);
  context.clearRect(0, 0, shape.width, shape.height);
  const brush = new GridBrush(context, palette, shape, content);
  brush.paintCells();
  brush.paintNames();
  brush.paintHeads();
  brush.paintCursor();
  brush.paintMarks();
}

/** Returns the row that a cache mark stands below: of a definition where it is there, else of its item; -1 for none. */
export function rowOfMark(
  view: TimelineView,
  rows: Int32Array,
  { item, definition }: ICacheMark
): number {
  if (item === null) {
    return -1;
  }
  const row = rowOf(view, item, definition);
  return rows.includes(row) ? row : item;
}

/** Squares of one item beside each other. */
interface ISquares {
  readonly rowIndex: number;
  readonly item: number;
  readonly states: ItemStates;
  /** The index of the track in each square, from above. */
  readonly trackIndex: number;
}

/** Returns how many requests a column stands for, so that it is at least a pixel wide. */
export function requestsPerColumn(columnPx: number): number {
  return Math.max(Math.ceil(1 / columnPx), 1);
}

/** How much of an item a state takes away, as a rank. */
const LOSS_RANK: Readonly<Record<ItemState, number>> = {
  whole: 0,
  truncated: 1,
  summarised: 2,
  offloaded: 3,
  masked: 4,
  cleared: 5,
  out: 6,
  reverted: 7
};

/** Returns the state that leaves least of an item in some requests; null where it is in none of them yet. */
function worstState(
  states: ItemStates,
  item: number,
  firstRequest: number,
  requestCount: number
): ItemState | null {
  let worst: ItemState | null = null;
  for (
    let request = firstRequest;
    request < firstRequest + requestCount;
    request++
  ) {
    const state = states.stateAt(item, request);
    if (
      state !== null &&
      (worst === null || LOSS_RANK[state] > LOSS_RANK[worst])
    ) {
      worst = state;
    }
  }
  return worst;
}

function alphaOf(
  states: ItemStates,
  item: number,
  state: ItemState,
  request: number
): number {
  switch (state) {
    case 'truncated':
      return 0.5;
    case 'out':
    case 'reverted':
      return 0.35;
    case 'summarised':
      return states.tokensAt(item, request) > 0 ? 1 : 0.4;
    default:
      return 1;
  }
}

/**
 * The brush of one painting.
 *
 * Responsibilities: know colours and hatch of this moment's theme, and which rows and columns are seen.
 */
class GridBrush {
  private readonly _firstRow: number;
  private readonly _endRow: number;
  /** The first request that is seen, and the one after the last. */
  private readonly _firstRequest: number;
  private readonly _endRequest: number;

  constructor(
    private readonly _context: CanvasRenderingContext2D,
    private readonly _palette: GridPalette,
    private readonly _shape: IGridShape,
    private readonly _content: IGridContent
  ) {
    const { height, width, namesPx, columnPx, left, top, range } = _shape;
    const { rows } = _content;
    this._firstRow = Math.floor(top / ROW_PX);
    this._endRow = Math.min(
      Math.ceil((top + height - HEAD_PX) / ROW_PX),
      rows.length
    );
    this._firstRequest = range.first + Math.floor(left / columnPx);
    this._endRequest = Math.min(
      range.first + Math.ceil((left + width - namesPx) / columnPx),
      range.last + 1
    );
  }

  paintCells(): void {
    const { rows, tracks } = this._content;
    const { range, columnPx } = this._shape;
    const columnRequests = requestsPerColumn(columnPx);
    const firstStep =
      range.first +
      Math.floor((this._firstRequest - range.first) / columnRequests) *
        columnRequests;
    for (let rowIndex = this._firstRow; rowIndex < this._endRow; rowIndex++) {
      const item = itemOfRow(this._content.states.view, rows[rowIndex] ?? 0);
      tracks.forEach((states, trackIndex) => {
        let runStart = firstStep;
        const worstStateFrom = (start: number) =>
          worstState(
            states,
            item,
            start,
            Math.min(columnRequests, range.last + 1 - start)
          );
        let state = worstStateFrom(runStart);
        for (
          let columnStart = runStart + columnRequests;
          ;
          columnStart += columnRequests
        ) {
          const isLast = columnStart >= this._endRequest;
          const nextState = isLast ? null : worstStateFrom(columnStart);
          if (nextState !== state || isLast) {
            const runEnd = Math.min(columnStart, range.last + 1);
            this._paintRun(
              { rowIndex, item, states, trackIndex },
              state,
              runStart,
              runEnd
            );
            runStart = columnStart;
            state = nextState;
          }
          if (isLast) {
            break;
          }
        }
      });
    }
  }

  paintNames(): void {
    const { namesPx, height } = this._shape;
    const { rows, states, chosenRow } = this._content;
    const { view } = states;
    const context = this._context;
    context.fillStyle = this._colourOf('page');
    context.fillRect(0, 0, namesPx, height);
    context.font = `12px ${this._palette.mono}`;
    context.textBaseline = 'middle';
    context.textAlign = 'left';
    const letterPx = Math.max(context.measureText('mmmmmmmmmm').width / 10, 1);
    const maxLetters = Math.max(Math.floor((namesPx - 26) / letterPx), 3);
    for (let rowIndex = this._firstRow; rowIndex < this._endRow; rowIndex++) {
      const rowNumber = rows[rowIndex] ?? 0;
      const item = itemOfRow(view, rowNumber);
      const y = this._yOf(rowIndex) + ROW_PX / 2;
      const textColour = this._colourOf(
        rowNumber === chosenRow ? 'accent' : 'text'
      );
      if (rowNumber < MAX_ITEMS) {
        context.fillStyle = this._colourOf(this._kindOf(item));
        context.fillRect(2, y - 5, 8, 10);
        context.fillStyle = textColour;
        const subagents = subagentsOf(view, item);
        if (subagents.length > 0) {
          if (this._content.opensSubagents) {
            context.fillText('▸', 14, y);
          }
          this._paintSubagentName(
            item,
            subagentFigures(view, subagents),
            letterPx,
            y
          );
        } else if (definitionsOf(view, item).count === 0) {
          context.fillText(rowName(view, item, maxLetters), 16, y);
        } else {
          const isUnfolded = (rows[rowIndex + 1] ?? 0) >= MAX_ITEMS;
          context.fillText(isUnfolded ? '▾' : '▸', 14, y);
          context.fillText(rowName(view, item, maxLetters - 2), FOLD_PX, y);
        }
      } else {
        context.fillStyle = textColour;
        this._paintDefinitionName(rowNumber, y, letterPx);
      }
    }
    context.fillStyle = this._colourOf('line');
    context.fillRect(namesPx - 2, HEAD_PX, 1, height);
  }

  /** Writes the name of a call that started subagents, and at the right what they sent and cost. */
  private _paintSubagentName(
    item: number,
    figures: string,
    letterPx: number,
    y: number
  ): void {
    const { view } = this._content.states;
    const fit = this._lettersBeside(
      FOLD_PX,
      figures,
      letterPx,
      MIN_CALL_LETTERS
    );
    this._context.fillText(rowName(view, item, fit.letters), FOLD_PX, y);
    this._paintAtRight(fit.areFiguresShown ? figures : '', y);
  }

  /** Writes a definition's name, and at the right its tokens. */
  private _paintDefinitionName(row: number, y: number, letterPx: number): void {
    const { states, request } = this._content;
    const { name, tokens } = definitionOfRow(states.view, row);
    const tokensText = count(tokens * scaleAt(states, request).factor);
    const fit = this._lettersBeside(
      INDENT_PX,
      tokensText,
      letterPx,
      MIN_NAME_LETTERS
    );
    // The end of a name tells it from the others of its server.
    const shownName =
      name.length <= fit.letters ? name : `…${name.slice(1 - fit.letters)}`;
    this._context.fillText(shownName, INDENT_PX, y);
    this._paintAtRight(fit.areFiguresShown ? tokensText : '', y);
  }

  /** Returns how many letters a name has beside figures, which are shown if the name then has more than `minLetters`. */
  private _lettersBeside(
    left: number,
    figures: string,
    letterPx: number,
    minLetters: number
  ): { letters: number; areFiguresShown: boolean } {
    const roomLetters = Math.floor(
      (this._shape.namesPx - RIGHT_PX - left) / letterPx
    );
    const areFiguresShown = roomLetters - figures.length > minLetters;
    return {
      letters: Math.max(
        areFiguresShown ? roomLetters - figures.length - 1 : roomLetters,
        3
      ),
      areFiguresShown
    };
  }

  private _paintAtRight(figures: string, y: number): void {
    const context = this._context;
    context.textAlign = 'right';
    context.globalAlpha = 0.75;
    context.fillText(figures, this._shape.namesPx - RIGHT_PX, y);
    context.globalAlpha = 1;
    context.textAlign = 'left';
  }

  paintHeads(): void {
    const { namesPx, width, columnPx } = this._shape;
    const context = this._context;
    context.fillStyle = this._colourOf('page');
    context.fillRect(0, 0, width, HEAD_PX);
    context.fillStyle = this._colourOf('text');
    context.font = `11px ${this._palette.font}`;
    context.textAlign = 'center';
    const numberStep =
      columnPx > NARROW_PX
        ? Math.ceil(NUMBER_PX / columnPx)
        : Math.max(10, Math.ceil(NARROW_NUMBER_PX / columnPx / 10) * 10);
    context.globalAlpha = 0.75;
    for (
      let requestNumber =
        Math.ceil((this._firstRequest + 1) / numberStep) * numberStep;
      requestNumber <= this._endRequest;
      requestNumber += numberStep
    ) {
      const x = this._xOf(requestNumber - 1) + columnPx / 2;
      if (x > namesPx + 10 && x < width - 14) {
        context.fillText(String(requestNumber), x, HEAD_PX / 2);
      }
    }
    context.globalAlpha = 1;
  }

  paintCursor(): void {
    const { namesPx, height, columnPx, range } = this._shape;
    const { rows, request, chosenRow } = this._content;
    const isInColumns = isInRange(range, request);
    const context = this._context;
    const x = this._xOf(request);
    context.save();
    context.beginPath();
    context.rect(namesPx - 2, 0, this._shape.width, height);
    context.clip();
    context.strokeStyle = this._colourOf('accent');
    context.lineWidth = 1.5;
    const bottom = Math.min(this._yOf(rows.length), height - 1);
    const width = Math.max(columnPx, MIN_CURSOR_PX);
    if (isInColumns) {
      context.strokeRect(x - 0.5, HEAD_PX - 2, width, bottom - HEAD_PX + 2);
    }
    const chosenIndex = chosenRow === null ? -1 : rows.indexOf(chosenRow);
    if (
      isInColumns &&
      chosenIndex >= this._firstRow &&
      chosenIndex < this._endRow
    ) {
      context.lineWidth = 2.5;
      context.strokeStyle = this._colourOf('text');
      context.strokeRect(
        x - 1.5,
        this._yOf(chosenIndex) - 0.5,
        width + 2,
        ROW_PX
      );
    }
    context.restore();
    if (chosenIndex >= this._firstRow && chosenIndex < this._endRow) {
      context.strokeStyle = this._colourOf('accent');
      context.lineWidth = 1;
      context.strokeRect(
        0.5,
        this._yOf(chosenIndex) + 0.5,
        namesPx - 4,
        ROW_PX - 1
      );
    }
  }

  /** Paints the cache marks into the cursor's column: a line below the row, and an arrow to it from the left. */
  paintMarks(): void {
    const { namesPx, columnPx, range, height } = this._shape;
    const { rows, states, request, marks } = this._content;
    if (!isInRange(range, request)) {
      return;
    }
    const context = this._context;
    const width = Math.max(columnPx, MIN_MARK_PX);
    const x = this._xOf(request) + (columnPx - width) / 2;
    context.save();
    context.beginPath();
    context.rect(namesPx - 1, HEAD_PX, this._shape.width, height);
    context.clip();
    for (const mark of marks) {
      const rowIndex = rows.indexOf(rowOfMark(states.view, rows, mark));
      if (rowIndex >= this._firstRow && rowIndex < this._endRow) {
        const y = this._yOf(rowIndex) + ROW_PX;
        context.fillStyle = this._colourOf('page');
        context.fillRect(x - 6, y - 3.5, width + 11, 5);
        context.fillStyle = this._colourOf('text');
        context.fillRect(x - 2, y - 2, width + 5, 2);
        context.beginPath();
        context.moveTo(x - 7, y - 6);
        context.lineTo(x - 1, y - 1);
        context.lineTo(x - 7, y + 4);
        context.fill();
      }
    }
    context.restore();
  }

  /** Paints cells of one state beside each other. */
  private _paintRun(
    { rowIndex, item, states, trackIndex }: ISquares,
    state: ItemState | null,
    runStart: number,
    runEnd: number
  ): void {
    if (state === null) {
      return;
    }
    const { columnPx } = this._shape;
    const context = this._context;
    const height = (ROW_PX - 3) / this._content.tracks.length;
    const y = this._yOf(rowIndex) + 1.5 + trackIndex * height;
    const isThin = state === 'out' || state === 'reverted';
    const hasGaps = columnPx > 4 && !isThin;
    context.fillStyle = this._fillOf(item, state);
    context.globalAlpha = alphaOf(states, item, state, runStart);
    if (isThin) {
      context.fillRect(
        this._xOf(runStart),
        y + height / 2 - 0.5,
        (runEnd - runStart) * columnPx,
        1
      );
    } else if (hasGaps) {
      for (let request = runStart; request < runEnd; request++) {
        context.fillRect(this._xOf(request), y, columnPx - 1, height);
      }
    } else {
      context.fillRect(
        this._xOf(runStart),
        y,
        (runEnd - runStart) * columnPx,
        height
      );
    }
    context.globalAlpha = 1;
  }

  private _fillOf(item: number, state: ItemState): CanvasPattern | string {
    switch (state) {
      case 'cleared':
      case 'masked':
      case 'offloaded':
        return this._palette.hatch;
      case 'summarised':
        return this._colourOf('summary');
      case 'out':
      case 'reverted':
        return this._colourOf('text');
      case 'whole':
      case 'truncated':
        return this._colourOf(this._kindOf(item));
    }
  }

  private _kindOf(item: number): string {
    const { view } = this._content.states;
    return view.kinds[view.items.kind[item] ?? 0] ?? '';
  }

  private _colourOf(name: string): string {
    return this._palette.colourOf(name);
  }

  private _xOf(request: number): number {
    const { namesPx, range, columnPx, left } = this._shape;
    return namesPx + (request - range.first) * columnPx - left;
  }

  private _yOf(row: number): number {
    return HEAD_PX + row * ROW_PX - this._shape.top;
  }
}

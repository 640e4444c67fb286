/** What a page answers to a kernel's requests about the cells of its notebooks, in messages small enough for every server. */
import type {
  CellsChanged,
  CellsRequestNotice,
  ChangeCellsNotice,
  PageCell,
  PageNotebook,
  RunCellNotice
} from '../protocol/generated';

/** Reads one notebook for the kernel. */
export type ReadCells = (request: CellsRequestNotice) => PageNotebook;

/** A request of the kernel to do something with cells of a notebook. */
export type CellsAction = ChangeCellsNotice | RunCellNotice;

/** What a page answers to a request to change or run cells. */
export type CellsAnswer = Partial<Pick<CellsChanged, 'results' | 'refusal'>>;

/** Does what the kernel requests; undefined where the request is not for this notebook, or of another kind. */
export type ActOnCells = (
  notice: CellsAction
) => CellsAnswer | Promise<CellsAnswer> | undefined;

/** Characters of one message, except where one cell is larger. */
const MAX_PIECE_CHARS = 250_000;

/** Returns notebooks in pieces of bounded size, at least one; cells keep their order. */
export function notebookPieces(
  notebooks: readonly PageNotebook[]
): PageNotebook[][] {
  const pieces: PageNotebook[][] = [[]];
  let remainingChars = MAX_PIECE_CHARS;
  for (const notebook of notebooks) {
    let cells: PageCell[] = [];
    pieces.at(-1)?.push({ ...notebook, cells });
    for (const cell of notebook.cells) {
      const cellChars = JSON.stringify(cell).length;
      if (cellChars > remainingChars && remainingChars < MAX_PIECE_CHARS) {
        cells = [];
        pieces.push([{ ...notebook, cells }]);
        remainingChars = MAX_PIECE_CHARS;
      }
      cells.push(cell);
      remainingChars -= cellChars;
    }
  }
  return pieces;
}

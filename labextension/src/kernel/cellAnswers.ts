/** The answer to a kernel's request for a notebook's cells, in messages small enough for every server. */
import type {
  CellsRequestNotice,
  PageCell,
  PageNotebook
} from '../protocol/generated';

/** Reads one notebook for the kernel. */
export type ReadCells = (wanted: CellsRequestNotice) => PageNotebook;

/** Characters of one message, except where one cell is larger. */
const PIECE_CHARS = 250_000;

/** Returns notebooks in pieces of bounded size, at least one; cells keep their order. */
export function inPieces(notebooks: readonly PageNotebook[]): PageNotebook[][] {
  const pieces: PageNotebook[][] = [[]];
  let room = PIECE_CHARS;
  for (const notebook of notebooks) {
    let cells: PageCell[] = [];
    pieces.at(-1)?.push({ ...notebook, cells });
    for (const cell of notebook.cells) {
      const size = JSON.stringify(cell).length;
      if (size > room && room < PIECE_CHARS) {
        cells = [];
        pieces.push([{ ...notebook, cells }]);
        room = PIECE_CHARS;
      }
      cells.push(cell);
      room -= size;
    }
  }
  return pieces;
}

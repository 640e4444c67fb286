/**
 * Splits streaming Markdown into blocks, so that only the last one is rendered again.
 *
 * The text is split at a blank line after which a new block begins: never inside a code fence,
 * displayed maths or HTML, nor between the items of a list or the rows of a table. A very long
 * paragraph is split at a space; the text after a block without a line end belongs to its line.
 */

export interface IBlocks {
  text: string;
  /** Blocks that further text cannot change. */
  closed: readonly string[];
  /** The index at which the open block begins. */
  from: number;
  open: string;
}

export const NO_BLOCKS: IBlocks = { text: '', closed: [], from: 0, open: '' };

const FENCE = /^ {0,3}(`{3,}|~{3,})(.*)$/;
const ITEM = /^ {0,3}(?:[-*+]|\d{1,9}[.)])(?:\s|$)/;
const INDENTED = /^(?: {2,}|\t)/;
const HTML = /^ {0,3}<[a-z!/?]/i;
const MATHS = /^\s*(?:\$\$|\\\[|\\begin\{)/;
const MATHS_END = /(?:\$\$|\\\]|\\end\{[^}]*\})\s*$/;

/** Splits a text; the blocks closed before are not parsed again. */
export function markdownBlocks(
  text: string,
  before: IBlocks = NO_BLOCKS
): IBlocks {
  if (text === before.text) {
    return before;
  }
  const grown = text.startsWith(before.text);
  const closed = grown ? [...before.closed] : [];
  let from = grown ? before.from : 0;
  const lengths = [...blockEnds(text.slice(from))];
  for (const length of lengths) {
    const end = from + length;
    from = closeLong(text.slice(0, end), from, closed);
    closed.push(text.slice(from, end));
    from = end;
  }
  from = closeLong(text, from, closed);
  return {
    text,
    closed:
      closed.length === before.closed.length && grown ? before.closed : closed,
    from,
    open: text.slice(from)
  };
}

/** Yields the lengths of the closed blocks, one after the other. */
function* blockEnds(text: string): Iterable<number> {
  let start = 0;
  let index = 0;
  let first = '';
  let fence = '';
  let maths = false;
  let blank = false;
  for (const line of text.split(/(?<=\n)/)) {
    // An unfinished line may still become anything.
    const isWritten = line.endsWith('\n');
    const words = line.trimEnd();
    if (
      blank &&
      fence === '' &&
      !maths &&
      words !== '' &&
      isBeginning(line, first, isWritten)
    ) {
      yield index - start;
      start = index;
      first = '';
    }
    if (!isWritten) {
      return;
    }
    if (first === '' && words !== '') {
      first = line;
    }
    fence = fenceAfter(words, fence);
    maths = fence === '' && mathsAfter(words, maths);
    blank = fence === '' && !maths && words === '';
    index += line.length;
  }
}

/** A longer paragraph is closed in pieces, since typesetting its maths takes time. */
const PIECE_CHARS = 800;

/** Lines that are not text of a paragraph. */
const NO_WORDS =
  /^\s*(?:[-*+>|#<]|\d{1,9}[.)]|```|~~~|\$\$|\\\[|\\begin)|^(?: {4}|\t)/m;

/** Closes the pieces of a long paragraph; returns the index of the rest. */
function closeLong(text: string, from: number, closed: string[]): number {
  let index = from;
  while (text.length - index > 2 * PIECE_CHARS) {
    const piece = text.slice(index, index + 2 * PIECE_CHARS);
    const length = NO_WORDS.test(piece) ? 0 : pieceEnd(piece);
    if (length === 0) {
      break;
    }
    closed.push(piece.slice(0, length));
    index += length;
  }
  return index;
}

/** Returns the index of a space outside of emphasis, code, maths and links; 0 if there is none. */
function pieceEnd(piece: string): number {
  const counts = new Map<string, number>();
  const count = (sign: string) => counts.get(sign) ?? 0;
  for (let index = 0; index < piece.length - 1; index += 1) {
    const sign = piece.charAt(index);
    counts.set(sign, count(sign) + 1);
    if (
      index >= PIECE_CHARS &&
      sign === ' ' &&
      /\p{L}/u.test(piece.charAt(index + 1)) &&
      ['`', '$', '*', '~'].every(mark => count(mark) % 2 === 0) &&
      count('[') === count(']') &&
      count('(') === count(')')
    ) {
      return index + 1;
    }
  }
  return 0;
}

function isBeginning(line: string, first: string, isWritten: boolean): boolean {
  if (INDENTED.test(line) || (!isWritten && line.trim().length < 4)) {
    return false;
  }
  if (HTML.test(first)) {
    return false;
  }
  return !(ITEM.test(first) && ITEM.test(line));
}

function fenceAfter(line: string, fence: string): string {
  const match = FENCE.exec(line);
  if (match === null) {
    return fence;
  }
  const [, run = '', rest = ''] = match;
  if (fence === '') {
    return run.startsWith('`') && rest.includes('`') ? '' : run;
  }
  return run.startsWith(fence) && rest.trim() === '' ? '' : fence;
}

function mathsAfter(line: string, maths: boolean): boolean {
  if (maths) {
    return !MATHS_END.test(line);
  }
  if (!MATHS.test(line)) {
    return false;
  }
  const rest = line.trim().replace(MATHS, '');
  return !MATHS_END.test(rest);
}

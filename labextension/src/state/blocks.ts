/**
 * Cuts growing Markdown into blocks, so that only the last one is drawn again.
 *
 * A cut falls at a blank line after which something of its own begins: never inside a code
 * fence, displayed maths or HTML, nor between the items of a list or the rows of a table.
 */

export interface IBlocks {
  text: string;
  /** Blocks that more words can't change. */
  closed: readonly string[];
  /** Where the open block begins in the text. */
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

/** Cuts a text; what was cut of its beginning before is not looked at again. */
export function blocks(text: string, before: IBlocks = NO_BLOCKS): IBlocks {
  if (text === before.text) {
    return before;
  }
  const grown = text.startsWith(before.text);
  const closed = grown ? [...before.closed] : [];
  let from = grown ? before.from : 0;
  for (const end of ends(text.slice(from))) {
    closed.push(text.slice(from, from + end));
    from += end;
  }
  return {
    text,
    closed:
      closed.length === before.closed.length && grown ? before.closed : closed,
    from,
    open: text.slice(from)
  };
}

/** Yields the lengths of the blocks that are closed, one after the other. */
function* ends(text: string): Iterable<number> {
  let start = 0;
  let place = 0;
  let first = '';
  let fence = '';
  let maths = false;
  let blank = false;
  for (const line of text.split(/(?<=\n)/)) {
    // A line that is still being written may become anything.
    const isWritten = line.endsWith('\n');
    const words = line.trimEnd();
    if (
      blank &&
      fence === '' &&
      !maths &&
      words !== '' &&
      isBeginning(line, first, isWritten)
    ) {
      yield place - start;
      start = place;
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
    place += line.length;
  }
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

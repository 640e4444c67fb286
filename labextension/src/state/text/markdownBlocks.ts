/**
 * Splits streaming Markdown into blocks, so that only the last one is rendered again.
 *
 * The text is split at a blank line after which a new block begins: never inside a code fence,
 * displayed maths or HTML, nor between the items of a list or the rows of a table. A very long
 * paragraph is split at a space; the text after a block without a line end belongs to its line.
 */

export interface IMarkdownBlocks {
  text: string;
  /** Blocks that further text cannot change. */
  closedBlocks: readonly string[];
  /** The index at which the open block begins. */
  openIndex: number;
  openBlock: string;
}

export const NO_BLOCKS: IMarkdownBlocks = {
  text: '',
  closedBlocks: [],
  openIndex: 0,
  openBlock: ''
};

const FENCE = /^ {0,3}(`{3,}|~{3,})(.*)$/;
const ITEM = /^ {0,3}(?:[-*+]|\d{1,9}[.)])(?:\s|$)/;
const INDENTED = /^(?: {2,}|\t)/;
const HTML = /^ {0,3}<[a-z!/?]/i;
const MATHS = /^\s*(?:\$\$|\\\[|\\begin\{)/;
const MATHS_END = /(?:\$\$|\\\]|\\end\{[^}]*\})\s*$/;

/** Splits a text; the blocks closed before are not parsed again. */
export function markdownBlocks(
  text: string,
  before: IMarkdownBlocks = NO_BLOCKS
): IMarkdownBlocks {
  if (text === before.text) {
    return before;
  }
  const isGrown = text.startsWith(before.text);
  const closedBlocks = isGrown ? [...before.closedBlocks] : [];
  let openIndex = isGrown ? before.openIndex : 0;
  const lengths = [...blockEnds(text.slice(openIndex))];
  for (const length of lengths) {
    const endIndex = openIndex + length;
    openIndex = closeLongParagraph(
      text.slice(0, endIndex),
      openIndex,
      closedBlocks
    );
    closedBlocks.push(text.slice(openIndex, endIndex));
    openIndex = endIndex;
  }
  openIndex = closeLongParagraph(text, openIndex, closedBlocks);
  return {
    text,
    closedBlocks:
      closedBlocks.length === before.closedBlocks.length && isGrown
        ? before.closedBlocks
        : closedBlocks,
    openIndex,
    openBlock: text.slice(openIndex)
  };
}

/** Yields the lengths of the closed blocks, one after the other. */
function* blockEnds(text: string): Iterable<number> {
  let startIndex = 0;
  let lineIndex = 0;
  let firstLine = '';
  let openFence = '';
  let isInMaths = false;
  let isAfterBlank = false;
  for (const line of text.split(/(?<=\n)/)) {
    // An unfinished line may still become anything.
    const isLineComplete = line.endsWith('\n');
    const lineText = line.trimEnd();
    if (
      isAfterBlank &&
      openFence === '' &&
      !isInMaths &&
      lineText !== '' &&
      beginsBlock(line, firstLine, isLineComplete)
    ) {
      yield lineIndex - startIndex;
      startIndex = lineIndex;
      firstLine = '';
    }
    if (!isLineComplete) {
      return;
    }
    if (firstLine === '' && lineText !== '') {
      firstLine = line;
    }
    openFence = fenceAfter(lineText, openFence);
    isInMaths = openFence === '' && isInMathsAfter(lineText, isInMaths);
    isAfterBlank = openFence === '' && !isInMaths && lineText === '';
    lineIndex += line.length;
  }
}

/** A longer paragraph is closed in pieces, since typesetting its maths takes time. */
const MIN_PIECE_CHARS = 800;

/** Lines that are not text of a paragraph. */
const NOT_PARAGRAPH =
  /^\s*(?:[-*+>|#<]|\d{1,9}[.)]|```|~~~|\$\$|\\\[|\\begin)|^(?: {4}|\t)/m;

/** Closes the pieces of a long paragraph; returns the index of the rest. */
function closeLongParagraph(
  text: string,
  startIndex: number,
  closedBlocks: string[]
): number {
  let index = startIndex;
  while (text.length - index > 2 * MIN_PIECE_CHARS) {
    const piece = text.slice(index, index + 2 * MIN_PIECE_CHARS);
    const length = NOT_PARAGRAPH.test(piece) ? 0 : pieceEnd(piece);
    if (length === 0) {
      break;
    }
    closedBlocks.push(piece.slice(0, length));
    index += length;
  }
  return index;
}

/** Returns the index of a space outside of emphasis, code, maths and links; 0 if there is none. */
function pieceEnd(piece: string): number {
  const signCounts = new Map<string, number>();
  const countOfSign = (sign: string) => signCounts.get(sign) ?? 0;
  for (let index = 0; index < piece.length - 1; index += 1) {
    const sign = piece.charAt(index);
    signCounts.set(sign, countOfSign(sign) + 1);
    if (
      index >= MIN_PIECE_CHARS &&
      sign === ' ' &&
      /\p{L}/u.test(piece.charAt(index + 1)) &&
      ['`', '$', '*', '~'].every(mark => countOfSign(mark) % 2 === 0) &&
      countOfSign('[') === countOfSign(']') &&
      countOfSign('(') === countOfSign(')')
    ) {
      return index + 1;
    }
  }
  return 0;
}

function beginsBlock(
  line: string,
  firstLine: string,
  isLineComplete: boolean
): boolean {
  if (INDENTED.test(line) || (!isLineComplete && line.trim().length < 4)) {
    return false;
  }
  if (HTML.test(firstLine)) {
    return false;
  }
  return !(ITEM.test(firstLine) && ITEM.test(line));
}

function fenceAfter(line: string, openFence: string): string {
  const match = FENCE.exec(line);
  if (match === null) {
    return openFence;
  }
  const [, fenceSigns = '', lineRest = ''] = match;
  if (openFence === '') {
    return fenceSigns.startsWith('`') && lineRest.includes('`')
      ? ''
      : fenceSigns;
  }
  return fenceSigns.startsWith(openFence) && lineRest.trim() === ''
    ? ''
    : openFence;
}

function isInMathsAfter(line: string, isInMaths: boolean): boolean {
  if (isInMaths) {
    return !MATHS_END.test(line);
  }
  if (!MATHS.test(line)) {
    return false;
  }
  const textAfterOpening = line.trim().replace(MATHS, '');
  return !MATHS_END.test(textAfterOpening);
}

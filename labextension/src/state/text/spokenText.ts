/** Converts Markdown to the text that a screen reader should read, without markup. */

const FENCE = /^\s*(?:`{3,}|~{3,})/;
const RULE = /^\s*(?:[-*_=]\s*){3,}$/;
const TABLE_RULE = /^\s*\|?[\s:|-]*-[\s:|-]*$/;

/** Returns a range of the text as prose; the text before it decides whether it begins inside code. */
export function spokenText(
  text: string,
  startIndex: number,
  endIndex: number
): string {
  let isCode = false;
  let lineStart = 0;
  const spokenLines: string[] = [];
  for (const line of text.split(/(?<=\n)/)) {
    const lineEnd = lineStart + line.length;
    const isFence = FENCE.test(line);
    if (isFence) {
      isCode = !isCode;
    } else if (!isCode && lineEnd > startIndex && lineStart < endIndex) {
      const rangeOfLine = line.slice(
        Math.max(0, startIndex - lineStart),
        endIndex - lineStart
      );
      const spokenWords = spokenLine(rangeOfLine, lineStart >= startIndex);
      if (spokenWords !== '') {
        spokenLines.push(spokenWords);
      }
    }
    lineStart = lineEnd;
  }
  return spokenLines.join(' ').replace(/\s+/g, ' ').trim();
}

/** Returns Markdown as the text that a page shows of it, line by line; code stays as it is. */
export function plainText(text: string): string {
  let isCode = false;
  const lines: string[] = [];
  for (const line of text.split('\n')) {
    if (FENCE.test(line)) {
      isCode = !isCode;
    } else if (isCode || !(RULE.test(line) || TABLE_RULE.test(line))) {
      lines.push(isCode ? line : plainWords(line.replace(BLOCK_LEAD, '')));
    }
  }
  return lines.join('\n');
}

/** Matches a possible sentence end: a sign before a space, or a line end; not the dot of an abbreviation or an item. */
const SENTENCE_END =
  /(?<!\b(?:e\.g|i\.e|cf|vs|etc|approx|Dr|Mr|Mrs|Ms|Fig|No)|(?:^|\n)[ \t]*\d{1,9})[.!?:](?=[\s*_)\]"'”’]*\s)|\n/g;

/** A line after which, or before which, a paragraph ends: empty, or of another block. */
const BLOCK_LINE = /^[ \t]*(?:$|[#>|]|[-*+][ \t]|\d{1,9}[.)][ \t]|`{3}|~{3})/;

/** Returns the index after the last complete sentence or block, outside of links and code. */
export function sentenceEnd(text: string): number {
  const lastEnd = [...text.matchAll(SENTENCE_END)].findLast(
    ({ 0: sign, index }) => {
      const line = text.slice(text.lastIndexOf('\n', index - 1) + 1, index);
      return sign === '\n'
        ? endsBlock(line, text.slice(index + 1))
        : countOf(line, '`') % 2 === 0 &&
            countOf(line, '[') === countOf(line, ']') &&
            !/\]\([^)]*$/.test(line);
    }
  );
  return lastEnd === undefined ? 0 : lastEnd.index + 1;
}

/** Returns whether a block ends with a line, rather than that its paragraph goes on. */
function endsBlock(line: string, textAfter: string): boolean {
  const [nextLine = '', ...furtherLines] = textAfter.split('\n', 2);
  const isItem = /^[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]/.test(line);
  return (
    (BLOCK_LINE.test(line) && !isItem) ||
    (textAfter !== '' &&
      BLOCK_LINE.test(nextLine) &&
      (nextLine.trim() !== '' || furtherLines.length > 0))
  );
}

/** Markup at the beginning of a heading, an item or a quote. */
const BLOCK_LEAD = /^\s*(?:>\s*)*(?:#{1,6}\s+|[-*+]\s+(?:\[[ xX]\]\s+)?)?/;

function spokenLine(line: string, isWhole: boolean): string {
  if (isWhole && (RULE.test(line) || TABLE_RULE.test(line))) {
    return '';
  }
  const textWithoutLead = isWhole ? line.replace(BLOCK_LEAD, '') : line;
  const isRow = /^\s*\|.*\|\s*$/.test(textWithoutLead);
  const words = plainWords(isRow ? rowText(textWithoutLead) : textWithoutLead);
  // A screen reader pauses after a line that is a block of its own.
  const isOwnBlock = isRow || textWithoutLead.length < line.trimEnd().length;
  return isOwnBlock && /[\p{L}\p{N})]$/u.test(words) ? `${words}.` : words;
}

function rowText(row: string): string {
  return row
    .trim()
    .slice(1, -1)
    .split('|')
    .map(cell => cell.trim())
    .join(', ');
}

/** Returns a line of Markdown without its markup. */
export function plainWords(text: string): string {
  return text
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/!?\[([^\]]*)\]\[[^\]]*\]/g, '$1')
    .replace(/<(https?:[^>\s]+)>/g, '$1')
    .replace(/<\/?[a-z][^>]*>/gi, '')
    .replace(/`+/g, '')
    .replace(/(\*{1,3}|~~)(?=\S)([^*~]+?)\1/g, '$2')
    .replace(/(?<!\w)(_{1,3})(?=\S)([^_]+?)\1(?!\w)/g, '$2')
    .replace(/\*{1,3}/g, '')
    .replace(/\\([\\`*_{}[\]()#+.!|>~-])/g, '$1')
    .trim();
}

function countOf(text: string, sign: string): number {
  return text.split(sign).length - 1;
}

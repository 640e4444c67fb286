/**
 * Markdown as a voice reads it: the words, without the signs around them.
 */

const FENCE = /^\s*(?:`{3,}|~{3,})/;
const RULE = /^\s*(?:[-*_=]\s*){3,}$/;
const TABLE_RULE = /^\s*\|?[\s:|-]*-[\s:|-]*$/;

/** Returns a stretch of a text as prose; what stands before it says whether it begins in code. */
export function spokenText(text: string, from: number, to: number): string {
  let isCode = false;
  let place = 0;
  const found: string[] = [];
  for (const line of text.split(/(?<=\n)/)) {
    const end = place + line.length;
    const isFence = FENCE.test(line);
    if (isFence) {
      isCode = !isCode;
    } else if (!isCode && end > from && place < to) {
      const cut = line.slice(Math.max(0, from - place), to - place);
      const words = spoken(cut, place >= from);
      if (words !== '') {
        found.push(words);
      }
    }
    place = end;
  }
  return found.join(' ').replace(/\s+/g, ' ').trim();
}

/** Returns where the last whole sentence or line ends, outside of links and code. */
export function sentenceEnd(text: string): number {
  const ends = [...text.matchAll(/[.!?:](?=[\s*_)\]"'”’]*\s)|\n/g)];
  const last = ends.findLast(({ 0: sign, index }) => {
    const line = text.slice(text.lastIndexOf('\n', index - 1) + 1, index);
    return (
      sign === '\n' ||
      (count(line, '`') % 2 === 0 &&
        count(line, '[') === count(line, ']') &&
        !/\]\([^)]*$/.test(line))
    );
  });
  return last === undefined ? 0 : last.index + 1;
}

/** What a heading, an item or a quote begins with. */
const LEAD = /^\s*(?:>\s*)*(?:#{1,6}\s+|[-*+]\s+(?:\[[ xX]\]\s+)?)?/;

function spoken(line: string, isWhole: boolean): string {
  if (isWhole && (RULE.test(line) || TABLE_RULE.test(line))) {
    return '';
  }
  const begun = isWhole ? line.replace(LEAD, '') : line;
  const isRow = /^\s*\|.*\|\s*$/.test(begun);
  const words = plain(isRow ? cells(begun) : begun);
  // A voice makes a pause where a line is something of its own.
  const isOwn = isRow || begun.length < line.trimEnd().length;
  return isOwn && /[\p{L}\p{N})]$/u.test(words) ? `${words}.` : words;
}

function cells(row: string): string {
  return row
    .trim()
    .slice(1, -1)
    .split('|')
    .map(cell => cell.trim())
    .join(', ');
}

function plain(text: string): string {
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

function count(text: string, sign: string): number {
  return text.split(sign).length - 1;
}

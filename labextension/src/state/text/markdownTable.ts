/** Finds the table in a block of a model's Markdown, to be copied. */
import { plainWords } from './spokenText';

interface ITable {
  /** Its lines as they are written. */
  markdown: string;
  /** Its rows as tab-separated values, for a spreadsheet. */
  tsv: string;
}

/** The line below a table's head, without the space around it; like all patterns here it reads a long line once. */
const RULE = /^\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?$/;

/** Returns the table of a block; null where it holds none. */
export function tableIn(text: string): ITable | null {
  const lines = text.split('\n');
  const rule = lines.findIndex(
    (line, index) =>
      index > 0 &&
      line.includes('|') &&
      /^ {0,3}\S/.test(line) &&
      RULE.test(line.trim()) &&
      cellsOfRow(line).length === cellsOfRow(lines[index - 1] ?? '').length
  );
  if (rule < 0) {
    return null;
  }
  const after = lines.slice(rule + 1);
  const end = after.findIndex(line => line.trim() === '');
  const body = end < 0 ? after : after.slice(0, end);
  const head = lines[rule - 1] ?? '';
  const width = cellsOfRow(head).length;
  return {
    markdown: [head, lines[rule], ...body].join('\n'),
    tsv: [head, ...body]
      .map(line =>
        // A row has as many cells as the head, whatever is written.
        Array.from({ length: width }, (_, at) =>
          cellText(cellsOfRow(line)[at] ?? '')
        )
      )
      .map(row => row.join('\t'))
      .join('\n')
  };
}

/** Splits a row at its bars, but not at an escaped one. */
function cellsOfRow(line: string): string[] {
  const inner = line
    .trim()
    .replace(/^\|/, '')
    .replace(/(?<!\\)\|$/, '');
  return inner.split(/(?<!\\)\|/).map(cell => cell.trim());
}

const NUMBER = /^[+-]?[\d., ]+(?:e[+-]?\d+)?%?$/i;

/** Returns a cell as plain text. A spreadsheet would run what looks like a formula, and the model wrote it. */
function cellText(cell: string): string {
  const words = plainWords(
    cell.replace(/\\\|/g, '|').replace(/<br\s*\/?>/gi, ' ')
  ).replace(/\s+/g, ' ');
  const isFormula =
    /^[=@+-]./.test(words) && !(NUMBER.test(words) && /\d/.test(words));
  return isFormula ? `'${words}` : words;
}

/** Finds the table in a block of a model's Markdown, to be copied. */
import { plainWords } from './spokenText';

interface ITable {
  /** Its lines as they are written. */
  markdown: string;
  /** Its rows as tab-separated values, for a spreadsheet. */
  tsv: string;
}

/** The line below a table's head, without the space around it; like all patterns here it reads a long line once. */
const HEAD_RULE = /^\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?$/;

/** Returns the table of a block; null where it holds none. */
export function tableIn(text: string): ITable | null {
  const lines = text.split('\n');
  const ruleIndex = lines.findIndex(
    (line, index) =>
      index > 0 &&
      line.includes('|') &&
      /^ {0,3}\S/.test(line) &&
      HEAD_RULE.test(line.trim()) &&
      cellsOfRow(line).length === cellsOfRow(lines[index - 1] ?? '').length
  );
  if (ruleIndex < 0) {
    return null;
  }
  const linesBelow = lines.slice(ruleIndex + 1);
  const endIndex = linesBelow.findIndex(line => line.trim() === '');
  const bodyLines = endIndex < 0 ? linesBelow : linesBelow.slice(0, endIndex);
  const headLine = lines[ruleIndex - 1] ?? '';
  const columnCount = cellsOfRow(headLine).length;
  return {
    markdown: [headLine, lines[ruleIndex], ...bodyLines].join('\n'),
    tsv: [headLine, ...bodyLines]
      .map(line =>
        // A row has as many cells as the head, whatever is written.
        Array.from({ length: columnCount }, (_, column) =>
          cellText(cellsOfRow(line)[column] ?? '')
        )
      )
      .map(row => row.join('\t'))
      .join('\n')
  };
}

/** Splits a row at its bars, but not at an escaped one. */
function cellsOfRow(line: string): string[] {
  const rowInside = line
    .trim()
    .replace(/^\|/, '')
    .replace(/(?<!\\)\|$/, '');
  return rowInside.split(/(?<!\\)\|/).map(cell => cell.trim());
}

const NUMBER = /^[+-]?[\d., ]+(?:e[+-]?\d+)?%?$/i;

/** Returns a cell as plain text. A spreadsheet would run what looks like a formula, and the model wrote it. */
function cellText(cell: string): string {
  const plainCell = plainWords(
    cell.replace(/\\\|/g, '|').replace(/<br\s*\/?>/gi, ' ')
  ).replace(/\s+/g, ' ');
  const isFormula =
    /^[=@+-]./.test(plainCell) &&
    !(NUMBER.test(plainCell) && /\d/.test(plainCell));
  return isFormula ? `'${plainCell}` : plainCell;
}

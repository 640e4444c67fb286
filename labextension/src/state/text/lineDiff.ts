/** The difference between two texts, line by line, as a unified diff without file names. */

/** The number of unchanged lines around a change. */
const CONTEXT_LINES = 3;

/** The largest table of compared lines; beyond it, all lines between the first and the last change differ. */
const MAX_COMPARISONS = 1_000_000;

type Sign = ' ' | '-' | '+';

/** Returns the hunks of a unified diff; an empty text if both are the same. */
export function lineDiff(before: string, after: string): string {
  const lines = signedLines(before.split('\n'), after.split('\n'));
  const isInHunk = lines.map((_, index) =>
    lines
      .slice(Math.max(0, index - CONTEXT_LINES), index + CONTEXT_LINES + 1)
      .some(([sign]) => sign !== ' ')
  );
  const hunks: string[] = [];
  let nextLineNumbers: Record<'-' | '+', number> = { '-': 1, '+': 1 };
  let index = 0;
  while (index < lines.length) {
    let endIndex = index;
    while (endIndex < lines.length && isInHunk[endIndex] === isInHunk[index]) {
      endIndex += 1;
    }
    const hunk = lines.slice(index, endIndex);
    const hunkSize = {
      '-': hunk.filter(([sign]) => sign !== '+').length,
      '+': hunk.filter(([sign]) => sign !== '-').length
    };
    if (isInHunk[index] === true) {
      hunks.push(
        `@@ -${nextLineNumbers['-']},${hunkSize['-']} +${nextLineNumbers['+']},${hunkSize['+']} @@`,
        ...hunk.map(([sign, line]) => `${sign}${line}`)
      );
    }
    nextLineNumbers = {
      '-': nextLineNumbers['-'] + hunkSize['-'],
      '+': nextLineNumbers['+'] + hunkSize['+']
    };
    index = endIndex;
  }
  return hunks.join('\n');
}

/** Returns how many lines a text lost and got. */
export function lineCounts(
  before: string,
  after: string
): { additions: number; deletions: number } {
  const lines = signedLines(linesOf(before), linesOf(after));
  return {
    additions: lines.filter(([sign]) => sign === '+').length,
    deletions: lines.filter(([sign]) => sign === '-').length
  };
}

/** Returns the lines of a text; none of an empty one. */
function linesOf(text: string): string[] {
  return text === '' ? [] : text.split('\n');
}

/** Returns the lines of both texts in order, each with its sign: same, removed or added. */
function signedLines(
  before: readonly string[],
  after: readonly string[]
): [Sign, string][] {
  const minLength = Math.min(before.length, after.length);
  let headLength = 0;
  while (headLength < minLength && before[headLength] === after[headLength]) {
    headLength += 1;
  }
  let tailLength = 0;
  while (
    tailLength < minLength - headLength &&
    before.at(-1 - tailLength) === after.at(-1 - tailLength)
  ) {
    tailLength += 1;
  }
  const unchangedLine = (line: string): [Sign, string] => [' ', line];
  return [
    ...before.slice(0, headLength).map(unchangedLine),
    ...signedByCommonLines(
      before.slice(headLength, before.length - tailLength),
      after.slice(headLength, after.length - tailLength)
    ),
    ...before.slice(before.length - tailLength).map(unchangedLine)
  ];
}

/** Compares by the longest common subsequence of lines. */
function signedByCommonLines(
  before: readonly string[],
  after: readonly string[]
): [Sign, string][] {
  const columnCount = after.length + 1;
  if (before.length * after.length > MAX_COMPARISONS) {
    return [
      ...before.map((line): [Sign, string] => ['-', line]),
      ...after.map((line): [Sign, string] => ['+', line])
    ];
  }
  // The number of common lines from each pair of places on.
  const commonLengths = new Uint32Array((before.length + 1) * columnCount);
  const commonLengthAt = (row: number, column: number) =>
    commonLengths[row * columnCount + column] ?? 0;
  for (let row = before.length - 1; row >= 0; row -= 1) {
    for (let column = after.length - 1; column >= 0; column -= 1) {
      commonLengths[row * columnCount + column] =
        before[row] === after[column]
          ? commonLengthAt(row + 1, column + 1) + 1
          : Math.max(
              commonLengthAt(row + 1, column),
              commonLengthAt(row, column + 1)
            );
    }
  }
  const lines: [Sign, string][] = [];
  let row = 0;
  let column = 0;
  while (row < before.length || column < after.length) {
    const [lineBefore = '', lineAfter = ''] = [before[row], after[column]];
    if (
      row < before.length &&
      column < after.length &&
      lineBefore === lineAfter
    ) {
      lines.push([' ', lineBefore]);
      row += 1;
      column += 1;
    } else if (
      row < before.length &&
      (column >= after.length ||
        commonLengthAt(row + 1, column) >= commonLengthAt(row, column + 1))
    ) {
      lines.push(['-', lineBefore]);
      row += 1;
    } else {
      lines.push(['+', lineAfter]);
      column += 1;
    }
  }
  return lines;
}

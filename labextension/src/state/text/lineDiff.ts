/** The difference between two texts, line by line, as a unified diff without file names. */

/** The number of unchanged lines around a change. */
const CONTEXT_LINES = 3;

/** The largest table of compared lines; beyond it, all lines between the first and the last change differ. */
const MAX_COMPARISONS = 1_000_000;

type Sign = ' ' | '-' | '+';

/** Returns the hunks of a unified diff; an empty text if both are the same. */
export function lineDiff(before: string, now: string): string {
  const signed = signedLines(before.split('\n'), now.split('\n'));
  const isInHunk = signed.map((_, index) =>
    signed
      .slice(Math.max(0, index - CONTEXT_LINES), index + CONTEXT_LINES + 1)
      .some(([sign]) => sign !== ' ')
  );
  const hunks: string[] = [];
  let lineNumbers: Record<'-' | '+', number> = { '-': 1, '+': 1 };
  let index = 0;
  while (index < signed.length) {
    let end = index;
    while (end < signed.length && isInHunk[end] === isInHunk[index]) {
      end += 1;
    }
    const hunk = signed.slice(index, end);
    const size = {
      '-': hunk.filter(([sign]) => sign !== '+').length,
      '+': hunk.filter(([sign]) => sign !== '-').length
    };
    if (isInHunk[index] === true) {
      hunks.push(
        `@@ -${lineNumbers['-']},${size['-']} +${lineNumbers['+']},${size['+']} @@`,
        ...hunk.map(([sign, line]) => `${sign}${line}`)
      );
    }
    lineNumbers = {
      '-': lineNumbers['-'] + size['-'],
      '+': lineNumbers['+'] + size['+']
    };
    index = end;
  }
  return hunks.join('\n');
}

/** Returns how many lines a text lost and got. */
export function lineCounts(
  before: string,
  now: string
): { additions: number; deletions: number } {
  const signed = signedLines(linesOf(before), linesOf(now));
  return {
    additions: signed.filter(([sign]) => sign === '+').length,
    deletions: signed.filter(([sign]) => sign === '-').length
  };
}

/** An empty text has no line. */
function linesOf(text: string): string[] {
  return text === '' ? [] : text.split('\n');
}

/** Returns the lines of both texts in order, each with its sign: same, removed or added. */
function signedLines(
  before: readonly string[],
  now: readonly string[]
): [Sign, string][] {
  const shortest = Math.min(before.length, now.length);
  let head = 0;
  while (head < shortest && before[head] === now[head]) {
    head += 1;
  }
  let tail = 0;
  while (tail < shortest - head && before.at(-1 - tail) === now.at(-1 - tail)) {
    tail += 1;
  }
  const same = (line: string): [Sign, string] => [' ', line];
  return [
    ...before.slice(0, head).map(same),
    ...signedByCommonLines(
      before.slice(head, before.length - tail),
      now.slice(head, now.length - tail)
    ),
    ...before.slice(before.length - tail).map(same)
  ];
}

/** Compares by the longest common subsequence of lines. */
function signedByCommonLines(
  before: readonly string[],
  now: readonly string[]
): [Sign, string][] {
  const columns = now.length + 1;
  if (before.length * now.length > MAX_COMPARISONS) {
    return [
      ...before.map((line): [Sign, string] => ['-', line]),
      ...now.map((line): [Sign, string] => ['+', line])
    ];
  }
  // The number of common lines from each pair of places on.
  const common = new Uint32Array((before.length + 1) * columns);
  const at = (row: number, column: number) =>
    common[row * columns + column] ?? 0;
  for (let row = before.length - 1; row >= 0; row -= 1) {
    for (let column = now.length - 1; column >= 0; column -= 1) {
      common[row * columns + column] =
        before[row] === now[column]
          ? at(row + 1, column + 1) + 1
          : Math.max(at(row + 1, column), at(row, column + 1));
    }
  }
  const signed: [Sign, string][] = [];
  let row = 0;
  let column = 0;
  while (row < before.length || column < now.length) {
    const [old = '', fresh = ''] = [before[row], now[column]];
    if (row < before.length && column < now.length && old === fresh) {
      signed.push([' ', old]);
      row += 1;
      column += 1;
    } else if (
      row < before.length &&
      (column >= now.length || at(row + 1, column) >= at(row, column + 1))
    ) {
      signed.push(['-', old]);
      row += 1;
    } else {
      signed.push(['+', fresh]);
      column += 1;
    }
  }
  return signed;
}

/** Which lines of a turn are folded into a row of work, and what that row says. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Part } from '../../../src/protocol/generated';
import { messageLines, type Line } from '../../../src/state/lines/lines';
import { durationText } from '../../../src/state/text/numberFormat';
import { retryWords } from '../../../src/state/lines/retryRuns';
import { callSubject } from '../../../src/state/lines/toolCalls';
import { foldWork, thoughtSeconds } from '../../../src/state/display/workRows';
import { workText } from '../../../src/state/display/workWords';
import { assistant } from '../../builders';
import { HOST } from '../../plainHost';

interface ICase {
  name: string;
  parts: Part[];
  live: boolean;
  rows: string[];
}

const CASES = JSON.parse(
  readFileSync('../tests/fixtures/work_rows.json', 'utf8')
) as ICase[];

function told(line: Line): string {
  switch (line.kind) {
    case 'work':
      return `▸ ${workText(line, HOST.words)}`;
    case 'tool':
      return `${line.part.tool} ${callSubject(line.part)}`;
    case 'reasoning': {
      const spent = thoughtSeconds(line);
      return spent === null ? 'Thoughts' : `Thought for ${durationText(spent)}`;
    }
    case 'text':
      return line.part.text;
    case 'retry':
      return line.run === undefined
        ? line.part.error.message
        : retryWords(line.run, HOST.words);
    default:
      return line.kind;
  }
}

describe('the rows of a turn', () => {
  it.each(CASES.map(entry => [entry.name, entry] as const))(
    '%s',
    (_name, { live, parts, rows }) => {
      const all = messageLines([assistant(parts)]);

      expect(foldWork(all, live).map(told)).toEqual(rows);
    }
  );

  it.each(CASES.map(entry => [entry.name, entry] as const))(
    'lose nothing but lone steps and short thoughts: %s',
    (_name, { live, parts }) => {
      const all = messageLines([assistant(parts)]);
      const found = foldWork(all, live).flatMap(line =>
        line.kind === 'work' ? line.lines : [line]
      );

      const missing = all.filter(line => !found.includes(line));
      expect(new Set(found).size).toBe(found.length);
      expect(
        missing.filter(
          line => line.kind !== 'step' && (thoughtSeconds(line) ?? 9) >= 3
        )
      ).toEqual([]);
    }
  );
});

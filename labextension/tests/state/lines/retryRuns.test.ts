/**
 * How a retried request is told is the kernel's rule: both are tested on the same cases
 * (tests/transcript/test_retry_runs.py).
 */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { ErrorValue, Part } from '../../../src/protocol/generated';
import { retryLines, retryWords } from '../../../src/state/lines/retryRuns';
import { HOST } from '../../plainHost';

interface ICase {
  name: string;
  parts: Part[];
  error: ErrorValue | null;
  over: boolean;
  told: string[];
  attempts: number;
}

const CASES = JSON.parse(
  readFileSync('../tests/fixtures/retry_runs.json', 'utf8')
) as ICase[];

describe('a retried request', () => {
  it.each(CASES.map(entry => [entry.name, entry] as const))(
    '%s',
    (_name, { parts, error, over, told, attempts }) => {
      const found = retryLines(parts, error ?? undefined, over);

      const said = parts.flatMap(part => {
        if (part.type !== 'retry' || found.mergedIds.has(part.id)) {
          return [];
        }
        const run = found.runs.get(part.id);
        return run === undefined
          ? [part.error.message]
          : [retryWords(run, HOST.words)];
      });
      expect(said).toEqual(told);
      expect(found.errorAttempts).toBe(attempts);
    }
  );
});

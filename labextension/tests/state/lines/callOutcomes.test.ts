/**
 * How a call ended is told by the kernel's rule: both are tested on the same cases
 * (tests/transcript/test_call_outcomes.py).
 */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Reply, ToolPart } from '../../../src/protocol/generated';
import { callOutcome } from '../../../src/state/lines/callOutcomes';

interface ICase {
  name: string;
  part: ToolPart;
  reply: Reply | null;
  status: string;
  reason: string;
  by: string;
  why: string;
}

const CASES = JSON.parse(
  readFileSync('../tests/fixtures/call_outcomes.json', 'utf8')
) as ICase[];

describe('a call', () => {
  it.each(CASES.map(entry => [entry.name, entry] as const))(
    '%s',
    (_name, { part, reply, status, reason, by, why }) => {
      const found = callOutcome(part, reply);

      expect({
        status: found.status,
        reason: found.reason,
        by: found.refusal?.by ?? '',
        why: found.refusal?.feedback ?? ''
      }).toEqual({ status, reason, by, why });
    }
  );
});

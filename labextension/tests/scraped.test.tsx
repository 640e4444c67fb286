// @vitest-environment jsdom
/** A call whose output the model no longer sees whole says so, in its row and under its output. */
import { cleanup, fireEvent, render, screen } from '@testing-library/react';
import { afterEach, expect, it } from 'vitest';
import type { Decision } from '../src/protocol/generated';
import { HostProvider } from '../src/views/host';
import { Segment } from '../src/views/segment';
import * as build from './builders';
import { HOST } from './host';

afterEach(cleanup);

function draw(more: Partial<Decision>): void {
  const part = build.ran('read', { path: 'a.txt' }, 'line');
  const message = build.assistant([part]);
  const decision: Decision = {
    id: 'dec_1',
    action: 'clear',
    rule: 'prune/batch',
    message_id: part.message_id,
    part_id: part.id,
    numbers: {},
    tokens_before: 4000,
    tokens_after: 15,
    ...more
  };
  render(
    <HostProvider value={HOST}>
      <Segment
        segment={build.segment([message], { decisions: [decision] })}
        live={false}
      />
    </HostProvider>
  );
}

it.each([
  [{}, 'cleared', 'The model no longer sees this output (15 of 4,000'],
  [{ numbers: { used_tokens: 17_000 } }, 'cleared', 'had grown to 17,000'],
  [{ numbers: { reason: 'read-again' } }, 'cleared', 'read again later'],
  [{ numbers: { reason: 'changed' } }, 'cleared', 'was changed later'],
  [{ numbers: { cold: true } }, 'cleared', 'cache was cold'],
  [{ rule: 'prune/cache-ttl' }, 'cleared', 'cache was cold'],
  [
    { rule: 'prune/opencode', numbers: { protect_tokens: 40_000 } },
    'cleared',
    'Older than the newest 40,000 tokens'
  ],
  [
    {
      action: 'truncate' as const,
      rule: 'truncate',
      numbers: { max_lines: 2_000, max_bytes: 50_000 }
    },
    'shortened',
    'longer than 2,000 lines or 50,000 bytes'
  ],
  [
    { action: 'truncate' as const, rule: 'recover/oversized' },
    'shortened',
    'did not fit otherwise'
  ],
  [{ rule: 'somebody/else' }, 'cleared', 'by the rule somebody/else'],
  [{ numbers: { used_tokens: 'many' } }, 'cleared', 'The whole text is kept.']
])('%j', (decision, inRow, below) => {
  draw(decision);

  expect(screen.getByText(inRow)).toBeTruthy();
  fireEvent.click(screen.getByRole('button', { name: /read/ }));
  expect(screen.getByText(text => text.includes(below))).toBeTruthy();
});

it('says nothing of what was restored', () => {
  draw({ action: 'restore', rule: 'user/restore' });

  expect(screen.queryByText('cleared')).toBeNull();
});

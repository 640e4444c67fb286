// @vitest-environment jsdom
/** A call whose output is reduced for the model shows this in its row and under its output. */
import { fireEvent, render, screen } from '@testing-library/react';
import { expect, it } from 'vitest';
import type { Decision } from '../../../src/protocol/generated';
import { HostProvider } from '../../../src/views/host';
import { SegmentView } from '../../../src/views/segment/segmentView';
import * as build from '../../builders';
import { HOST } from '../../plainHost';

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
      <SegmentView
        segment={build.segment([message], { decisions: [decision] })}
        isLive={false}
      />
    </HostProvider>
  );
}

it.each([
  [{}, 'cleared'],
  [{ action: 'truncate' as const, rule: 'truncate' }, 'shortened']
])('%j says so in the words that came with it', (decision, inRow) => {
  draw({ ...decision, words: 'Cleared for the model. It was old.' });

  expect(screen.getByText(inRow)).toBeTruthy();
  fireEvent.click(screen.getByRole('button', { name: /read/ }));
  expect(screen.getByText('Cleared for the model. It was old.')).toBeTruthy();
});

it.each([
  [{}, 'Cleared for the model: 4,000 → 15 tokens, by rule prune/batch;'],
  [
    { action: 'truncate' as const, rule: 'recover/oversized' },
    'Truncated for the model: 4,000 → 15 tokens, by rule recover/oversized;'
  ],
  [
    { rule: 'somebody/else', numbers: { used_tokens: 'many' } },
    'by rule somebody/else; the whole text is kept'
  ]
])('%j of an old notebook says what was done', (decision, below) => {
  draw(decision);

  fireEvent.click(screen.getByRole('button', { name: /read/ }));
  expect(screen.getByText(text => text.includes(below))).toBeTruthy();
});

it('says nothing of what was restored', () => {
  draw({ action: 'restore', rule: 'user/restore' });

  expect(screen.queryByText('cleared')).toBeNull();
});

// @vitest-environment jsdom
/** The row of a call: how it ended and why, outside the fold; refused and stopped ones are no failures. */
import { cleanup, fireEvent, render, screen } from '@testing-library/react';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Reply, ToolPart } from '../../../src/protocol/generated';
import { HostProvider } from '../../../src/views/host';
import { ToolCall } from '../../../src/views/parts/toolCall';
import * as build from '../../builders';
import { HOST } from '../../plainHost';

function draw(part: ToolPart, reply?: Reply) {
  const { container } = render(
    <HostProvider value={HOST}>
      <ToolCall part={part} reply={reply} isOver={true} isNewest={true} />
    </HostProvider>
  );
  const row = screen.getAllByRole('button')[0] as HTMLElement;
  const sign = container.querySelector<HTMLElement>('.plm-StatusIcon');
  return {
    row,
    sign: sign?.dataset.state,
    reason: container.querySelector('.plm-Tool-reason')?.textContent ?? '',
    open: row.getAttribute('aria-expanded') === 'true',
    container
  };
}

const TRACEBACK =
  '[stdout]\nstarting\n\n[error]\nTraceback (most recent call last):\n  File "x", line 1\nZeroDivisionError: division by zero';
const DIFF = '--- a/a.csv\n+++ b/a.csv\n@@ -1 +1 @@\n-old\n+new';

function returned(output: string, metadata: Record<string, unknown>) {
  const part = build.ran('python', { code: '1 / 0' }, output);
  return { ...part, state: { ...part.state, metadata } } as ToolPart;
}

function erred(error: string, metadata: Record<string, unknown> = {}) {
  return build.tool('write', {
    status: 'error',
    input: { path: 'a.csv', content: 'new' },
    error,
    metadata,
    time: { start: 0, end: 10 }
  });
}

describe('a call', () => {
  it('that the provider ran itself says so in its row', () => {
    const ours = build.ran('web_search', { query: 'penguins' }, '1. Penguins');
    const theirs = { ...ours, metadata: { provider_executed: true } };

    expect(draw(ours).row.textContent).not.toContain('ran at the provider');
    cleanup();
    expect(draw(theirs).row.textContent).toContain('ran at the provider');
  });

  it('that returned and failed has the sign of a failure, and its last line in the row', () => {
    const { row, sign, reason, open } = draw(
      returned(TRACEBACK, { failed: true })
    );

    expect([sign, reason, open]).toEqual([
      'error',
      'ZeroDivisionError: division by zero',
      false
    ]);
    expect(row.textContent).toContain('failed');
    expect(row.textContent).not.toContain('done');
  });

  it('that was refused is not red, and keeps the change it asked for', () => {
    const { container, open, reason, row, sign } = draw(
      erred('The user rejected this call with this feedback: use b.csv', {
        refused_by: 'person',
        refused_why: 'use b.csv',
        diff: DIFF
      })
    );
    expect([sign, reason, open]).toEqual([
      'refused',
      'refused: use b.csv',
      false
    ]);

    fireEvent.click(row);

    expect(screen.getByRole('group', { name: 'Input' }).textContent).toBe(DIFF);
    expect(container.querySelector('.plm-Tool-error')).toBeNull();
  });

  it.each([
    ['person', '', 'refused'],
    ['headless', '', 'refused: nobody was there to ask'],
    ['rule', "edit '*.env': deny", "refused by a rule: edit '*.env': deny"],
    ['engine', 'the model repeats itself', 'refused: the model repeats itself'],
    ['lint', 'not formatted', 'refused by lint: not formatted']
  ])('says who refused it: %s', (by, why, words) => {
    const { reason, sign } = draw(
      erred('No.', { refused_by: by, refused_why: why })
    );

    expect([sign, reason]).toEqual(['refused', words]);
  });

  it('that an older kernel refused is known by its answer', () => {
    const { reason, sign } = draw(erred('The user rejected this call.'), {
      answer: 'reject',
      by: 'person',
      feedback: 'not there'
    });

    expect([sign, reason]).toEqual(['refused', 'refused: not there']);
  });

  it('that was stopped is not red, and says why only where that says more', () => {
    const aborted = draw(
      erred('Tool execution aborted', { interrupted: true })
    );
    expect([aborted.sign, aborted.reason, aborted.open]).toEqual([
      'stopped',
      '',
      false
    ]);
    cleanup();

    const timed = draw(
      erred('The time limit of 3 s was reached.', { interrupted: true })
    );
    expect([timed.sign, timed.reason]).toEqual([
      'stopped',
      'The time limit of 3 s was reached.'
    ]);
  });

  it('that failed with words that reorder others shows the marks of these', () => {
    const { reason } = draw(erred('no file \u202etxt.exe'));

    expect(reason).toBe('no file ⟨U+202E⟩txt.exe');
  });

  it('of whatever end is drawn by the one rule', () => {
    const cases = JSON.parse(
      readFileSync('../tests/fixtures/call_outcomes.json', 'utf8')
    ) as { part: ToolPart; status: string; reply: Reply | null }[];
    for (const { part, reply, status } of cases) {
      // A call that still seems to run when the turn is over was stopped.
      const over = ['pending', 'running'].includes(status) ? 'stopped' : status;
      const { open, sign } = draw(part, reply ?? undefined);

      expect([sign, open]).toEqual([over, false]);
      cleanup();
    }
  });
});

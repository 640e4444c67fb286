// @vitest-environment jsdom
/** A saved segment as a user sees it. */
import { fireEvent, render, screen } from '@testing-library/react';
import { afterEach, describe, expect, it } from 'vitest';
import type { Ask } from '../../../src/protocol/generated';
import { readSegment, type ISegment } from '../../../src/protocol/segment';
import { densityChoice } from '../../../src/state/display/density';
import { HostProvider } from '../../../src/views/host';
import { SegmentView } from '../../../src/views/segment/segmentView';
import * as build from '../../builders';
import { HOST } from '../../plainHost';

afterEach(() => {
  densityChoice.setPage('quiet');
});

function draw(segment: ISegment) {
  return render(
    <HostProvider value={HOST}>
      <SegmentView segment={segment} />
    </HostProvider>
  );
}

const DESCRIBE = build.ran('python', { code: 'df.describe()' }, 'mean 43.9');

describe('a segment', () => {
  it('shows the text and folds the reasoning behind a button', () => {
    draw(
      build.segment([
        build.assistant([
          build.thought('carefully', 3200),
          build.text('Hello.')
        ])
      ])
    );
    const button = screen.getByRole('button', { name: 'Thought for 3.2 s' });

    expect(screen.queryByText('carefully')).toBeNull();
    expect(screen.getByText('Hello.')).toBeDefined();

    fireEvent.click(button);

    expect(button.getAttribute('aria-expanded')).toBe('true');
    expect(screen.getByText('carefully')).toBeDefined();
  });

  it('shows a call as one row that opens to its input and output', () => {
    draw(build.segment([build.assistant([DESCRIBE])]));
    const row = screen.getByRole('button', {
      name: 'done python df.describe()'
    });

    fireEvent.click(row);

    expect(screen.getByText('0.2 s')).toBeDefined();
    expect(screen.getByRole('group', { name: 'Input' }).textContent).toBe(
      'df.describe()'
    );
    expect(screen.getByRole('group', { name: 'Output' }).textContent).toBe(
      'mean 43.9'
    );
  });

  it('says why a call failed, outside the fold', () => {
    const failed = build.tool('read', {
      status: 'error',
      input: { path: 'no.csv' },
      error: 'There is no file no.csv.',
      metadata: {},
      time: { start: 0, end: 10 }
    });

    draw(build.segment([build.assistant([failed])]));

    expect(screen.getByText('There is no file no.csv.')).toBeDefined();
    const row = screen.getByRole('button');
    expect(row.textContent).toContain('failed');
    expect(row.getAttribute('aria-expanded')).toBe('false');
  });

  it('says of a call that nobody runs any more that it was stopped', () => {
    const running = build.tool('bash', {
      status: 'running',
      input: { command: 'sleep 9' },
      metadata: {},
      time: { start: 0 }
    });

    draw(build.segment([build.assistant([running])]));

    expect(screen.getByRole('button').textContent).toContain('stopped');
  });

  it('holds the question in the card of its call', () => {
    const waiting = build.tool('write', {
      status: 'running',
      input: { path: 'a.csv' },
      metadata: {},
      time: { start: 0 }
    });
    const ask: Ask = {
      id: 'per_1',
      permission: 'write',
      patterns: ['a.csv'],
      always: [],
      title: 'Write a.csv?',
      input: { path: 'a.csv' },
      call_id: waiting.call_id
    };

    draw(
      build.segment([build.assistant([waiting])], { open: true, asks: [ask] })
    );

    expect(screen.getByRole('group', { name: 'Write a.csv?' })).toBeDefined();
    expect(screen.getByRole('button').textContent).toContain('waiting for you');
  });

  it('says in an opened call what a person answered', () => {
    const reply = { answer: 'once' as const, by: 'person' };

    draw(
      build.segment([build.assistant([DESCRIBE])], {
        replies: { [DESCRIBE.call_id]: reply }
      })
    );

    fireEvent.click(screen.getByRole('button'));

    expect(screen.getByText('0.2 s · allowed once')).toBeDefined();
  });

  it('says what the model no longer sees of an output', () => {
    const decision = {
      id: 'dec_1',
      action: 'truncate' as const,
      rule: 'truncate',
      part_id: DESCRIBE.id,
      numbers: {},
      tokens_before: 18_000,
      tokens_after: 12_500
    };

    draw(
      build.segment([build.assistant([DESCRIBE])], { decisions: [decision] })
    );
    fireEvent.click(screen.getByRole('button'));

    expect(screen.getByText(/18,000 → 12,500 tokens/)).toBeDefined();
  });

  it('says what an open segment waits for', () => {
    draw(build.segment([], { open: true, status: '*waits for the model*' }));

    expect(screen.getByText('*waits for the model*')).toBeDefined();
  });

  it('draws a saved call that lacks what was left out', () => {
    const state = { ...DESCRIBE.state, attachments: undefined } as never;
    const saved = { ...DESCRIBE, state };

    draw(build.segment([build.assistant([saved])]));

    expect(screen.getByRole('button')).toBeDefined();
  });

  it('gives the numbers of a turn, the fill of the window, and each step when asked', () => {
    draw(
      build.segment([
        build.assistant([
          build.step({
            tokens: {
              ...build.USAGE,
              input: 1460,
              cache_read: 11_020,
              output: 300,
              reasoning: 11
            },
            cost: 0.012,
            seconds: 4.1,
            context_tokens: 46_000,
            window: 200_000
          })
        ])
      ])
    );

    const steps = screen.getByRole('button', { name: '1 step' });
    expect(steps.parentElement?.textContent).toBe(
      '1 step · 12.5k in (11k cached) · $0.012 · 4.1 s'
    );
    expect(screen.getByRole('meter').getAttribute('aria-valuetext')).toBe(
      '46k of 200k tokens'
    );
    const numbers =
      'step 1 · 12,480 in (11,020 cached) · 311 out · $0.012 · 4.1 s';
    expect(screen.queryByText(numbers)).toBeNull();

    fireEvent.click(steps);

    expect(screen.getByText(numbers)).toBeDefined();
    expect(steps.getAttribute('aria-pressed')).toBe('true');
  });

  it('sums the steps of a turn, and says what it does not know', () => {
    const value = build.step({ cost: 0.01, seconds: 1, waited_seconds: 21 });
    draw(
      build.segment([
        build.assistant([value, build.step({ seconds: 2.4 })]),
        build.assistant([build.text('Done.'), build.step({ seconds: 1 })])
      ])
    );

    expect(
      screen.getByRole('button', { name: '3 steps' }).parentElement?.textContent
    ).toBe('3 steps · 0 in · cost unknown · 4.4 s · you took 21.0 s');
  });

  it('gives the tokens of a step alone where the model has no limit', () => {
    draw(
      build.segment([
        build.assistant([build.step({ context_tokens: 46_000, window: 0 })])
      ])
    );

    expect(screen.getByText('46k tokens')).toBeDefined();
    expect(screen.queryByRole('meter')).toBeNull();
  });

  it('calls a cost that nobody knows unknown', () => {
    draw(build.segment([build.assistant([build.step()])]));

    expect(screen.getByText(/cost unknown/)).toBeDefined();
  });

  it('draws words of a model and a tool as words', () => {
    const evil = '<img src=x onerror=alert(1)>';

    const { container } = draw(
      build.segment([
        build.assistant([
          build.ran('python', { code: evil }, evil),
          build.text(evil)
        ])
      ])
    );

    expect(container.querySelector('img')).toBeNull();
  });
});

describe('reading a segment', () => {
  it.each([null, 3, 'x', {}, { version: '1' }])('takes %j for none', data => {
    expect(readSegment(data)).toBeNull();
  });

  it('leaves out messages that are none', () => {
    const saved = { version: 1, messages: [null, {}, build.assistant([])] };

    expect(readSegment(saved)?.messages).toHaveLength(1);
  });

  it('tells the time of a person apart from that of a call and a step', () => {
    const call = build.ran('python', { code: 'df.isna().sum()' }, '3', 72_400);
    if (call.state.status === 'completed') {
      call.state.metadata = { waited_ms: 72_000 };
    }
    const step = build.step({ seconds: 1.4, waited_seconds: 72 });
    draw(build.segment([build.assistant([call, step])]));

    fireEvent.click(
      screen.getByRole('button', { name: 'done python df.isna().sum()' })
    );
    expect(screen.getByText('0.4 s')).toBeDefined();
    expect(screen.getByText(/1.4 s/).parentElement?.textContent).toContain(
      '1.4 s · you took 1 min 12 s'
    );
    fireEvent.click(screen.getByRole('button', { name: '1 step' }));
    expect(screen.getByText(/step 1/).textContent).toContain(
      '1.4\u00a0s\u00a0· 1\u00a0min\u00a012\u00a0s\u00a0for\u00a0your\u00a0answers'
    );
  });

  it('says once that it was stopped', () => {
    const call = build.tool('python', {
      status: 'error',
      input: { code: 'sleep()' },
      error: 'Stopped.',
      metadata: { interrupted: true, output: '12 of 90' },
      time: { start: 0, end: 1 }
    });
    const error = { type: 'aborted' as const, message: 'Stopped.' };
    draw(build.segment([build.assistant([call], { error })]));
    fireEvent.click(screen.getByRole('button', { name: /^stopped python/ }));

    expect(screen.getAllByText(/^Stopped/)).toHaveLength(1);
    expect(screen.getByText('12 of 90')).toBeDefined();
  });

  it('gives words the direction of their script', () => {
    draw(build.segment([build.assistant([build.text('שלום עולם')])]));

    expect(
      screen.getByText('שלום עולם').closest('[dir]')?.getAttribute('dir')
    ).toBe('auto');
  });
});

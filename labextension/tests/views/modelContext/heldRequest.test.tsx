// @vitest-environment jsdom
/** A held request says what would be sent and at what cost, and is let go, stopped or changed once. */
import {
  act,
  cleanup,
  fireEvent,
  render,
  screen
} from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type {
  Decision,
  ProposedRequest
} from '../../../src/protocol/generated';
import { ContextEditorProvider } from '../../../src/views/actions/contextEdits';
import { HeldRequestActionsProvider } from '../../../src/views/actions/heldRequests';
import { TurnActionsProvider } from '../../../src/views/actions/turn';
import { HostProvider } from '../../../src/views/host';
import { HeldRequest } from '../../../src/views/modelContext/heldRequest';
import { contextEdits, heldRequests, turn } from '../../panelActions';
import { HOST } from '../../plainHost';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const PIECE = { remark: '', role: '', text: '', chars: 0, is_error: false };

const HELD: ProposedRequest = {
  id: 'hold_1',
  session_id: 'ses_1',
  version: 1,
  number: 12,
  purpose: 'step',
  agent: 'build',
  subagent: false,
  model: 'test/model',
  policy: 'palimpsest',
  now: 1_000,
  tokens: 43_210,
  tokens_before: 42_000,
  window: 100_000,
  budget: 96_000,
  fits: true,
  summary_first: false,
  last: false,
  hooked: false,
  beside: false,
  sha256: '',
  policy_problem: '',
  again: false,
  prunes_after: false,
  limit_usd: 2,
  limit_tokens: 500_000,
  kinds: {},
  items: [
    {
      ...PIECE,
      kind: 'user',
      name: 'prompt',
      words: '<b>old</b>',
      tokens: 300,
      part_id: 'prt_1',
      state: 'whole',
      pinned: false,
      new: false
    },
    {
      ...PIECE,
      kind: 'output',
      name: 'read',
      words: '',
      tokens: 910,
      part_id: 'prt_2',
      state: 'truncated',
      pinned: true,
      new: true
    }
  ],
  items_left_out: 0,
  new_tokens: 910,
  decisions: [
    {
      id: 'dec_1',
      action: 'clear',
      rule: 'prune/batch',
      numbers: {},
      tokens_before: 900,
      tokens_after: 10,
      words: 'Cleared for the model: 900 → 10 tokens.'
    }
  ],
  cache: { tokens: 38_000, cools_at: 193_000, cold_at: 193_000 },
  cost: 0.12,
  cost_cold: 0.5,
  numbers: [
    { name: 'prune.protect_tokens', value: 40_000, meaning: 'Tokens that stay' }
  ]
};

const NEW: Decision = {
  id: 'dec_2',
  action: 'summarise',
  rule: 'compact',
  message_id: 'msg_9',
  numbers: {
    retention: { paths: { found: 3, lost: 1, names: ['<b>a</b>.csv'] } }
  },
  tokens_before: 900,
  tokens_after: 90,
  words: 'Keeps 2 of 3 paths; not kept: <b>a</b>.csv.'
};

function draw(change: Partial<ProposedRequest> = {}, readOnly = false) {
  const actions = {
    held: heldRequests(),
    turn: turn(),
    edits: contextEdits()
  };
  render(
    <HostProvider value={HOST}>
      <TurnActionsProvider value={actions.turn}>
        <ContextEditorProvider value={actions.edits}>
          <HeldRequestActionsProvider value={readOnly ? null : actions.held}>
            <HeldRequest request={{ ...HELD, ...change }} />
          </HeldRequestActionsProvider>
        </ContextEditorProvider>
      </TurnActionsProvider>
    </HostProvider>
  );
  return actions;
}

describe('a held request', () => {
  it('says its number, size, cost, and when the cache cools', () => {
    draw();
    const card = screen.getByRole('group');

    expect(card.textContent).toContain('Request 12 is held: 43,210 tokens');
    expect(card.textContent).toContain(
      '$0.120: 38,000 tokens read from cache, which cools in 3:12 ($0.500 without it)'
    );
    expect(card.textContent).toContain(
      '1,210 tokens more than the request before'
    );
    expect(card.textContent).toContain('Cleared for the model: 900 → 10');
    expect(card.getAttribute('aria-labelledby')).not.toBeNull();
  });

  it('grades a new summary that it would use, and keeps the older context', () => {
    const { edits } = draw({
      new_summary: NEW
    });
    const summary = screen.getByRole('group', { name: 'The new summary' });

    expect(summary.textContent).toContain('not kept: <b>a</b>.csv.');
    fireEvent.click(
      screen.getByRole('button', { name: 'What it does not keep: 1 names' })
    );
    expect(screen.getByText('paths: 1 of 3 not kept')).toBeTruthy();
    fireEvent.click(
      screen.getByRole('button', { name: 'Keep the older context instead' })
    );

    expect(edits.edit).toHaveBeenCalledWith('restore', 'msg_9', 'hold_1');
  });

  it('asks for another summary once, and again after an error', async () => {
    const { held } = draw({ new_summary: NEW });
    held.askForAnotherSummary.mockResolvedValueOnce('It is held no longer.');
    const ask = screen.getByRole('button', { name: 'Ask for another summary' });
    fireEvent.click(ask);
    fireEvent.click(ask);
    await act(async () => {
      await Promise.resolve();
    });
    expect(screen.getByRole('alert').textContent).toBe('It is held no longer.');
    fireEvent.click(ask);
    await act(async () => {
      await Promise.resolve();
    });
    fireEvent.click(ask);

    expect(held.askForAnotherSummary.mock.calls).toEqual([
      ['hold_1'],
      ['hold_1']
    ]);
    expect(screen.queryByRole('alert')).toBeNull();
  });

  it('uses the summary that was put aside', async () => {
    const { held } = draw({ older_summary: NEW });
    held.useOlderSummary.mockResolvedValueOnce('It is held no longer.');
    const use = screen.getByRole('button', { name: 'Use this summary' });
    fireEvent.click(use);
    await act(async () => {
      await Promise.resolve();
    });

    expect(held.useOlderSummary).toHaveBeenCalledExactlyOnceWith('hold_1');
    expect(screen.getByRole('alert').textContent).toBe('It is held no longer.');
    expect(screen.getByText(/You put a summary aside\./)).toBeTruthy();
  });

  it('grades the summary that was put aside beside the new one, and alone while the other is requested', () => {
    const older = { ...NEW, id: 'dec_3', words: 'Keeps 1 of 3 paths.' };
    draw({ new_summary: NEW, older_summary: older });
    const [first, second] = screen.getAllByRole('group', { name: /summary/ });
    expect(first?.textContent).toContain('Keeps 2 of 3 paths');
    expect(second?.textContent).toContain('Keeps 1 of 3 paths');
    cleanup();
    draw({ purpose: 'compaction', older_summary: older });

    expect(
      screen.getByRole('group', { name: 'The summary that was put aside' })
    ).toBeDefined();
    expect(
      screen.queryByRole('button', { name: 'Ask for another summary' })
    ).toBeNull();
  });

  it('changes the numbers and the limit of a subagent, as it does its own', () => {
    const { held, edits } = draw({ subagent: true, agent: 'explore' });
    const field = screen.getByLabelText('prune.protect_tokens');
    fireEvent.change(field, { target: { value: '20000' } });
    fireEvent.submit(field);
    const limit = screen.getByLabelText('spending limit in USD');
    fireEvent.change(limit, { target: { value: '3' } });
    fireEvent.submit(limit);
    fireEvent.click(screen.getByRole('button', { name: 'New in it: 1' }));
    fireEvent.click(screen.getByRole('button', { name: 'Exclude read' }));

    expect(held.changeNumber.mock.calls).toEqual([
      ['hold_1', 'prune.protect_tokens', 20_000]
    ]);
    expect(held.changeLimit.mock.calls).toEqual([[3, 500_000]]);
    expect(edits.edit.mock.calls).toEqual([['exclude', 'prt_2', 'hold_1']]);
  });

  it('counts down, and says when the cache is cold', () => {
    draw();
    act(() => {
      vi.advanceTimersByTime(10_000);
    });
    expect(screen.getByText('3:02')).toBeDefined();
    act(() => {
      vi.advanceTimersByTime(190_000);
    });

    expect(screen.getByText('$0.500: the cache is cold by now')).toBeDefined();
  });

  it('says a span where the provider promises none, and that it may be cold within it', () => {
    draw({ cache: { tokens: 38_000, cools_at: 61_000, cold_at: 181_000 } });
    const card = screen.getByRole('group');
    expect(card.textContent).toContain('which cools in 1:00 to 3:00');
    act(() => {
      vi.advanceTimersByTime(90_000);
    });
    expect(card.textContent).toContain('which may be cold, and is in 1:30');
    act(() => {
      vi.advanceTimersByTime(90_000);
    });
    expect(card.textContent).toContain('the cache is cold by now');
  });

  it('says no number where the lifetime of the cache is not known', () => {
    draw({ cache: { tokens: 38_000 } });

    expect(screen.getByRole('group').textContent).toContain(
      '$0.120: 38,000 tokens read from cache, whose lifetime is not known ($0.500 without it)'
    );
  });

  it('changes the spending limit, keeps that of tokens, and takes it off', async () => {
    const { held } = draw();
    const field = screen.getByLabelText('spending limit in USD');
    expect((field as HTMLInputElement).value).toBe('2');
    fireEvent.change(field, { target: { value: 'much' } });
    fireEvent.submit(field);
    await act(async () => {
      await Promise.resolve();
    });
    expect(screen.getByRole('alert').textContent).toBe(
      'Write an amount such as 2.50, or nothing.'
    );
    fireEvent.change(field, { target: { value: '3.5' } });
    fireEvent.submit(field);
    fireEvent.change(field, { target: { value: '' } });
    fireEvent.submit(field);

    expect(held.changeLimit.mock.calls).toEqual([
      [3.5, 500_000],
      [undefined, 500_000]
    ]);
  });

  it('says why the own policy would decide nothing, and what is decided when', () => {
    draw({
      policy_problem: 'Your policy mine would decide nothing.',
      prunes_after: true,
      again: true
    });

    expect(
      screen.getByText('Your policy mine would decide nothing.')
    ).toBeDefined();
    expect(screen.getByText(/prunes when the turn has ended/)).toBeDefined();
    expect(screen.getByText(/results are cut first/)).toBeDefined();
  });

  it('is let go by its button, and only once', () => {
    const { held } = draw();
    fireEvent.click(screen.getByRole('button', { name: 'Send' }));
    fireEvent.click(screen.getByRole('button', { name: 'Send' }));

    expect(held.release.mock.calls).toEqual([['hold_1']]);
  });

  it('is stopped by its key, which is a digit in a field', () => {
    const { held, turn: stopping } = draw();
    fireEvent.keyDown(screen.getByLabelText('spending limit in USD'), {
      key: '1'
    });
    fireEvent.keyDown(screen.getByRole('button', { name: 'Send' }), {
      key: '3'
    });

    expect(held.release).not.toHaveBeenCalled();
    expect(stopping.stop).toHaveBeenCalledOnce();
  });

  it('changes a number, and says what is wrong with one', async () => {
    const { held } = draw();
    held.changeNumber.mockResolvedValue('It is at least 0.');
    const field = screen.getByLabelText('prune.protect_tokens');
    fireEvent.change(field, { target: { value: '-1' } });
    fireEvent.submit(field);
    await act(async () => {
      await Promise.resolve();
    });

    expect(held.changeNumber.mock.calls).toEqual([
      ['hold_1', 'prune.protect_tokens', -1]
    ]);
    expect(screen.getByRole('alert').textContent).toBe('It is at least 0.');

    // What is no number is asked of nobody; the value that holds, or none, is nothing wrong.
    fireEvent.change(field, { target: { value: 'many' } });
    fireEvent.submit(field);
    await act(async () => {
      await Promise.resolve();
    });
    expect(screen.getByRole('alert').textContent).toBe(
      'Write a number such as 40000.'
    );
    fireEvent.change(field, { target: { value: '' } });
    fireEvent.submit(field);
    expect(screen.queryByRole('alert')).toBeNull();
    expect((field as HTMLInputElement).value).toBe('40000');
    expect(held.changeNumber).toHaveBeenCalledOnce();
  });

  it('lists what is new, as text, with the edits of each part', () => {
    const { edits } = draw();
    fireEvent.click(screen.getByRole('button', { name: 'All it holds: 2' }));
    expect(screen.getByText('prompt <b>old</b>')).toBeDefined();
    fireEvent.click(
      screen.getByRole('button', { name: 'Pin prompt <b>old</b>' })
    );
    fireEvent.click(screen.getByRole('button', { name: 'Unpin read' }));

    expect(edits.edit.mock.calls).toEqual([
      ['pin', 'prt_1', 'hold_1'],
      ['unpin', 'prt_2', 'hold_1']
    ]);
  });

  it('says that a summary comes first, and that a request does not fit', () => {
    draw({ fits: false });
    expect(
      screen.getByText(/96,000 tokens do, so it is not sent/)
    ).toBeDefined();
    cleanup();
    draw({ fits: false, summary_first: true });

    expect(screen.getByText(/A summary is requested first/)).toBeDefined();
  });

  it('has no buttons in a read-only view', () => {
    draw({}, true);

    expect(screen.queryByRole('button', { name: 'Send' })).toBeNull();
    expect(screen.getByText(/where the cell runs/)).toBeDefined();
  });

  it('ends step mode, and lets all that follow go', () => {
    const { held } = draw();
    fireEvent.click(
      screen.getByRole('button', { name: 'Send this and all that follow' })
    );

    expect(held.setStepMode.mock.calls).toEqual([[false]]);
  });
});

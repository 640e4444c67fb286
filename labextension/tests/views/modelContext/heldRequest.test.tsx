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
import type { ProposedRequest } from '../../../src/protocol/generated';
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
  cleanup();
  vi.useRealTimers();
});

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
  kinds: {},
  items: [
    {
      kind: 'user',
      label: '<b>old</b>',
      tokens: 300,
      part_id: 'prt_1',
      state: 'whole',
      pinned: false,
      new: false
    },
    {
      kind: 'output',
      label: 'read',
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
  cache: { tokens: 38_000, cools_at: 193_000, lifetime_seconds: 300 },
  cost: 0.12,
  cost_cold: 0.5,
  numbers: [
    { name: 'prune.protect_tokens', value: 40_000, meaning: 'Tokens that stay' }
  ]
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
            <HeldRequest held={{ ...HELD, ...change }} />
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
      '$0.120: 38,000 tokens from the cache, which cools in 3:12 (then $0.500)'
    );
    expect(card.textContent).toContain(
      '1,210 tokens more than the request before'
    );
    expect(card.textContent).toContain('Cleared for the model: 900 → 10');
    expect(card.getAttribute('aria-labelledby')).not.toBeNull();
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

  it('is let go by its button, and only once', () => {
    const { held } = draw();
    fireEvent.click(screen.getByRole('button', { name: 'Send' }));
    fireEvent.click(screen.getByRole('button', { name: 'Send' }));

    expect(held.release.mock.calls).toEqual([['hold_1']]);
  });

  it('is stopped by its key, which is a digit in a field', () => {
    const { held, turn: stopping } = draw();
    fireEvent.keyDown(screen.getByRole('textbox'), { key: '1' });
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
      ['prune.protect_tokens', -1]
    ]);
    expect(screen.getByRole('alert').textContent).toBe('It is at least 0.');
  });

  it('lists what is new, as text, with the edits of each part', () => {
    const { edits } = draw();
    fireEvent.click(screen.getByRole('button', { name: 'All it holds: 2' }));
    expect(screen.getByText('<b>old</b>')).toBeDefined();
    fireEvent.click(screen.getByRole('button', { name: 'Pin <b>old</b>' }));
    fireEvent.click(screen.getByRole('button', { name: 'Unpin read' }));

    expect(edits.edit.mock.calls).toEqual([
      ['pin', 'prt_1'],
      ['unpin', 'prt_2']
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

// @vitest-environment jsdom
/** Context edits of a part are shown and changed beside the part. */
import { fireEvent, render, screen } from '@testing-library/react';
import { describe, expect, it, vi } from 'vitest';
import type { Decision } from '../../../src/protocol/generated';
import {
  decisionsAbout,
  isSummaryUndone,
  effectiveDecisions
} from '../../../src/state/session/contextEdits';
import { HostProvider } from '../../../src/views/host';
import { SegmentView } from '../../../src/views/segment/segmentView';
import {
  ContextEditorProvider,
  type IContextEditor
} from '../../../src/views/actions/contextEdits';
import * as build from '../../builders';
import { HOST } from '../../plainHost';

let made = 0;

function decided(more: Partial<Decision>): Decision {
  made += 1;
  return {
    id: `dec_${made}`,
    action: 'keep',
    rule: '',
    numbers: {},
    tokens_before: 10,
    tokens_after: 0,
    ...more
  };
}

const PART = { id: 'prt_a', message_id: 'msg_1' };
const of = { part_id: 'prt_a', message_id: 'msg_1' };
const PIN = decided({ action: 'pin', rule: 'user/pin', ...of });
const DROP = decided({ action: 'drop', rule: 'user/exclude', ...of });
const CLEAR = decided({ action: 'clear', rule: 'prune/batch', ...of });
const restored = (rule: string) => decided({ action: 'restore', rule, ...of });

describe('what holds for a part', () => {
  it.each([
    [[], null, false],
    [[PIN], 'pin', false],
    [[DROP], 'drop', false],
    [[PIN, DROP], 'drop', false],
    [[DROP, PIN], 'pin', false],
    [[DROP, restored('user/restore')], null, false],
    [[PIN, restored('user/unpin')], null, false],
    [[CLEAR], null, true],
    [[CLEAR, PIN], 'pin', false],
    [[CLEAR, PIN, restored('user/unpin')], null, true],
    [[CLEAR, restored('user/restore')], null, false],
    [[PIN, CLEAR, restored('user/restore')], 'pin', false]
  ])('after %j', (decisions, wish, cleared) => {
    const found = effectiveDecisions(decisions);

    expect(found.edit).toBe(wish);
    expect(found.reduction?.action === 'clear').toBe(cleared);
  });

  it('is no wish where a rule left it out', () => {
    const aside = decided({ ...DROP, rule: 'compact/aside' });

    expect(effectiveDecisions([aside])).toMatchObject({
      edit: null,
      isByRule: true
    });
    expect(effectiveDecisions([DROP])).toMatchObject({
      edit: 'drop',
      isByRule: false
    });
    expect(effectiveDecisions([aside, DROP])).toMatchObject({
      edit: 'drop',
      isByRule: false
    });
  });

  it('is what was decided about its whole message, too', () => {
    const whole = decided({
      action: 'drop',
      rule: 'user/exclude',
      message_id: 'msg_1'
    });

    expect(effectiveDecisions(decisionsAbout([whole], PART)).edit).toBe('drop');
    expect(effectiveDecisions(decisionsAbout([whole, PIN], PART)).edit).toBe(
      'pin'
    );
    expect(
      decisionsAbout([whole], { id: 'prt_b', message_id: 'msg_2' })
    ).toEqual([]);
  });

  it('knows which summary was undone', () => {
    const undo = decided({
      action: 'restore',
      rule: 'user/undo-compaction',
      message_id: 'msg_9'
    });

    expect(isSummaryUndone([undo], 'msg_9')).toBe(true);
    expect(isSummaryUndone([undo], 'msg_8')).toBe(false);
  });
});

function show(decisions: Decision[], edit: IContextEditor['edit'] | null) {
  const part = { ...build.ran('read', { path: 'a.csv' }, 'x,y'), ...PART };
  const segment = build.segment([build.assistant([part])], { decisions });
  render(
    <HostProvider value={HOST}>
      <ContextEditorProvider value={edit === null ? null : { edit }}>
        <SegmentView segment={segment} />
      </ContextEditorProvider>
    </HostProvider>
  );
  fireEvent.click(screen.getByRole('button', { name: /read/ }));
}

describe('a call', () => {
  it('is pinned and left out by a button', () => {
    const choose = vi.fn<IContextEditor['edit']>(() => Promise.resolve(''));
    show([], choose);

    fireEvent.click(screen.getByRole('button', { name: 'Exclude' }));

    expect(choose).toHaveBeenCalledWith('exclude', 'prt_a');
    expect(screen.getByRole('button', { name: 'Pin' })).toBeDefined();
  });

  it('says that it is pinned, also while it is folded', () => {
    show([PIN], vi.fn<IContextEditor['edit']>());

    expect(screen.getByRole('button', { name: /pinned/ })).toBeDefined();
    expect(screen.getByText(/kept in every request/)).toBeDefined();
    expect(screen.getByRole('button', { name: 'Unpin' })).toBeDefined();
  });

  it('comes back by Restore', () => {
    const choose = vi.fn<IContextEditor['edit']>(() => Promise.resolve(''));
    show([DROP], choose);

    fireEvent.click(screen.getByRole('button', { name: 'Restore' }));

    expect(
      screen.getByText(/Excluded from every request, as asked/)
    ).toBeDefined();
    expect(choose).toHaveBeenCalledWith('restore', 'prt_a');
  });

  it('says what hindered a choice', async () => {
    show([], () => Promise.resolve('Another kernel writes this session.'));

    fireEvent.click(screen.getByRole('button', { name: 'Pin' }));

    expect((await screen.findByRole('alert')).textContent).toBe(
      'Another kernel writes this session.'
    );
  });

  it('offers nothing where nobody listens, and still says what holds', () => {
    show([DROP], null);

    expect(
      screen.getByText(/Excluded from every request, as asked/)
    ).toBeDefined();
    expect(screen.queryByRole('button', { name: 'Restore' })).toBeNull();
  });
});

describe('a thought', () => {
  it('is pinned where it is read', () => {
    const choose = vi.fn<IContextEditor['edit']>(() => Promise.resolve(''));
    const thought = { ...build.thought('It is in grams.', 4_000), ...PART };
    render(
      <HostProvider value={HOST}>
        <ContextEditorProvider value={{ edit: choose }}>
          <SegmentView
            segment={build.segment([build.assistant([thought])], {
              decisions: []
            })}
          />
        </ContextEditorProvider>
      </HostProvider>
    );
    fireEvent.click(screen.getByRole('button', { name: /Thought for/ }));

    fireEvent.click(screen.getByRole('button', { name: 'Pin' }));

    expect(choose).toHaveBeenCalledWith('pin', 'prt_a');
  });
});

describe('words', () => {
  it('say that their whole message is left out, and bring it back', () => {
    const choose = vi.fn<IContextEditor['edit']>(() => Promise.resolve(''));
    const whole = decided({
      action: 'drop',
      rule: 'user/exclude',
      message_id: 'msg_1'
    });
    const segment = build.segment([build.assistant([build.text('Two.')])], {
      decisions: [whole]
    });
    render(
      <HostProvider value={HOST}>
        <ContextEditorProvider value={{ edit: choose }}>
          <SegmentView segment={segment} />
        </ContextEditorProvider>
      </HostProvider>
    );

    fireEvent.click(screen.getByRole('button', { name: 'Restore' }));

    expect(
      screen.getByText('Excluded from every request, as asked; it is kept here')
    ).toBeDefined();
    expect(choose).toHaveBeenCalledWith('restore', 'msg_1');
  });
});

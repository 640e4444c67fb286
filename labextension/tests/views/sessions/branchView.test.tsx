// @vitest-environment jsdom
/** Branches stand side by side: figures, context and answers, with what differs; two open in the inspector. */
import { act, fireEvent, render, screen, within } from '@testing-library/react';
import { describe, expect, it, vi } from 'vitest';
import type { Branch, BranchTable } from '../../../src/protocol/generated';
import { InspectorOpenerProvider } from '../../../src/views/actions/inspector';
import {
  SessionActionsProvider,
  SessionOpenerProvider
} from '../../../src/views/actions/sessions';
import { BranchView } from '../../../src/views/sessions/branchView';
import { HostProvider } from '../../../src/views/host';
import { sessions } from '../../panelActions';
import { HOST } from '../../plainHost';

const FIRST: Branch = {
  session: 'ses_1',
  title: 'Count <b>rows</b>',
  models: ['test/model'],
  policy: '',
  requests: 2,
  usage: {
    input: 900,
    output: 40,
    reasoning: 0,
    cache_read: 100,
    cache_write: 0,
    estimated: false
  },
  cost: 0.25,
  decisions: 0,
  answer: 'There are 344. All of them.',
  text: 'There are 344.\nAll of them.',
  sizes: [900, 1_000],
  estimates: 0,
  window: 10_000,
  parent: '',
  parent_title: '',
  forked_after: 0
};
const SECOND: Branch = {
  ...FIRST,
  session: 'ses_2',
  title: 'Count (fork #1)',
  policy: 'opencode-1.18',
  cost: undefined,
  text: 'There are 333.\nAll of them.',
  sizes: [800],
  estimates: 1,
  parent: 'ses_1',
  parent_title: 'Count <b>rows</b>',
  forked_after: 1
};

async function draw(
  found: BranchTable | string,
  compare?: (session: string, other: string) => void
) {
  const actions = sessions();
  actions.branches.mockResolvedValue(found);
  const seen = { back: vi.fn(), open: vi.fn() };
  render(
    <HostProvider value={HOST}>
      <SessionOpenerProvider value={{ open: seen.open }}>
        <SessionActionsProvider value={actions}>
          <InspectorOpenerProvider value={{ inspect: vi.fn(), compare }}>
            <BranchView session="ses_2" onBack={seen.back} />
          </InspectorOpenerProvider>
        </SessionActionsProvider>
      </SessionOpenerProvider>
    </HostProvider>
  );
  await act(async () => {
    await Promise.resolve();
  });
  expect(actions.branches.mock.calls).toEqual([['ses_2']]);
  return seen;
}

const TABLE: BranchTable = {
  parted_at: 3,
  branches: [FIRST, SECOND],
  left_out: 0,
  figures: [
    { name: 'forked from', values: ['', ''], branches_differ: false },
    { name: 'cost', values: ['$0.250', ''], branches_differ: true },
    {
      name: 'policy',
      values: ['configured', 'opencode-1.18'],
      branches_differ: true
    },
    {
      name: 'model',
      values: ['test/model', 'test/model'],
      branches_differ: false
    }
  ]
};

function cells(name: RegExp): string[] {
  const row = screen.getByRole('row', { name });
  return within(row)
    .getAllByRole('cell')
    .map(element => element.textContent);
}

describe('branches', () => {
  it('stand side by side with their figures, and those that differ are marked', async () => {
    await draw(TABLE);

    expect(
      screen.getByText('Branches that part after request 3')
    ).toBeDefined();
    expect(cells(/^cost differs/)).toEqual(['$0.250', '–']);
    expect(screen.queryByRole('row', { name: /^forked from/ })).toBeNull();
    expect(cells(/^policy differs/)).toEqual(['configured', 'opencode-1.18']);
    expect(cells(/^model/)).toEqual(['test/model', 'test/model']);
    expect(
      screen.getByRole('row', { name: /^model/ }).dataset.differ
    ).toBeUndefined();
    expect(cells(/^context by request/)).toEqual([
      '900 to 1k tokens, at most 10.0 % of 10k',
      '800 tokens, at most 8.0 % of 10k (estimated)'
    ]);
  });

  it('say how many sizes are estimates', async () => {
    const third = {
      ...SECOND,
      sizes: [700, 800],
      estimates: 1
    };
    await draw({ ...TABLE, branches: [FIRST, third] });

    expect(cells(/^context by request/)[1]).toBe(
      '700 to 800 tokens, at most 8.0 % of 10k (1 of 2 estimated)'
    );
  });

  it('show titles and answers as text, and how the answers differ', async () => {
    await draw(TABLE);
    expect(screen.getByText('Count <b>rows</b>')).toBeDefined();
    fireEvent.click(
      screen.getByRole('button', {
        name: /How the answer of Count \(fork #1\)/
      })
    );

    const { textContent } = screen.getByRole('group', {
      name: 'What it would change'
    });
    expect(textContent).toContain('-There are 344.');
    expect(textContent).toContain('+There are 333.');
  });

  it('of branches stand within those that they were forked from, and answers beside theirs', async () => {
    const third: Branch = {
      ...SECOND,
      session: 'ses_3',
      title: 'Count (fork #2)',
      parent: 'ses_2',
      parent_title: SECOND.title,
      forked_after: 2
    };
    await draw({ ...TABLE, branches: [FIRST, SECOND, third] });
    const tree = screen.getByRole('group', {
      name: 'Which was forked from which'
    });
    const [first, second, last] = within(tree).getAllByRole('listitem');

    expect(first?.contains(second ?? null)).toBe(true);
    expect(second?.contains(last ?? null)).toBe(true);
    expect(last?.textContent).toBe('Count (fork #2) forked after request 2');
    expect(tree.querySelector('[aria-current]')?.textContent).toBe(
      'Count (fork #1)'
    );
    expect(
      screen.getByRole('button', {
        name: 'How the answer of Count (fork #2) differs from that of Count (fork #1)'
      })
    ).toBeDefined();
  });

  it('open, alone or both in the inspector', async () => {
    const compare = vi.fn();
    const { back, open } = await draw(TABLE, compare);
    fireEvent.click(
      screen.getByRole('button', { name: 'Open Count <b>rows</b>' })
    );
    fireEvent.click(
      screen.getByRole('button', {
        name: 'Inspect Count (fork #1) beside the first'
      })
    );
    fireEvent.click(screen.getByRole('button', { name: 'Close' }));

    expect(open.mock.calls).toEqual([['ses_1']]);
    expect(compare.mock.calls).toEqual([['ses_1', 'ses_2']]);
    expect(back).toHaveBeenCalledOnce();
  });

  it('are not there in a session without one, which is said', async () => {
    await draw('This session has no branch.');

    expect(screen.getByRole('alert').textContent).toBe(
      'This session has no branch.'
    );
    expect(screen.queryByRole('table')).toBeNull();
  });
});

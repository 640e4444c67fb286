// @vitest-environment jsdom
/** The state of a compaction: a failed one hides nothing, and cannot be undone. */
import { fireEvent, render, screen } from '@testing-library/react';
import { expect, it, vi } from 'vitest';
import type { CompactionPart, Decision } from '../../../src/protocol/generated';
import { Compaction } from '../../../src/views/modelContext/compaction';
import { HostProvider } from '../../../src/views/host';
import {
  ContextEditorProvider,
  CoveredTurnsProvider
} from '../../../src/views/actions/contextEdits';
import { HOST } from '../../plainHost';

const MARK: CompactionPart = {
  id: 'prt_1',
  session_id: 'ses_1',
  message_id: 'msg_0',
  type: 'compaction',
  auto: true,
  overflow: false,
  goes_on: false
};

it.each([
  ['running', /^Compacting/, false],
  ['done', /^Compacted/, true],
  ['failed', /^Not compacted the model still sees everything/, false]
] as const)('%s', (state, name, undo) => {
  render(
    <HostProvider value={HOST}>
      <ContextEditorProvider value={{ edit: () => Promise.resolve('') }}>
        <Compaction
          summary="We plotted it."
          state={state}
          marker={MARK}
          summaryId="msg_1"
          decisions={[]}
        />
      </ContextEditorProvider>
    </HostProvider>
  );

  fireEvent.click(screen.getByRole('button', { name }));

  const button = screen.queryByRole('button', { name: /Undo the compaction/ });
  expect(button !== null).toBe(undo);
});

const REPORT: Decision = {
  id: 'dec_1',
  action: 'summarise',
  rule: 'compact',
  message_id: 'msg_1',
  numbers: {
    retention: {
      paths: { found: 52, lost: 2, names: ['a.csv', '\u202eb.csv'], likely: 1 },
      errors: { found: 9, lost: 6, names: ['ValueError'], likely: 0 },
      numbers: { found: 3, lost: 0, names: [], likely: 0 }
    },
    recent: 5,
    kept: { turns: 2, tokens: 1234, pinned: 1 }
  },
  tokens_before: 900,
  tokens_after: 90,
  words: 'Keeps some.'
};

it('says what the summary keeps, and lists what it does not', () => {
  draw([REPORT]);

  const strip = screen.getByRole('button', { name: /^Compacted/ });
  expect(strip.textContent).toContain('Compacted 900 → 90 tokens · ');
  expect(strip.textContent).toContain(
    'word for word: the newest 2 turns (1.23k), 1 pinned part; keeps 50 of 52 paths, 3 of 9 errors, 3 of 3 numbers'
  );
  fireEvent.click(strip);
  fireEvent.click(
    screen.getByRole('button', { name: 'What it does not keep: 8 names' })
  );

  expect(screen.getByText('paths: 2 of 52 not kept')).toBeTruthy();
  expect(
    screen.getAllByRole('listitem').map(element => element.textContent)
  ).toEqual([
    'a.csv likely to be needed (an estimate)',
    '·b.csv',
    'ValueError',
    'and 5 more'
  ]);
});

it.each([
  {},
  { retention: 'paths' },
  { retention: { paths: 3, errors: { found: '9', lost: 1 } } }
])('draws no grade of %j', numbers => {
  draw([{ ...REPORT, numbers }]);

  const strip = screen.getByRole('button', { name: /^Compacted/ });
  expect(strip.textContent).not.toContain('keeps');
  fireEvent.click(strip);
  expect(screen.queryByRole('button', { name: /does not keep/ })).toBeNull();
});

it.each([
  [{ turns: 1, tokens: 80, pinned: 0 }, 'the newest turn (80)'],
  [{ turns: 0, tokens: 80, pinned: 2 }, 'the end of the newest turn (80), 2'],
  [{ turns: 0, tokens: 0, pinned: 1 }, 'word for word: 1 pinned part']
])('says what stays as it is: %j', (kept, told) => {
  draw([{ ...REPORT, numbers: { kept } }]);

  const strip = screen.getByRole('button', { name: /^Compacted/ });
  expect(strip.textContent).toContain(told);
});

it.each([{}, { kept: 'all' }, { kept: { turns: '2', tokens: -1 } }])(
  'claims nothing of what stays where the log holds %j',
  numbers => {
    draw([{ ...REPORT, numbers }]);

    const strip = screen.getByRole('button', { name: /^Compacted/ });
    expect(strip.textContent).not.toContain('word for word');
  }
);

it('leads to what it covers, and tells no sizes once it is undone', () => {
  const lookUnderneath = vi.fn();
  const undo: Decision = {
    ...REPORT,
    id: 'dec_2',
    action: 'restore',
    rule: 'user/undo-compaction',
    numbers: {}
  };
  render(
    <CoveredTurnsProvider value={{ lookUnderneath }}>
      <Strip decisions={[REPORT, undo]} />
    </CoveredTurnsProvider>
  );

  fireEvent.click(screen.getByRole('button', { name: 'Look underneath' }));

  expect(lookUnderneath).toHaveBeenCalledWith(MARK);
  expect(screen.getByText('Undone')).toBeTruthy();
  expect(screen.queryByText(/900 → 90/)).toBeNull();
});

function draw(decisions: Decision[]): void {
  render(<Strip decisions={decisions} />);
}

function Strip({ decisions }: { decisions: Decision[] }) {
  return (
    <HostProvider value={HOST}>
      <Compaction
        summary="We plotted it."
        state="done"
        marker={MARK}
        summaryId="msg_1"
        decisions={decisions}
      />
    </HostProvider>
  );
}

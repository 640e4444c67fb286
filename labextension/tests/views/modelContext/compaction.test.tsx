// @vitest-environment jsdom
/** The state of a compaction: a failed one hides nothing, and cannot be undone. */
import { cleanup, fireEvent, render, screen } from '@testing-library/react';
import { afterEach, expect, it } from 'vitest';
import type { CompactionPart, Decision } from '../../../src/protocol/generated';
import { Compaction } from '../../../src/views/modelContext/compaction';
import { HostProvider } from '../../../src/views/host';
import { ContextEditorProvider } from '../../../src/views/actions/contextEdits';
import { HOST } from '../../plainHost';

afterEach(cleanup);

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
          mark={MARK}
          written="msg_1"
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
    recent: 5
  },
  tokens_before: 900,
  tokens_after: 90,
  words: 'Keeps some.'
};

it('says what the summary keeps, and lists what it does not', () => {
  draw([REPORT]);

  const strip = screen.getByRole('button', { name: /^Compacted/ });
  expect(strip.textContent).toContain(
    'keeps 50 of 52 paths, 3 of 9 errors, 3 of 3 numbers'
  );
  fireEvent.click(strip);
  fireEvent.click(
    screen.getByRole('button', { name: 'What it does not keep: 8 names' })
  );

  expect(screen.getByText('paths: 2 of 52 not kept')).toBeTruthy();
  expect(screen.getAllByRole('listitem').map(one => one.textContent)).toEqual([
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

function draw(decisions: Decision[]): void {
  render(
    <HostProvider value={HOST}>
      <Compaction
        summary="We plotted it."
        state="done"
        mark={MARK}
        written="msg_1"
        decisions={decisions}
      />
    </HostProvider>
  );
}

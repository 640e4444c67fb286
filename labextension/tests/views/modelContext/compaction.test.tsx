// @vitest-environment jsdom
/** The state of a compaction: a failed one hides nothing, and cannot be undone. */
import { cleanup, fireEvent, render, screen } from '@testing-library/react';
import { afterEach, expect, it } from 'vitest';
import type { CompactionPart } from '../../../src/protocol/generated';
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

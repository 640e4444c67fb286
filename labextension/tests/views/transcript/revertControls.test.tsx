// @vitest-environment jsdom
/** Reverts as a user sees them in the panel and in a cell. */
import { act, fireEvent, render, screen, within } from '@testing-library/react';
import { describe, expect, it } from 'vitest';
import type { FileDiff, RevertPreview } from '../../../src/protocol/generated';
import { displayedSegment } from '../../../src/state/display/liveSegment';
import {
  turnFileChanges,
  revertedMessages,
  revertedExtent
} from '../../../src/state/session/reverts';
import {
  UNKNOWN_KERNEL,
  type IKernelView
} from '../../../src/state/store/kernelStore';
import { EMPTY_TRANSCRIPT } from '../../../src/state/store/transcript';
import { FileChanges } from '../../../src/views/parts/fileChanges';
import {
  RevertActionsProvider,
  type IRevertActions,
  type IRevertOutcome
} from '../../../src/views/actions/reverts';
import {
  RevertBanner,
  RevertButton
} from '../../../src/views/transcript/revertControls';
import { HostProvider } from '../../../src/views/host';
import { SegmentView } from '../../../src/views/segment/segmentView';
import * as build from '../../builders';
import { reverts } from '../../panelActions';
import { HOST } from '../../plainHost';

const DIFF: FileDiff = {
  file: 'a.txt',
  status: 'modified',
  additions: 2,
  deletions: 1,
  patch: '--- a/a.txt\n+++ b/a.txt\n@@ -1 +1,2 @@\n-one\n+two\n+three'
};

const PREVIEW: RevertPreview = {
  message_id: 'u2',
  messages: [
    { id: 'u2', role: 'user', excerpt: 'Write it.' },
    { id: 'a2', role: 'assistant', excerpt: 'Done.' }
  ],
  files: [
    { file: 'a.txt', action: 'restore', diff: DIFF },
    {
      file: 'b.txt',
      action: 'conflict',
      reason: 'changed since the agent left it'
    }
  ],
  cells: [],
  done: false
};

const place = (id: string) => ({ id, message: { parts: [] } });
const PLACES = ['u1', 'a1', 'u2', 'a2'].map(place);
const session = (revert: Record<string, unknown>) =>
  ({ revert }) as unknown as Parameters<typeof revertedMessages>[0]['session'];

function draw(node: React.ReactNode, actions: IRevertActions | null) {
  return render(
    <HostProvider value={HOST}>
      <RevertActionsProvider value={actions}>{node}</RevertActionsProvider>
    </HostProvider>
  );
}

function kernel(more: IRevertOutcome = {}) {
  const actions = reverts();
  for (const action of Object.values(actions)) {
    action.mockResolvedValue({ revert: PREVIEW, ...more });
  }
  return actions;
}

describe('what is taken back', () => {
  it('is nothing without a revert', () => {
    expect(revertedMessages({ entries: PLACES })).toBeNull();
    expect(revertedExtent(null, ['u1'])).toBeUndefined();
  });

  it('is the message and all that follow', () => {
    const taken = revertedMessages({
      entries: PLACES,
      session: session({ message_id: 'u2', kept: ['b.txt'] })
    });

    expect([...(taken?.messageIds ?? [])]).toEqual(['u2', 'a2']);
    expect(revertedExtent(taken, ['u2', 'a2'])).toBe('whole');
    expect(revertedExtent(taken, ['u1', 'a1'])).toBeUndefined();
    expect(taken?.unchangedFiles).toEqual(['b.txt']);
  });

  it('is a part of a message, and all that follow', () => {
    const taken = revertedMessages({
      entries: PLACES,
      session: session({ message_id: 'a1', part_id: 'p2' })
    });

    expect(revertedExtent(taken, ['u1', 'a1'])).toBe('part');
    expect(revertedExtent(taken, ['u2', 'a2'])).toBe('whole');
  });
});

describe('the changes of a turn', () => {
  it('are told by its prompt', () => {
    const info = { role: 'user', summary: { diffs: [DIFF, 7] } };

    expect(
      turnFileChanges(info as unknown as Parameters<typeof turnFileChanges>[0])
    ).toEqual([DIFF]);
    expect(turnFileChanges(undefined)).toEqual([]);
  });

  it('are a line of numbers that opens to files and their lines', () => {
    draw(<FileChanges changes={[DIFF, { ...DIFF, file: 'b.txt' }]} />, null);

    const head = screen.getByRole('button', { name: /2 files changed/ });
    expect(head.textContent).toContain('+4');
    fireEvent.click(head);
    fireEvent.click(screen.getByRole('button', { name: /a\.txt/ }));
    expect(screen.getByText(/\+two/)).toBeTruthy();
  });
});

describe('Revert to here', () => {
  it('is not offered where nobody listens', () => {
    draw(<RevertButton turnId="u2" />, null);

    expect(screen.queryByRole('button')).toBeNull();
  });

  it('shows what would be done before it does it', async () => {
    const revert = kernel();
    draw(<RevertButton turnId="u2" />, revert);

    await act(async () => {
      fireEvent.click(screen.getByRole('button', { name: 'Revert to here…' }));
      await Promise.resolve();
    });

    const dialog = screen.getByRole('dialog', { name: 'Revert to here?' });
    expect(revert.preview.mock.calls).toEqual([['u2']]);
    expect(revert.revert).not.toHaveBeenCalled();
    expect(within(dialog).getByText('Write it.')).toBeTruthy();
    expect(within(dialog).getByText('is brought back')).toBeTruthy();
    expect(
      within(dialog).getByText('is left alone: changed since the agent left it')
    ).toBeTruthy();
  });

  it('names cells by their number, or by what they hold', async () => {
    const cell = { message: 'a2', call: 'c', index: 0, problem: '' };
    const change = {
      cell: '376cc89c',
      kind: 'code',
      state: 'open',
      undone: false,
      by: '',
      reason: '',
      notebook: 'a.ipynb'
    } as const;
    const cells = [
      { ...cell, change: { ...change, action: 'delete', old: 'x = 1' } },
      { ...cell, index: 1, change: { ...change, action: 'edit', number: 3 } }
    ] as const;
    const preview = { ...PREVIEW, cells: [...cells] };
    draw(<RevertButton turnId="u2" />, kernel({ revert: preview }));
    await act(async () => {
      fireEvent.click(screen.getByRole('button', { name: 'Revert to here…' }));
      await Promise.resolve();
    });

    expect(screen.getByText('Deleted: x = 1')).toBeTruthy();
    expect(screen.getByText('Former source: cell 3')).toBeTruthy();
  });

  it('overwrites only what was ticked', async () => {
    const revert = kernel();
    draw(<RevertButton turnId="u2" />, revert);
    await act(async () => {
      fireEvent.click(screen.getByRole('button', { name: 'Revert to here…' }));
      await Promise.resolve();
    });

    fireEvent.click(screen.getByRole('checkbox'));
    await act(async () => {
      fireEvent.click(screen.getByRole('button', { name: 'Revert' }));
      await Promise.resolve();
    });

    expect(revert.revert).toHaveBeenLastCalledWith('u2', ['b.txt']);
    expect(screen.queryByRole('dialog')).toBeNull();
  });

  it('says what hindered it and stays', async () => {
    const revert = kernel({ error: 'The agent works; wait for its answer.' });
    draw(<RevertButton turnId="u2" />, revert);
    await act(async () => {
      fireEvent.click(screen.getByRole('button', { name: 'Revert to here…' }));
      await Promise.resolve();
    });

    expect(screen.getByRole('alert').textContent).toContain('The agent works');
  });
});

describe('the banner', () => {
  const taken = {
    messageId: 'u2',
    messageIds: new Set(['u2', 'a2', 'x']),
    unchangedFiles: ['b.txt'],
    changedFiles: []
  };

  it('counts, names what was left alone, and offers the ways on', async () => {
    const revert = kernel();
    draw(<RevertBanner reverted={taken} />, revert);

    expect(screen.getByRole('status').textContent).toContain(
      '3 messages reverted. Left alone, since somebody else changed them: b.txt.'
    );
    await act(async () => {
      fireEvent.click(screen.getByRole('button', { name: 'Undo' }));
      fireEvent.click(screen.getByRole('button', { name: 'Remove for good' }));
      await Promise.resolve();
    });
    expect(revert.unrevert).toHaveBeenCalledOnce();
    expect(revert.cleanup).toHaveBeenCalledOnce();
  });

  it('offers nothing in a session of another kernel', () => {
    draw(<RevertBanner reverted={taken} />, null);

    expect(screen.queryByRole('button')).toBeNull();
  });
});

describe('a cell', () => {
  const SAVED = build.segment([build.assistant([build.text('Done.')])], {
    session: 'ses_1',
    turn: 'u1',
    open: false,
    start: { part: 0, offset: 0, joint: '' }
  });
  const info = {
    ...build.user([build.text('go')]).info,
    id: 'u1',
    summary: { diffs: [DIFF] }
  };
  const view = (revert?: object) =>
    ({
      ...UNKNOWN_KERNEL,
      link: 'ready',
      sessions: new Map([
        [
          'ses_1',
          {
            isLoaded: true,
            head: { read_only: false },
            transcript: {
              ...EMPTY_TRANSCRIPT,
              session: { revert },
              entries: [
                { id: 'u1', message: { info, parts: [] } },
                ...SAVED.messages.map(message => ({
                  id: message.info.id,
                  message
                }))
              ]
            }
          }
        ]
      ])
    }) as unknown as IKernelView;

  it('says what its turn changed, and is drawn from what is told', () => {
    const shown = displayedSegment(SAVED, view());

    expect(shown.segment.changes).toEqual([DIFF]);
    expect(shown.reverted).toBeUndefined();
    draw(<SegmentView segment={shown.segment} />, null);
    expect(screen.getByRole('button', { name: /1 file changed/ })).toBeTruthy();
  });

  it('is marked while its turn is taken back', () => {
    const shown = displayedSegment(SAVED, view({ message_id: 'u1' }));

    draw(
      <SegmentView segment={shown.segment} revertExtent={shown.reverted} />,
      null
    );

    expect(screen.getByText('Reverted')).toBeTruthy();
  });
});

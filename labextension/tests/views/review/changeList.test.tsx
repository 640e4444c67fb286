// @vitest-environment jsdom
/** Changes of cells are decided in a list, one by one or all; the keyboard goes on to the next. */
import { fireEvent, render, screen, within } from '@testing-library/react';
import { describe, expect, it } from 'vitest';
import type { Ask, MadeChange } from '../../../src/protocol/generated';
import { pendingDecisions } from '../../../src/state/review/pendingDecisions';
import { changesOfCall } from '../../../src/state/review/cellReview';
import { CellReviewActionsProvider } from '../../../src/views/actions/cells';
import { HostProvider } from '../../../src/views/host';
import { ChangeList } from '../../../src/views/review/changeList';
import * as build from '../../builders';
import { cellReviews } from '../../panelActions';
import { HOST } from '../../plainHost';

const ASK: Ask = {
  id: 'per_1',
  permission: 'cells',
  patterns: [],
  always: [],
  title: 'Change them?',
  input: {},
  call_id: 'call_1'
};

const edit = (more: Partial<MadeChange>): Partial<MadeChange> => ({
  action: 'edit',
  cell: 'c1',
  old: 'x = 1',
  new: 'x = 2',
  ...more
});

function draw(
  cells: Partial<MadeChange>[],
  asks: Ask[] = [],
  isReverted = false
) {
  const actions = cellReviews();
  const part = build.ran('cells', {}, 'Done.');
  const changes = changesOfCall(
    {
      ...part,
      call_id: 'call_1',
      state: { ...part.state, metadata: { cells } }
    } as typeof part,
    'msg_1'
  );
  render(
    <HostProvider value={HOST}>
      <CellReviewActionsProvider value={actions}>
        <div className="plm-Tool-card">
          <ChangeList changes={changes} asks={asks} isReverted={isReverted} />
        </div>
      </CellReviewActionsProvider>
    </HostProvider>
  );
  return { actions, changes };
}

const button = (name: string) => screen.getByRole('button', { name });

describe('a list of changes', () => {
  it('says what happened to each cell', () => {
    draw([
      edit({ number: 4 }),
      edit({ action: 'insert', old: undefined, new: 'a\nb', cell: 'c2' }),
      edit({ action: 'move', new: undefined, cell: 'c3' }),
      edit({ state: 'rejected', reason: 'wrong column', cell: 'c4' })
    ]);
    const rows = screen.getAllByRole('listitem').map(row => row.textContent);

    expect(rows[0]).toContain('Changed cell 4');
    expect(rows[1]).toContain('New a');
    expect(rows[1]).toContain('+2');
    expect(rows[2]).toContain('Moved x = 1');
    expect(rows[3]).toContain('rejected: wrong column');
  });

  it('accepts one, and gives the keyboard to the next', () => {
    const { actions, changes } = draw([
      edit({ number: 1 }),
      edit({ number: 2, cell: 'c2' })
    ]);
    fireEvent.click(button('Accept: Changed cell 1'));

    expect(actions.decide.mock.calls).toEqual([
      [[changes[0]], { accept: true }]
    ]);
    expect(document.activeElement).toBe(button('Accept: Changed cell 2'));
  });

  it('asks why one is rejected', () => {
    const { actions, changes } = draw([edit({ number: 1 })]);
    fireEvent.click(button('Reject: Changed cell 1'));
    fireEvent.change(screen.getByRole('textbox'), {
      target: { value: ' wrong column ' }
    });
    fireEvent.click(button('Reject'));

    expect(actions.decide.mock.calls).toEqual([
      [[changes[0]], { accept: false, reason: 'wrong column' }]
    ]);
  });

  it('accepts all that are undecided', () => {
    const { actions, changes } = draw([
      edit({}),
      edit({ state: 'accepted', by: 'person' }),
      edit({ cell: 'c3' })
    ]);
    fireEvent.click(button('Accept all'));

    expect(actions.decide.mock.calls).toEqual([
      [[changes[0], changes[2]], { accept: true }]
    ]);
  });

  it('shows what waits for the other answers, which can be taken back', () => {
    pendingDecisions.decide('per_1', [{ index: 0, accept: true, reason: '' }]);
    const { actions } = draw(
      [edit({ state: 'proposed' }), edit({ state: 'proposed', cell: 'c2' })],
      [ASK]
    );
    const [first] = screen.getAllByRole('listitem');
    fireEvent.click(
      within(first as HTMLElement).getByRole('button', { name: 'Undo' })
    );

    expect(first?.textContent).toContain('accepted, waits for the others');
    expect(actions.takeBack.mock.calls[0]?.[0].index).toBe(0);
    pendingDecisions.forget('per_1');
  });

  it('accepts all but those that were decided already', () => {
    pendingDecisions.decide('per_1', [
      { index: 0, accept: false, reason: 'no' }
    ]);
    const { actions, changes } = draw(
      ['c1', 'c2', 'c3'].map(cell => edit({ state: 'proposed', cell })),
      [ASK]
    );
    fireEvent.click(button('Accept all'));

    expect(actions.decide.mock.calls[0]?.[0].map(({ index }) => index)).toEqual(
      [1, 2]
    );
    expect(changes).toHaveLength(3);
    pendingDecisions.forget('per_1');
  });

  it('says of a proposal what is to be done, and of a change what was done', () => {
    draw(
      [
        {
          action: 'delete' as const,
          new: undefined,
          number: 3,
          state: 'proposed' as const
        },
        { action: 'delete' as const, new: undefined, number: 3 }
      ].map(edit),
      [ASK]
    );

    expect(
      screen
        .getAllByTitle('Show it in the notebook')
        .map(row => row.textContent)
    ).toEqual(['Delete cell 3', 'Deleted cell 3']);
  });

  it('offers nothing in a reverted turn', () => {
    draw([edit({}), edit({ cell: 'c2' })], [], true);

    expect(screen.queryByRole('button', { name: /Accept|Reject/ })).toBeNull();
    expect(screen.getAllByText('reverted')).toHaveLength(2);
  });

  it('is not drawn where nobody can decide', () => {
    const part = build.ran('cells', {}, 'Done.');
    const { container } = render(
      <HostProvider value={HOST}>
        <ChangeList changes={changesOfCall(part, '')} asks={[]} />
      </HostProvider>
    );

    expect(container.textContent).toBe('');
  });

  it('shows hostile text as text', () => {
    draw([
      edit({ new: '<img src=x onerror=alert(1)>\u202e', number: undefined }),
      edit({ state: 'rejected', reason: '\u001b[31m\u202e<b>', cell: 'c2' })
    ]);
    const text = document.body.textContent;

    expect(document.querySelector('img, b')).toBeNull();
    expect(text).toContain('<img src=x onerror=alert(1)>');
    expect(text).toContain('⟨U+001B⟩[31m⟨U+202E⟩<b>');
  });
});

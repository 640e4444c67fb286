/** What waits for a person is taken from the parts of a session, and grouped by cell. */
import { describe, expect, it } from 'vitest';
import type {
  Ask,
  MadeChange,
  Message,
  SessionInfo,
  ToolPart
} from '../../../src/protocol/generated';
import { applyNotice } from '../../../src/state/store/reducer';
import {
  EMPTY_TRANSCRIPT,
  type ITranscript
} from '../../../src/state/store/transcript';
import {
  reviewsByCell,
  reviewsKeepingObjects,
  undecidedChanges
} from '../../../src/state/review/cellReview';
import { cellName, reviewTitle } from '../../../src/state/review/changeWords';
import { reviewPlaces } from '../../../src/state/review/reviewPlaces';
import { lineCounts } from '../../../src/state/text/lineDiff';
import * as build from '../../builders';
import { HOST } from '../../plainHost';

export function change(more: Partial<MadeChange> = {}): MadeChange {
  return {
    action: 'edit',
    cell: 'c1',
    kind: 'code',
    old: 'x = 1',
    new: 'x = 2',
    state: 'open',
    by: '',
    reason: '',
    notebook: 'a.ipynb',
    undone: false,
    ...more
  };
}

function call(id: string, cells: unknown): Message {
  const part = build.ran('cells', {}, 'Done.');
  return build.assistant([
    {
      ...part,
      call_id: id,
      state: { ...part.state, metadata: { cells } }
    } as typeof part
  ]);
}

function transcript(messages: Message[], asks: Ask[] = []) {
  return {
    asks,
    entries: messages.map(message => ({ id: message.info.id, message }))
  };
}

function withPart(before: ITranscript, part: ToolPart): ITranscript {
  return applyNotice(before, {
    v: 1,
    type: 'message.part.updated',
    seq: before.seq + 1,
    ts: 0,
    part
  });
}

const ask = (call_id: string): Ask => ({
  id: 'per_1',
  permission: 'cells',
  patterns: [],
  always: [],
  title: 'Change it?',
  input: {},
  call_id
});

const reviewsOf = (...changes: MadeChange[]) =>
  reviewsByCell(undecidedChanges(transcript([call('call_1', changes)])));

describe('the review of a session', () => {
  it('holds what was made and not looked at', () => {
    const changes = [
      change(),
      change({ cell: 'c2', state: 'accepted' }),
      change({ cell: 'c3', state: 'rejected' }),
      change({ cell: 'c4', undone: true })
    ];
    const found = undecidedChanges(transcript([call('call_1', changes)]));

    expect(found.map(({ key }) => key)).toEqual(['call_1:0']);
  });

  it('holds a proposal as long as its question is open', () => {
    const message = call('call_1', [change({ state: 'proposed' })]);

    expect(undecidedChanges(transcript([message]))).toEqual([]);
    expect(
      undecidedChanges(transcript([message], [ask('call_1')]))[0]?.ask?.id
    ).toBe('per_1');
  });

  it('leaves out what is reverted', () => {
    const kept = call('call_1', [change()]);
    const reverted = call('call_2', [change({ cell: 'c2' })]);
    const { entries } = transcript([kept, reverted]);
    const found = (message_id: string, part_id?: string) =>
      undecidedChanges({
        asks: [],
        entries,
        session: { revert: { message_id, part_id } } as unknown as SessionInfo
      }).map(({ key }) => key);

    expect(found(reverted.info.id)).toEqual(['call_1:0']);
    expect(found(kept.info.id)).toEqual([]);
    expect(found(reverted.info.id, reverted.parts[0]?.id)).toEqual([
      'call_1:0'
    ]);
    expect(found('msg_unknown')).toEqual(['call_1:0', 'call_2:0']);
  });

  it('leaves out what is no change', () => {
    const wrong = [
      'text',
      [null],
      [{ action: 'run', cell: 'c1' }],
      [{ ...change(), cell: 1 }],
      [{ ...change(), old: {} }],
      [{ ...change(), state: 'done' }]
    ];
    wrong.forEach((cells, index) => {
      const message = call(`call_${index}`, cells);
      expect(undecidedChanges(transcript([message]))).toEqual([]);
    });
  });

  it('reads a change of which a kernel left out what is empty', () => {
    const cells = [{ action: 'insert', cell: 'c9', new: 'y', after: null }];
    const [found] = undecidedChanges(transcript([call('call_1', cells)]));

    expect(found?.change.state).toBe('open');
  });

  it('joins later changes of a cell to the earlier ones', () => {
    const [review, ...others] = reviewsOf(
      change(),
      change({ old: 'x = 2', new: 'x = 3' })
    );

    expect(others).toEqual([]);
    expect(review).toMatchObject({
      key: 'call_1:1',
      sourceBefore: 'x = 1',
      sourceAfter: 'x = 3',
      isInserted: false
    });
  });

  it('puts a proposal before what was made of the same cell', () => {
    const found = reviewsByCell(
      undecidedChanges(
        transcript(
          [
            call('call_1', [change()]),
            call('call_2', [
              change({ state: 'proposed', old: 'x = 2', new: 'x = 3' })
            ])
          ],
          [ask('call_2')]
        )
      )
    );

    expect(found.map(({ key, state }) => [key, state])).toEqual([
      ['call_2:0', 'proposed']
    ]);
  });
});

describe('the places of a review', () => {
  const CELLS = ['c1', 'c2', 'c3'];
  const placed = (...changes: MadeChange[]) =>
    reviewPlaces(reviewsOf(...changes), CELLS).map(
      ({ cellIndex, isMark, position, review }) =>
        `${review.cellId} ${position} ${cellIndex}${isMark ? ' mark' : ''}`
    );

  it('are in the order of the notebook', () => {
    expect(placed(change({ cell: 'c3' }), change({ cell: 'c1' }))).toEqual([
      'c1 in 0',
      'c3 in 2'
    ]);
  });

  it('show a deleted cell where it stood', () => {
    const gone = change({ action: 'delete', cell: 'gone', new: undefined });

    expect(placed({ ...gone, was_after: 'c1' })).toEqual(['gone below 0']);
    expect(placed(gone)).toEqual(['gone above 0']);
  });

  it('mark where a moved cell stood, and where it would stand', () => {
    const moved = change({ action: 'move', new: undefined, after: 'c3' });
    const asked = reviewsByCell(
      undecidedChanges(
        transcript(
          [call('call_1', [{ ...moved, state: 'proposed' }])],
          [ask('call_1')]
        )
      )
    );

    expect(placed({ ...moved, was_after: 'c2' })).toEqual([
      'c1 in 0',
      'c1 below 1 mark'
    ]);
    expect(
      reviewPlaces(asked, CELLS).map(({ cellIndex }) => cellIndex)
    ).toEqual([0, 2]);
  });

  it('show a cell that is only proposed, also behind another such one', () => {
    const inserted = change({
      action: 'insert',
      old: undefined,
      state: 'proposed'
    });
    const reviews = reviewsByCell(
      undecidedChanges(
        transcript(
          [
            call('call_1', [
              { ...inserted, cell: 'n1', after: 'c2' },
              { ...inserted, cell: 'n2', after: 'n1' },
              { ...inserted, cell: 'n3' },
              { ...inserted, cell: 'n4', after: 'unknown' }
            ])
          ],
          [ask('call_1')]
        )
      )
    );

    expect(
      reviewPlaces(reviews, CELLS).map(
        ({ cellIndex, position, review }) =>
          `${review.cellId} ${position} ${cellIndex}`
      )
    ).toEqual(['n3 above 0', 'n1 below 1', 'n2 below 1', 'n4 below 2']);
  });

  it('are none where the person took the cell away', () => {
    expect(placed(change({ cell: 'gone' }))).toEqual([]);
  });
});

describe('reviews that are looked at again', () => {
  it('stay the same objects where nothing about them changed', () => {
    const message = call('call_1', [change(), change({ cell: 'c2' })]);
    const later = call('call_2', [change({ cell: 'c2', new: 'x = 3' })]);
    const before = reviewsByCell(undecidedChanges(transcript([message])));
    // A message that grows is another object with the same metadata.
    const grown = { ...message, parts: [...message.parts] };

    const now = reviewsKeepingObjects(
      reviewsByCell(undecidedChanges(transcript([grown, later]))),
      before
    );

    expect(now[0]).toBe(before[0]);
    expect(now[1]?.sourceAfter).toBe('x = 3');
  });

  it('stay the same where another change of their call is decided', () => {
    const other = change({ cell: 'c2' });
    const { info, parts } = call('call_1', [change(), other]);
    const [made] = parts;
    const [decided] = call('call_1', [
      change({ state: 'accepted' }),
      { ...other }
    ]).parts;
    const first = withPart(
      {
        ...EMPTY_TRANSCRIPT,
        entries: transcript([{ info, parts: [] }]).entries
      },
      { ...made, message_id: info.id } as ToolPart
    );
    const second = withPart(first, {
      ...decided,
      id: made?.id,
      message_id: info.id
    } as ToolPart);
    const before = reviewsByCell(undecidedChanges(first));

    const now = reviewsKeepingObjects(
      reviewsByCell(undecidedChanges(second)),
      before
    );

    expect(now).toHaveLength(1);
    expect(now[0]).toBe(before[1]);
  });

  it('are others once a question is asked about them', () => {
    const message = call('call_1', [change({ state: 'proposed' })]);
    const reviews = (id: string) =>
      reviewsByCell(
        undecidedChanges(transcript([message], [{ ...ask('call_1'), id }]))
      );
    const before = reviews('per_1');

    const [now] = reviewsKeepingObjects(reviews('per_2'), before);

    expect(now?.changes[0]?.ask?.id).toBe('per_2');
  });
});

describe('the words of a change', () => {
  it('name a cell by its number, else by its first line', () => {
    const { words } = HOST;
    expect(cellName({ number: 4 }, words)).toBe('cell 4');
    expect(cellName({ new: '\n  import os\nx' }, words)).toBe('import os');
    expect(cellName({}, words)).toBe('an empty cell');
  });

  it('show what hides itself, and cut what is long', () => {
    const name = cellName({ new: `\u202e${'x'.repeat(40_000)}` }, HOST.words);

    expect(name).toBe(`⟨U+202E⟩${'x'.repeat(32)}…`);
  });

  it('say what was done and what is only wanted', () => {
    const [made] = reviewsOf(change());
    if (made === undefined) {
      throw new Error('There is a review.');
    }
    expect(reviewTitle(made, HOST.words)).toBe('The agent changed this cell');
    expect(
      reviewTitle({ ...made, state: 'proposed', isMoved: true }, HOST.words)
    ).toBe('The agent wants to move and change this cell');
  });

  it('count lines, of which an empty cell has none', () => {
    expect(lineCounts('', 'a\nb')).toEqual({ additions: 2, deletions: 0 });
    expect(lineCounts('a\nb', 'a\nc')).toEqual({ additions: 1, deletions: 1 });
  });
});

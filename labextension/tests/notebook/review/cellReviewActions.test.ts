/** Decisions about changes reach the kernel: a question once with all of them, what was made call by call. */
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { ILink } from '../../../src/kernel/kernelLink';
import {
  answerActions,
  cellReviewActions
} from '../../../src/notebook/rendering/linkActions';
import type { Ask, MadeChange } from '../../../src/protocol/generated';
import type { IReviewedChange } from '../../../src/state/review/cellReview';
import { pendingDecisions } from '../../../src/state/review/pendingDecisions';

const ASK = { id: 'per_1', call_id: 'call_1' } as Ask;

function reviewed(
  index: number,
  more: Partial<IReviewedChange> = {}
): IReviewedChange {
  return {
    key: `call_1:${index}`,
    messageId: 'msg_1',
    callId: 'call_1',
    index,
    callChangeCount: 2,
    change: { action: 'edit', cell: `c${index}` } as MadeChange,
    ...more
  };
}

function target(answer: object = {}) {
  const outcome = vi.fn(() => Promise.resolve(answer));
  return {
    outcome,
    target: {
      link: { outcome } as unknown as ILink,
      session: 'ses_1',
      report: vi.fn()
    }
  };
}

afterEach(() => {
  pendingDecisions.forget('per_1');
});

describe('proposals', () => {
  it('are answered together, once the last one is decided', async () => {
    const { outcome, target: to } = target();
    const { decide } = cellReviewActions(to);
    await decide([reviewed(1, { ask: ASK })], {
      accept: false,
      reason: 'wrong column'
    });
    expect(outcome).not.toHaveBeenCalled();

    await decide([reviewed(0, { ask: ASK })], { accept: true });

    expect(outcome.mock.calls).toEqual([
      [
        'reply',
        {
          session: 'ses_1',
          ask_id: 'per_1',
          answer: 'once',
          cells: [
            { index: 0, accept: true, reason: '' },
            { index: 1, accept: false, reason: 'wrong column' }
          ]
        }
      ]
    ]);
    expect(pendingDecisions.decisionsOf('per_1').size).toBe(0);
  });

  it('that are all accepted, or all rejected without a reason, are a plain answer', async () => {
    const { outcome, target: to } = target();
    const both = [reviewed(0, { ask: ASK }), reviewed(1, { ask: ASK })];
    await cellReviewActions(to).decide(both, { accept: true });
    await cellReviewActions(to).decide(both, { accept: false });

    const answers = outcome.mock.calls as unknown as [string, object][];
    expect(answers.map(([, fields]) => fields)).toEqual([
      { session: 'ses_1', ask_id: 'per_1', answer: 'once' },
      { session: 'ses_1', ask_id: 'per_1', answer: 'reject' }
    ]);
  });

  it('can be taken back until then', async () => {
    const { outcome, target: to } = target();
    const { decide, takeBack } = cellReviewActions(to);
    await decide([reviewed(0, { ask: ASK })], { accept: false });
    takeBack(reviewed(0, { ask: ASK }));
    await decide([reviewed(1, { ask: ASK })], { accept: true });

    expect(outcome).not.toHaveBeenCalled();
  });

  it('stay rejected where the question is allowed as a whole', async () => {
    const { outcome, target: to } = target();
    await cellReviewActions(to).decide([reviewed(1, { ask: ASK })], {
      accept: false,
      reason: ''
    });
    answerActions(to).reply('per_1', 'once');

    expect(outcome.mock.calls[0]).toMatchObject([
      'reply',
      { answer: 'once', cells: [{ index: 1, accept: false }] }
    ]);
  });
});

describe('changes that were made', () => {
  it('are taken back call by call, the newest first', async () => {
    const { outcome, target: to } = target();
    await cellReviewActions(to).decide(
      [reviewed(0), reviewed(0, { callId: 'call_2' }), reviewed(1)],
      { accept: false, reason: 'no' }
    );

    expect(outcome.mock.calls).toMatchObject([
      ['review-cells', { call: 'call_2', decisions: [{ index: 0 }] }],
      [
        'review-cells',
        { call: 'call_1', decisions: [{ index: 0 }, { index: 1 }] }
      ]
    ]);
  });

  it('say why one could not be taken back', async () => {
    const changes = [{ problem: '' }, { problem: 'The cell was changed.' }];
    const { target: to } = target({ answer: { changes } });

    expect(
      await cellReviewActions(to).decide([reviewed(0)], { accept: false })
    ).toBe('The cell was changed.');
  });

  it('accept a part of a change', async () => {
    const { outcome, target: to } = target();
    await cellReviewActions(to).decide([reviewed(0)], {
      accept: true,
      source: 'x = 2'
    });

    expect(outcome.mock.calls[0]).toMatchObject([
      'review-cells',
      { decisions: [{ accept: true, source: 'x = 2' }] }
    ]);
  });
});

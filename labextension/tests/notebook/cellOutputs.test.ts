/** Which outputs of a cell belong to the turn of a segment. */
import { describe, expect, it } from 'vitest';
import { outputsOfTurn } from '../../src/notebook/rendering/cellOutputs';
import type { ISegment } from '../../src/protocol/segment';
import { assistant, segment, text } from '../builders';

const at = (part: number, more: Partial<ISegment> = {}) =>
  segment([assistant([text(`From ${part}.`)])], {
    turn: 'msg_1',
    start: { part, offset: 0, joint: '' },
    ...more
  });

describe('the outputs of a turn', () => {
  it('are those of its segments and what stands between them', () => {
    const [first, second] = [at(0), at(4)];
    const other = at(0, { turn: 'msg_2' });

    expect(outputsOfTurn([null, first, null, second, other], at(4))).toEqual([
      [first, null, second],
      2
    ]);
  });

  it('are the segment alone until its cell is known, or where it tells no place', () => {
    const own = at(4);
    const old = at(0, { start: undefined });

    expect(outputsOfTurn([], own)).toEqual([[own], 0]);
    expect(outputsOfTurn([old, old], old)).toEqual([[old], 0]);
  });
});

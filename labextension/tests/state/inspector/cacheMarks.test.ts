/** Cache marks are known by request, and by the block that they stand after. */
import { describe, expect, it } from 'vitest';
import {
  marksAfterBlock,
  marksOfRequest
} from '../../../src/state/inspector/cacheMarks';
import { withDefinitions } from '../../inspector/definedTools';
import { sample } from '../../inspector/samples';

const VIEW = {
  ...withDefinitions(sample('pi').view, [['read', 'edit']]),
  cache_marks: {
    request: [2, 2, 2, 5],
    item: [0, 3, -1, 7],
    definition: [1, -1, -1, -1],
    place: ['', '', 'message 4, block 1', ''],
    lifetime: ['1h', '', '', '5m']
  }
};

describe('the cache marks of a request', () => {
  it('are numbered in it', () => {
    expect(
      marksOfRequest(VIEW, 2).map(({ number, markCount }) => [
        number,
        markCount
      ])
    ).toEqual([
      [1, 3],
      [2, 3],
      [3, 3]
    ]);
    expect(marksOfRequest(VIEW, 5)).toEqual([
      {
        number: 1,
        markCount: 1,
        item: 7,
        definition: null,
        place: '',
        lifetime: '5m'
      }
    ]);
  });

  it('are none where none is recorded', () => {
    expect(marksOfRequest(VIEW, 3)).toEqual([]);
    expect(marksOfRequest(sample('pi').view, 2)).toEqual([]);
  });

  it('stand after a definition, and after no other of the same item', () => {
    const marks = marksOfRequest(VIEW, 2);
    const after = (name: string, item = 0, kind = 'tools') =>
      marksAfterBlock(VIEW, marks, { item, kind, name }).map(
        ({ number }) => number
      );

    expect(after('edit')).toEqual([1]);
    expect(after('read')).toEqual([]);
    expect(after('', 3, 'user')).toEqual([2]);
  });
});

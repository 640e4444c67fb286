/** The places that an inspector is opened at. */
import { describe, expect, it } from 'vitest';
import {
  besideWord,
  editTarget,
  hasIds,
  placeOf,
  readArguments,
  readLink
} from '../../src/inspector/targets';
import type { TimelineView } from '../../src/protocol/generated';

const VIEW = {
  requests: { id: ['msg_1', 'msg_2'] },
  items: {
    id: ['msg_0/prt_1', 'msg_1/prt_2', 'msg_1/prt_2/result', 'msg_2/prt_3'],
    entered: [0, 1, 1, 2]
  }
} as unknown as TimelineView;

describe('a link', () => {
  it('counts requests and items from 1', () => {
    expect(readLink('palimpsest:ses_1/4/8')).toEqual({
      session: 'ses_1',
      request: 3,
      item: 7
    });
  });

  it.each([
    ['beside=ses_2', { session: 'ses_2' }, {}],
    [
      'beside=runs%2Fb.jsonl&side=second',
      { path: 'runs/b.jsonl' },
      { side: 'second' }
    ]
  ])('names the session beside, too: %s', (query, beside, more) => {
    const read = readLink(`palimpsest:ses_1/4?${query}`);

    expect(read).toEqual({ session: 'ses_1', request: 3, beside, ...more });
    expect(besideWord(read?.beside)).toBe(Object.values(beside)[0]);
  });

  it('opens no side of a session that has none beside it', () => {
    expect(readLink('palimpsest:ses_1?side=second')).toEqual({
      session: 'ses_1'
    });
  });

  it('may stand behind a sharp, where only the schemes of the web are let through', () => {
    expect(readLink('#palimpsest:ses_1')).toEqual({ session: 'ses_1' });
  });

  it.each(['https://palimpsest:1/2', '#ses_1', 'palimpsest:', 'javascript:0'])(
    'is not %s',
    href => {
      expect(readLink(href)).toBeNull();
    }
  );
});

describe('the arguments of the command', () => {
  it('are read as far as they are of their types', () => {
    expect(
      readArguments({
        session: 'ses_1',
        request: 3,
        item: 'prt_2',
        against: -1,
        path: 7,
        tab: '',
        more: 'x'
      })
    ).toEqual({ session: 'ses_1', request: 3, item: 'prt_2' });
  });
});

describe('the arguments that the layout keeps', () => {
  it('are read again as they were', () => {
    const kept = {
      ...readLink('palimpsest:ses_1/4/8?tab=cost&range=2-5&find=x&what_if=1')
    };

    expect(
      readArguments(JSON.parse(JSON.stringify(kept)) as typeof kept)
    ).toEqual(kept);
    expect(kept).toMatchObject({
      tab: 'cost',
      range: { first: 1, last: 4 },
      what_if: true
    });
    expect(placeOf(kept)).toMatchObject({ request: 3, item: 7, tab: 'cost' });
  });

  it.each([
    { filter: 'x' },
    { filter: null },
    { range: [3] },
    { range: 'x' },
    { tab: 4 },
    { against: {} },
    { zoom: -1 }
  ])('are left out where they are of another type: %o', args => {
    expect(readArguments(args)).toEqual({});
  });
});

describe('a place', () => {
  it('is found by the ids of a step and a part', () => {
    const target = { request: 'msg_2', item: 'prt_2' };

    expect(hasIds(target)).toBe(true);
    expect(placeOf(target, VIEW)).toEqual({ request: 1, item: 2 });
  });

  it('is where an item entered, if no request is named', () => {
    expect(placeOf({ item: 'msg_1' }, VIEW)).toEqual({ request: 1, item: 2 });
  });

  it('is the newest where an id is not known', () => {
    expect(placeOf({ request: 'msg_9' }, VIEW)).toEqual({
      request: null,
      item: null
    });
  });
});

it('edits the part of a call, not its result', () => {
  expect(editTarget('msg_1/prt_2/result')).toBe('prt_2');
  expect(editTarget('msg_1')).toBe('msg_1');
});

/** A report answers from its own data: tracks snap to what was computed beforehand, texts are as chosen. */
import { describe, expect, it } from 'vitest';
import type { ViewAnswer, ViewQuery } from '../../src/protocol/generated';
import {
  readBeside,
  readReport,
  type IReportData
} from '../../src/report/reportData';
import { ReportSource } from '../../src/report/reportSource';
import { ItemStates } from '../../src/state/inspector/figures/itemStates';
import { whyText } from '../../src/state/inspector/why';
import { WORDS } from '../../src/widget/hostParts';
import { sample } from '../inspector/samples';

const SAMPLE = sample('swe_agent');
const [RAW, LAST] = SAMPLE.tracks;
if (RAW === undefined || LAST === undefined) {
  throw new Error('The sample has no tracks.');
}

const TEXTS = SAMPLE.view.items.id.map((_, item) => `Text of ${item}`);

function data(texts: IReportData['texts'] = 'preview'): IReportData {
  return {
    view: SAMPLE.view,
    stops: [
      { policy: 'raw', numbers: {}, track: RAW as never },
      { policy: 'last', numbers: { n: 5 }, track: LAST as never },
      { policy: 'last', numbers: { n: 20 }, track: RAW as never }
    ],
    texts,
    items: texts === 'none' ? [] : TEXTS,
    uses: {
      names: ['first.py', 'other.py'],
      items: [[1, 4], [4]],
      request: [3, 5, 5],
      name: [0, 1, 0],
      sources: [1, 1, 2]
    },
    compactions: [],
    notes: { notes: [], problems: [] },
    subagents: {}
  };
}

function ask(query: unknown, given = data()): Promise<ViewAnswer> {
  return new ReportSource(given, WORDS).ask(query as ViewQuery);
}

describe('a report', () => {
  it('puts columns that stand once where they belong', () => {
    const packed = {
      columns: [[1, 2, 3]],
      data: {
        ...data(),
        view: { session: 's', total: { column: 0 } },
        stops: [{ policy: 'raw', numbers: {}, track: { read: { column: 0 } } }]
      }
    };

    const read = readReport(packed) as unknown as {
      view: { total: number[] };
      stops: { track: { read: number[] } }[];
    };

    expect(read.view.total).toEqual([1, 2, 3]);
    expect(read.stops[0]?.track.read).toEqual([1, 2, 3]);
  });

  it('holds the notes of people, which it cannot change', async () => {
    const notes = { notes: [], problems: ['Line 2 is no note.'] };
    const source = new ReportSource({ ...data(), notes }, WORDS);

    expect((await source.ask({ ask: 'notes' })).notes).toEqual(notes);
    expect('note' in source).toBe(false);
  });

  it('answers about each subagent by its own data, also from within another', async () => {
    const view = { ...SAMPLE.view, session: 'ses_child' };
    const child = { ...data(), view, items: ['Of the child'] };
    const source = new ReportSource(
      { ...data(), subagents: { ses_child: child, ses_other: data('none') } },
      WORDS
    );

    const opened = source.subagentSource('ses_child');

    expect(source.subagentSource('ses_child')).toBe(opened);
    expect((await opened?.ask({ ask: 'view' }))?.view?.session).toBe(
      'ses_child'
    );
    const first = { item: 0, request: 0, policy: 'recorded', numbers: {} };
    const query = { ask: 'item', offset: 0, ...first } as ViewQuery;
    expect((await opened?.ask(query))?.item?.text).toBe('Of the child');
    expect((await source.ask(query)).item?.text).toBe('Text of 0');
    expect(opened?.subagentSource('ses_other')).toBe(
      source.subagentSource('ses_other')
    );
    expect(source.subagentSource('ses_third')).toBe(null);
  });

  it('holds a second session where it compares two, and else none', () => {
    const one = { columns: [], data: data() };
    const comparison = { first: {}, second: {}, figures: [] };

    const beside = readBeside({ ...one, second: one, comparison });

    expect(beside?.second.view.session).toBe(SAMPLE.view.session);
    expect(beside?.comparison).toBe(comparison);
    expect(readBeside(one)).toBeNull();
    expect(readBeside({ ...one, second: {}, comparison })).toBeNull();
    expect(readBeside({ ...one, second: one, comparison: {} })).toBeNull();
  });

  it.each([null, {}, { columns: [] }, { columns: [], data: { view: 1 } }])(
    'passes over data of another kind: %j',
    packed => {
      expect(readReport(packed)).toBeNull();
    }
  );

  it('names what later answers used of an item that existed then', async () => {
    const uses = async (item: number, request: number) =>
      (await ask({ ask: 'uses', item, request })).uses;

    expect(await uses(1, 0)).toEqual([
      { request: 3, names: ['first.py'], total: 1 },
      { request: 5, names: ['first.py'], total: 1 }
    ]);
    // Item 4 came after request 3; the names are in the order of the answer.
    expect(await uses(4, 0)).toEqual([
      { request: 5, names: ['other.py', 'first.py'], total: 2 }
    ]);
    expect(await uses(1, 4)).toHaveLength(1);
    expect(await uses(2, 0)).toEqual([]);
  });

  it('snaps to the nearest stop, and says what it does not hold', async () => {
    const near = await ask({ ask: 'track', policy: 'last', numbers: { n: 6 } });
    const far = await ask({ ask: 'track', policy: 'last', numbers: { n: 19 } });
    const none = await ask({ ask: 'track', policy: 'other', numbers: {} });

    expect(near.track).toBe(LAST);
    expect(far.track).toBe(RAW);
    expect(none.error).toBe('other is not in this report.');
  });

  it('shows the texts that it has, and says when it has none', async () => {
    const query = {
      ask: 'item',
      item: 2,
      request: 9,
      policy: 'recorded',
      numbers: {},
      offset: 5
    };
    const some = await ask(query);
    const none = await ask(query, data('none'));

    expect(some.item?.text).toBe('of 2');
    expect(some.item?.chars).toBe('Text of 2'.length);
    expect(none.error).toBe('Texts are not in this report.');
  });

  it('says of a block that is not whole why it has no text', async () => {
    const states = new ItemStates(SAMPLE.view, SAMPLE.view.recorded);
    const last = SAMPLE.view.requests.id.length - 1;
    const { request } = await ask({
      ask: 'request',
      request: last,
      policy: 'recorded',
      numbers: {},
      first: 0,
      find: ''
    });

    const changed = (request?.blocks ?? []).filter(
      ({ state }) => state !== 'whole'
    );
    expect(changed.length).toBeGreaterThan(0);
    for (const { item, text } of changed) {
      expect(text).toBe(
        `${whyText(states, item ?? 0, last)} What the model was shown instead is not in this report.`
      );
    }
  });

  it('holds the blocks of a request that match, in pieces', async () => {
    const query = {
      ask: 'request',
      request: 9,
      policy: 'recorded',
      numbers: {},
      first: 0,
      find: ''
    };
    const all = await ask(query);
    const found = await ask({ ...query, find: 'TEXT OF 3' });
    const later = await ask({ ...query, first: 2 });

    const most = SAMPLE.view.requests.items[9] ?? 0;
    expect(all.request?.total).toBeGreaterThan(2);
    expect(all.request?.total).toBeLessThanOrEqual(most);
    expect(found.request?.blocks.map(({ item }) => item)).toContain(3);
    expect(later.request?.blocks[0]).toEqual(all.request?.blocks[2]);
  });
});

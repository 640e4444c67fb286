/** A source that answers from a view and its tracks, as a kernel would: one outer boundary, faked. */
import type {
  CompactionText,
  NoteView,
  TimelineView,
  TrackView,
  ViewAnswer,
  ViewQuery
} from '../../src/protocol/generated';
import { ItemStates } from '../../src/state/inspector/figures/itemStates';
import { policyText } from '../../src/state/inspector/labels';
import type { IInspectorSource } from '../../src/state/inspector/source';
import { windowRows } from '../../src/state/inspector/figures/windowRows';

const NOTHING = { unchanged: false, milliseconds: 12, error: '' };
const PIECE = 200;

export interface ISampleSource extends IInspectorSource {
  /** Every question, in order. */
  readonly asked: ViewQuery[];
  /** The view that is answered from now on. */
  view: TimelineView;
}

/** Returns the source; `text` is the text of each item. */
export function sampleSource(
  view: TimelineView,
  tracks: readonly TrackView[],
  text: (item: number) => string = item => view.items.label[item] ?? '',
  compactions: readonly CompactionText[] = [],
  notes: readonly NoteView[] = []
): ISampleSource {
  const asked: ViewQuery[] = [];
  const source: ISampleSource = {
    view,
    asked,
    ask: query => {
      asked.push(query);
      if (query.ask === 'notes') {
        return Promise.resolve({
          ...NOTHING,
          notes: { notes: [...notes], problems: [] }
        });
      }
      const recorded =
        query.ask === 'compaction' ? compactions[query.number] : undefined;
      return Promise.resolve(
        recorded === undefined
          ? answer(source.view, tracks, text, query)
          : { ...NOTHING, compaction: recorded }
      );
    }
  };
  return source;
}

function answer(
  view: TimelineView,
  tracks: readonly TrackView[],
  text: (item: number) => string,
  query: Exclude<ViewQuery, { ask: 'notes' }>
): ViewAnswer {
  switch (query.ask) {
    case 'view':
      return query.after === view.seq && query.price === undefined
        ? { ...NOTHING, unchanged: true }
        : { ...NOTHING, view };
    case 'track': {
      const asked = policyText(query.policy, query.numbers);
      const track = tracks.find(
        path => path.policy === asked || path.policy.startsWith(`${asked} `)
      );
      return track === undefined
        ? { ...NOTHING, error: `There is no track of ${asked}.` }
        : { ...NOTHING, track };
    }
    case 'search': {
      const items = view.items.id
        .map((_, item) => item)
        .filter(item =>
          text(item).toLowerCase().includes(query.text.toLowerCase())
        )
        .map(item => ({ item, count: 1, excerpt: text(item) }));
      return {
        ...NOTHING,
        search: { items, total: items.length, note: '' }
      };
    }
    case 'comparison':
      return { ...NOTHING, error: 'Nothing is beside this sample.' };
    case 'uses':
      return {
        ...NOTHING,
        uses: [{ request: query.request, names: [text(query.item)], total: 2 }]
      };
    case 'item':
      return {
        ...NOTHING,
        item: {
          item: query.item,
          state: 'whole',
          text: text(query.item).slice(query.offset, query.offset + PIECE),
          offset: query.offset,
          chars: text(query.item).length
        }
      };
    case 'request':
      return { ...NOTHING, request: requestText(view, text, query) };
    case 'compaction':
      return {
        ...NOTHING,
        compaction: {
          number: query.number,
          request: 1,
          items: [0, 1],
          item_tokens: [600, 400],
          summary: text(0),
          summary_chars: text(0).length,
          tokens_before: 1000,
          tokens_after: 100,
          kinds: [{ kind: text(2), found: 3, lost: 1, needed: 1 }],
          lost: [{ name: text(1), kind: text(2), needed: [1] }],
          refetching: 0.5,
          fetches: 1,
          sentences: [text(0)]
        }
      };
  }
}

function requestText(
  view: TimelineView,
  text: (item: number) => string,
  query: Extract<ViewQuery, { ask: 'request' }>
): NonNullable<ViewAnswer['request']> {
  const states = new ItemStates(view, view.recorded);
  const wanted = query.find.toLowerCase();
  const rows = windowRows(states, query.request).filter(row =>
    text(row.item).toLowerCase().includes(wanted)
  );
  return {
    request: query.request,
    policy: query.policy,
    basis: 'rebuilt',
    note: 'Rebuilt from the messages that were recorded before it.',
    first: query.first,
    total: rows.length,
    tokens: view.recorded.total[query.request] ?? 0,
    blocks: rows.slice(query.first, query.first + PIECE).map(row => ({
      item: row.item,
      name: '',
      words: '',
      pinned: false,
      new: false,
      remark: '',
      is_error: false,
      role: row.kind === 'output' ? 'tool' : 'assistant',
      kind: row.kind,
      state: row.state,
      text: text(row.item).slice(0, 2000),
      chars: text(row.item).length,
      tokens: Math.round(row.tokens)
    }))
  };
}

/** Answers an inspector's questions from a report's own data: no kernel, no network. */
import {
  BLOCK_CHARS,
  EXCERPT_CHARS,
  MAX_BLOCKS,
  MAX_SEARCHED,
  MAX_USED_NAMES,
  MAX_USES,
  ROLES,
  type AskItem,
  type AskRequest,
  type AskUses,
  type RequestItem,
  type RequestText,
  type TrackView,
  type UsedNames,
  type ViewAnswer,
  type ViewQuery
} from '../protocol/generated';
import { definitionsOf } from '../state/inspector/definitionRows';
import { isGone, ItemStates } from '../state/inspector/figures/itemStates';
import { scaleAt } from '../state/inspector/figures/requestScale';
import type { IInspectorSource } from '../state/inspector/source';
import { whyText } from '../state/inspector/why';
import { nearestStop } from '../state/inspector/stops';
import type { IWords } from '../views/host';
import type { IReportData, IReportUses } from './reportData';

const RECORDED = 'recorded';

/**
 * A report as the source of an inspector.
 *
 * Responsibilities: find the track that was computed beforehand; show of texts what the report has; be one source for
 * each subagent.
 */
export class ReportSource implements IInspectorSource {
  private readonly _states = new Map<TrackView, ItemStates>();
  private readonly _subagents = new Map<string, ReportSource>();

  constructor(
    private readonly _data: IReportData,
    private readonly _words: IWords,
    private readonly _parent: ReportSource | null = null
  ) {}

  get stops() {
    return this._data.stops;
  }

  /** Returns the source of a subagent; the report's own session holds the sources of all, at any depth. */
  subagentSource(session: string): ReportSource | null {
    if (this._parent !== null) {
      return this._parent.subagentSource(session);
    }
    const data = this._data.subagents[session];
    if (data !== undefined && !this._subagents.has(session)) {
      this._subagents.set(session, new ReportSource(data, this._words, this));
    }
    return this._subagents.get(session) ?? null;
  }

  ask(query: ViewQuery): Promise<ViewAnswer> {
    return Promise.resolve(this.answerNow(query));
  }

  answerNow(query: ViewQuery): ViewAnswer {
    switch (query.ask) {
      case 'view':
        return answerWith({ view: this._data.view });
      case 'track': {
        const track = this._trackOf(query.policy, query.numbers);
        return track === null
          ? errorAnswer(
              this._words.__('%1 is not in this report.', query.policy)
            )
          : answerWith({ track });
      }
      case 'item':
        return this._answerItem(query);
      case 'uses':
        return answerWith({ uses: usesOfItem(this._data.uses, query) });
      case 'request':
        return this._answerRequest(query);
      case 'compaction': {
        const compaction = this._data.compactions[query.number];
        return compaction === undefined
          ? errorAnswer(
              this._words.__('This compaction is not in this report.')
            )
          : answerWith({ compaction });
      }
      case 'notes':
        return answerWith({ notes: this._data.notes });
      case 'search':
        return this._answerSearch(query.text);
      case 'comparison':
        // A report's page reads its comparison from the data, without a question.
        return errorAnswer(this._words.__('No comparison is in this report.'));
    }
  }

  private _answerSearch(text: string): ViewAnswer {
    const { items, texts } = this._data;
    if (texts === 'none') {
      return errorAnswer(this._words.__('Texts are not in this report.'));
    }
    const matches = items.flatMap((whole, item) => {
      const at = whole.toLowerCase().indexOf(text.toLowerCase());
      const from = Math.max(at - EXCERPT_CHARS / 4, 0);
      return at < 0
        ? []
        : [
            {
              item,
              count: whole.toLowerCase().split(text.toLowerCase()).length - 1,
              excerpt: whole.slice(from, from + EXCERPT_CHARS)
            }
          ];
    });
    return answerWith({
      search: {
        items: matches.slice(0, MAX_SEARCHED),
        total: matches.length,
        note:
          texts === 'preview'
            ? this._words.__('Of each text this report has the beginning.')
            : ''
      }
    });
  }

  private _trackOf(
    policy: string,
    numbers: Readonly<Record<string, number>>
  ): TrackView | null {
    return policy === RECORDED
      ? this._data.view.recorded
      : (nearestStop(this._data.stops, policy, numbers)?.track ?? null);
  }

  private _statesOf(
    policy: string,
    numbers: Readonly<Record<string, number>>
  ): ItemStates {
    const track = this._trackOf(policy, numbers) ?? this._data.view.recorded;
    const cached = this._states.get(track);
    const states = cached ?? new ItemStates(this._data.view, track);
    this._states.set(track, states);
    return states;
  }

  private _answerItem(query: AskItem): ViewAnswer {
    if (this._data.texts === 'none') {
      return errorAnswer(this._words.__('Texts are not in this report.'));
    }
    const states = this._statesOf(query.policy, query.numbers);
    const { definition, item, offset } = query;
    const whole = this._data.items[item] ?? '';
    const text =
      definition === undefined
        ? whole
        : (definitionTexts(whole)[definition] ?? '');
    return answerWith({
      item: {
        item,
        state: states.stateAt(item, query.request) ?? 'whole',
        text: text.slice(offset),
        offset,
        chars: text.length
      }
    });
  }

  private _answerRequest(query: AskRequest): ViewAnswer {
    const { view, items, texts } = this._data;
    const states = this._statesOf(query.policy, query.numbers);
    const searched = query.find.toLowerCase();
    const matches: RequestItem[] = [];
    const { id: ids, order } = view.items;
    for (const item of order.length > 0 ? order : ids.keys()) {
      const block = this._itemBlock(states, item, query.request);
      const definitions =
        block === null ? [] : this._definitionBlocks(block, item);
      if (definitions.length > 0) {
        matches.push(
          ...definitions.filter(({ name, text }) =>
            `${name} ${text}`.toLowerCase().includes(searched)
          )
        );
        continue;
      }
      const text = items[item] ?? '';
      if (block !== null && text.toLowerCase().includes(searched)) {
        matches.push(block);
      }
    }
    const { first } = query;
    const isFact =
      states.track.facts_until === undefined ||
      query.request < states.track.facts_until;
    const request: RequestText = {
      request: query.request,
      policy: states.track.policy,
      basis: isFact
        ? (view.requests.seen[query.request] ?? 'partial')
        : 'estimate',
      note:
        texts === 'none'
          ? this._words.__('Texts are not in this report.')
          : texts === 'preview'
            ? this._words.__('Of each text this report has the beginning.')
            : this._words.__('Made from the texts of the session.'),
      blocks: matches.slice(first, first + MAX_BLOCKS),
      first,
      total: matches.length,
      tokens: states.track.total[query.request] ?? 0
    };
    return answerWith({ request });
  }

  /** Returns a block for each definition of an item of tools, with what the report has of their texts. */
  private _definitionBlocks(block: RequestItem, item: number): RequestItem[] {
    const { view, items } = this._data;
    const { firstIndex: first, count } = definitionsOf(view, item);
    const texts = count === 0 ? [] : definitionTexts(items[item] ?? '');
    const itemTokens = Math.max(view.items.tokens[item] ?? 0, 1);
    return Array.from({ length: count }, (_, index) => {
      const text = texts[index] ?? '';
      const tokens = view.definitions.tokens[first + index] ?? 0;
      return {
        ...block,
        name: view.definitions.name[first + index] ?? '',
        words: '',
        text: text.slice(0, BLOCK_CHARS),
        chars: text.length,
        tokens: Math.round((block.tokens * tokens) / itemTokens)
      };
    });
  }

  /** Returns an item's block in a request; null where it is not in it. */
  private _itemBlock(
    states: ItemStates,
    item: number,
    request: number
  ): RequestItem | null {
    const { view, items } = this._data;
    const state = states.stateAt(item, request);
    const tokens = states.tokensAt(item, request);
    if (state === null || (isGone(state) && tokens === 0)) {
      return null;
    }
    const kind = view.kinds[view.items.kind[item] ?? 0] ?? '';
    const text =
      state === 'whole'
        ? (items[item] ?? '')
        : this._words.__(
            '%1 What the model was shown instead is not in this report.',
            whyText(states, item, request)
          );
    return {
      item,
      role: (ROLES as Readonly<Record<string, string>>)[kind] ?? 'user',
      kind,
      name: view.items.tool[item] ?? '',
      words: view.items.label[item] ?? '',
      state,
      pinned: view.items.pinned.includes(item),
      new: false,
      remark: '',
      is_error: view.items.errors.includes(item),
      text: text.slice(0, BLOCK_CHARS),
      chars: text.length,
      tokens: Math.round(tokens * scaleAt(states, request).factor)
    };
  }
}

/** Returns the definitions in a text of tools, whole; none of a text that was cut. */
function definitionTexts(text: string): string[] {
  try {
    const tools: unknown = JSON.parse(text);
    return Array.isArray(tools)
      ? tools.flatMap(declaredTools).map(tool => JSON.stringify(tool))
      : [];
  } catch {
    return [];
  }
}

/** Returns the definitions in one of the tools; Gemini sends its functions as a list within one. */
function declaredTools(tool: unknown): unknown[] {
  const fields = tool as Readonly<Record<string, unknown>> | null;
  const declared =
    fields?.functionDeclarations ?? fields?.function_declarations;
  return Array.isArray(declared) ? declared : [tool];
}

/** Returns the first answers from a request on that used names of an item, as a kernel answers it. */
function usesOfItem(
  { names, items, request, name, sources }: IReportUses,
  query: AskUses
): UsedNames[] {
  const placeByName = items.map(held => held.indexOf(query.item));
  const namesAt = new Map<number, string[]>();
  request.forEach((usedAt, row) => {
    const number = name[row] ?? -1;
    const index = placeByName[number] ?? -1;
    if (usedAt >= query.request && index >= 0 && index < (sources[row] ?? 0)) {
      const usedNames = namesAt.get(usedAt) ?? [];
      namesAt.set(usedAt, [...usedNames, names[number] ?? '']);
    }
  });
  return [...namesAt].slice(0, MAX_USES).map(([usedAt, usedNames]) => ({
    request: usedAt,
    names: usedNames.slice(0, MAX_USED_NAMES),
    total: usedNames.length
  }));
}

function answerWith(fields: Partial<ViewAnswer>): ViewAnswer {
  return { unchanged: false, milliseconds: 0, error: '', ...fields };
}

function errorAnswer(error: string): ViewAnswer {
  return answerWith({ error });
}

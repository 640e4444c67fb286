/**
 * The tokens of each kind in each request: the layers of the stacked area.
 *
 * One pass over items and transitions: a running sum by kind, so that it is linear and no table of items by
 * requests is made. Of a session that grows only the requests are counted from which on it differs from before.
 */
import type { ItemStates } from './itemStates';
import { requestScale } from './requestScale';

/** Names of the layers that are no kind of an item. */
export const UNSEEN = 'unseen';
export const PLACEHOLDER = 'placeholder';

export interface IKindSeries {
  /** Names of the layers, lowest first; only those that have tokens somewhere. */
  readonly names: readonly string[];
  /** Tokens of each layer at each request, scaled so that they add up to the request's total. */
  readonly layers: readonly Float64Array[];
  /** Their sum at each request. */
  readonly totals: Float64Array;
  /** By kind, and last of what stands in the place of items: the tokens that are counted, not scaled. */
  readonly countedTokens: readonly Float64Array[];
}

/** A track with its layers. */
export interface ICountedTrack {
  readonly states: ItemStates;
  readonly series: IKindSeries;
}

/**
 * Returns the layers of a track: what is not seen first, then the kinds in the view's order; what stands in the
 * place of cleared items is a layer of its own, and a summary counts as summary.
 *
 * `before` is a track that this one may go on from; where nothing differs its layers are returned themselves.
 */
export function kindSeries(
  states: ItemStates,
  before: ICountedTrack | null = null
): IKindSeries {
  const { view } = states;
  const requestCount = view.requests.id.length;
  const firstRequest =
    before === null ? 0 : firstDifference(before.states, states);
  if (
    before !== null &&
    firstRequest === requestCount &&
    before.series.totals.length === requestCount
  ) {
    return before.series;
  }
  const reusable = firstRequest > 0 ? before : null;
  const countedTokens = countTokensByLayer(
    states,
    firstRequest,
    reusable?.series.countedTokens ?? []
  );
  const scales = Array.from({ length: requestCount }, (_, request) =>
    requestScale(
      view.ruler,
      states.track.total[request],
      countedTokens.reduce((sum, series) => sum + (series[request] ?? 0), 0)
    )
  );
  const usedLayer = (name: string, valueAt: (request: number) => number) => {
    const series = new Float64Array(requestCount);
    const index = reusable?.series.names.indexOf(name) ?? -1;
    const oldValues = reusable?.series.layers[index]?.subarray(0, firstRequest);
    if (oldValues !== undefined) {
      series.set(oldValues);
    }
    let isUsed = oldValues?.some(value => value > 0) ?? false;
    for (let request = firstRequest; request < requestCount; request++) {
      const value = valueAt(request);
      series[request] = value;
      isUsed ||= value > 0;
    }
    return isUsed ? [{ name, series }] : [];
  };
  const scaledTokens = (sums: Float64Array | undefined) => (request: number) =>
    (sums?.[request] ?? 0) * (scales[request]?.factor ?? 0);
  const usedLayers = [
    ...usedLayer(UNSEEN, request => scales[request]?.unseenTokens ?? 0),
    ...view.kinds.flatMap((name, kind) =>
      usedLayer(name, scaledTokens(countedTokens[kind]))
    ),
    ...usedLayer(PLACEHOLDER, scaledTokens(countedTokens[view.kinds.length]))
  ];
  const totals = new Float64Array(requestCount);
  if (reusable !== null) {
    totals.set(reusable.series.totals.subarray(0, firstRequest));
  }
  for (const { series } of usedLayers) {
    for (let request = firstRequest; request < requestCount; request++) {
      totals[request] = (totals[request] ?? 0) + (series[request] ?? 0);
    }
  }
  return {
    names: usedLayers.map(entry => entry.name),
    layers: usedLayers.map(entry => entry.series),
    totals,
    countedTokens
  };
}

/** Returns the sums of each layer, of which those before a request are known. */
function countTokensByLayer(
  states: ItemStates,
  firstRequest: number,
  reusable: readonly Float64Array[]
): Float64Array[] {
  const { view, track } = states;
  const { items } = view;
  const requestCount = view.requests.id.length;
  const kindCount = view.kinds.length;
  const summaryLayer = Math.max(view.kinds.indexOf('summary'), 0);
  const sums = Array.from({ length: kindCount + 1 }, (_, layer) => {
    const series = new Float64Array(requestCount);
    // A kind that came since has no sums yet; the place of cleared items is the last.
    const index = layer === kindCount ? reusable.length - 1 : layer;
    const oldSums =
      layer < kindCount && layer >= reusable.length - 1
        ? undefined
        : reusable[index];
    if (oldSums !== undefined) {
      series.set(oldSums.subarray(0, firstRequest));
    }
    return series;
  });
  const addTokens = (layer: number, request: number, tokens: number) => {
    const series = sums[layer];
    if (
      series !== undefined &&
      request >= firstRequest &&
      request < requestCount
    ) {
      series[request] = (series[request] ?? 0) + tokens;
    }
  };
  // Differences first; they are summed at the end.
  const { request: at, state, tokens } = track.transitions;
  const countItem = (item: number) => {
    const entered = items.entered[item] ?? 0;
    const kind = items.kind[item] ?? 0;
    let layer = kind;
    let shownTokens = items.tokens[item] ?? 0;
    addTokens(layer, entered, shownTokens);
    for (const index of states.transitionsOf(item)) {
      // A decision that was made before an item was sent first holds from there on.
      const request = Math.max(at[index] ?? 0, entered);
      const newState = state[index] ?? 'whole';
      const nextTokens =
        newState === 'whole' ? (items.tokens[item] ?? 0) : (tokens[index] ?? 0);
      const nextLayer =
        newState === 'whole' || newState === 'truncated'
          ? kind
          : newState === 'summarised'
            ? summaryLayer
            : kindCount;
      addTokens(layer, request, -shownTokens);
      addTokens(nextLayer, request, nextTokens);
      layer = nextLayer;
      shownTokens = nextTokens;
    }
  };
  for (const item of itemsChangedSince(states, firstRequest)) {
    countItem(item);
  }
  for (const series of sums) {
    let sum = firstRequest > 0 ? (series[firstRequest - 1] ?? 0) : 0;
    for (let request = firstRequest; request < requestCount; request++) {
      sum += series[request] ?? 0;
      series[request] = sum;
    }
  }
  return sums;
}

/** Returns the items that entered at a request or later, or are shown otherwise then. */
function itemsChangedSince(
  states: ItemStates,
  firstRequest: number
): Iterable<number> {
  const { items } = states.view;
  const changedItems = new Set<number>();
  for (let item = items.id.length - 1; item >= 0; item--) {
    if ((items.entered[item] ?? 0) >= firstRequest) {
      changedItems.add(item);
    }
  }
  const { item: itemOfTransition, request: at } = states.track.transitions;
  for (let index = itemOfTransition.length - 1; index >= 0; index--) {
    if ((at[index] ?? 0) < firstRequest) {
      break;
    }
    changedItems.add(itemOfTransition[index] ?? 0);
  }
  return changedItems;
}

/** Returns the first request that two tracks count otherwise; the number of their requests where none is. */
function firstDifference(left: ItemStates, right: ItemStates): number {
  const [leftView, rightView] = [left.view, right.view];
  if (
    leftView.ruler.factor !== rightView.ruler.factor ||
    leftView.ruler.unseen !== rightView.ruler.unseen ||
    commonLength([leftView.kinds], [rightView.kinds]) < leftView.kinds.length ||
    leftView.kinds.indexOf('summary') !== rightView.kinds.indexOf('summary')
  ) {
    return 0;
  }
  let firstRequest = Math.min(
    leftView.requests.id.length,
    rightView.requests.id.length,
    commonLength([left.track.total], [right.track.total])
  );
  const commonItems = commonLength(
    [leftView.items.kind, leftView.items.entered, leftView.items.tokens],
    [rightView.items.kind, rightView.items.entered, rightView.items.tokens]
  );
  for (const { entered } of [leftView.items, rightView.items]) {
    for (let item = commonItems; item < entered.length; item++) {
      firstRequest = Math.min(firstRequest, entered[item] ?? 0);
    }
  }
  const [leftTransitions, rightTransitions] = [
    left.track.transitions,
    right.track.transitions
  ];
  const commonTransitions = commonLength(
    [
      leftTransitions.item,
      leftTransitions.request,
      leftTransitions.state,
      leftTransitions.tokens
    ],
    [
      rightTransitions.item,
      rightTransitions.request,
      rightTransitions.state,
      rightTransitions.tokens
    ]
  );
  for (const { request } of [leftTransitions, rightTransitions]) {
    for (let index = commonTransitions; index < request.length; index++) {
      firstRequest = Math.min(firstRequest, request[index] ?? 0);
    }
  }
  return firstRequest;
}

/** Returns how many values the lists of one side share with those of the other at their beginnings. */
function commonLength(
  left: readonly (readonly unknown[])[],
  right: readonly (readonly unknown[])[]
): number {
  let minLength = Infinity;
  left.forEach((list, index) => {
    const other = right[index] ?? [];
    const endIndex = Math.min(list.length, other.length, minLength);
    let at = list === other ? endIndex : 0;
    while (at < endIndex && list[at] === other[at]) {
      at += 1;
    }
    minLength = at;
  });
  return minLength;
}

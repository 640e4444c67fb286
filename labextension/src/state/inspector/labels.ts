/** Words for items, tokens, money and times, safe to draw on a canvas: one line, in the order of its characters. */
import type { PriceProfile, TimelineView } from '../../protocol/generated';
import { count, roundHalfEven, withDecimals } from '../text/numberFormat';
import { oneLine } from '../text/oneLine';

/** Returns a short name of an item, as its row shows it. */
export function itemLabel(view: TimelineView, item: number): string {
  const kind = view.kinds[view.items.kind[item] ?? 0] ?? '';
  const isTool = kind === 'output' || kind === 'call';
  const toolName = oneLine(view.items.tool[item] ?? '');
  const tool = toolName === '' && isTool ? '(no name)' : toolName;
  const label = oneLine(view.items.label[item] ?? '');
  if (kind === 'output') {
    return label === tool ? `${tool} →` : `${tool} → ${label}`;
  }
  if (kind === 'call') {
    return label === tool ? tool : `${tool} ${label}`;
  }
  return label === '' ? kind : label;
}

/** The longest file name, in letters, that is never cut. */
const MAX_FILE_LETTERS = 28;
/** Letters that stay of a label before a file's name: the tool and a little. */
const MIN_HEAD_LETTERS = 6;
/** A row of fewer letters shows the file alone. */
const MIN_PATH_LETTERS = 18;

/**
 * Returns a label in two pieces, of which the second, the file of a path at its end, is not to be cut.
 *
 * A command of several words, and a path that was cut already, stay in one piece.
 */
export function splitName(label: string): [head: string, tail: string] {
  const slashIndex = label.lastIndexOf('/');
  const tail = slashIndex < 0 ? '' : label.slice(slashIndex);
  const isPath = (label.match(/\s/g) ?? []).length <= 2 && !/[\s…]/.test(tail);
  return isPath && tail.length > 1 && tail.length <= MAX_FILE_LETTERS
    ? [label.slice(0, slashIndex), tail]
    : [label, ''];
}

/** Returns a label of at most `maxLetters` letters; a path is cut before its file. */
export function shortName(label: string, maxLetters: number): string {
  const [head, tail] = splitName(label);
  if (label.length <= maxLetters) {
    return label;
  }
  if (tail === '') {
    return `${label.slice(0, maxLetters - 1)}…`;
  }
  if (maxLetters < MIN_PATH_LETTERS) {
    const file = tail.slice(1);
    return file.length <= maxLetters
      ? file
      : `${file.slice(0, maxLetters - 1)}…`;
  }
  const headLength = Math.max(maxLetters - tail.length - 1, MIN_HEAD_LETTERS);
  const tailLength = maxLetters - headLength - 1;
  return `${head.slice(0, headLength)}…${label.slice(-tailLength)}`;
}

/** The mark before an estimate. */
export const ESTIMATE_MARK = '~';
/** The source of a price that a person gave. */
export const GIVEN_PRICE_SOURCE = 'given';
/** The mark behind names of estimates whose replay does not reproduce the recording. */
export const DOUBT_MARK = ' ?';

/** Returns whether the replay reproduces too little of the recording, so that what rests on it is pale. */
export function isDoubtful(view: TimelineView): boolean {
  return view.proof?.is_doubtful ?? false;
}

/** A billionth of a dollar is less than a token of any model costs. */
const MAX_USD_DECIMALS = 9;

/** Returns the decimals that an amount in dollars needs: two, and below a cent enough for its first digit. */
export function usdDecimals(value: number): number {
  return value === 0 || !Number.isFinite(value) || Math.abs(value) >= 0.01
    ? 2
    : Math.min(-Number(value.toExponential(0).split('e')[1]), MAX_USD_DECIMALS);
}

/**
 * Returns an amount in the money of a price: dollars, or tokens that were not cached; marked unless it is a fact.
 *
 * `digits` are the decimals of its column. `render/content/phrases.py` writes amounts by the same rule.
 */
export function money(
  value: number,
  unit: PriceProfile['unit'],
  isFact: boolean,
  minDecimals = 0
): string {
  const mark = isFact ? '' : ESTIMATE_MARK;
  return unit === 'units'
    ? `${mark}${count(value)} units`
    : `${mark}${usdText(value, minDecimals)} USD`;
}

/** Returns an amount in dollars without its unit: "0.41", "0.0004". */
export function usdText(value: number, minDecimals = 0): string {
  const [integer = '', decimals = ''] = withDecimals(
    value,
    Math.max(minDecimals, usdDecimals(value))
  ).split('.');
  return `${integer.replace(/\B(?=(\d{3})+$)/g, ',')}.${decimals}`;
}

/** Returns the models by whose prices the paid requests were computed: "a", "a and b", "a, b and c". */
export function pricedModelsText(view: TimelineView): string {
  const paidNames = new Set(paidModels(view));
  const names = view.price.other_models
    .filter(({ name }) => paidNames.has(name))
    .map(({ name }) => oneLine(name));
  names.unshift(oneLine(view.price.name));
  const last = names.pop() ?? '';
  return names.length === 0 ? last : `${names.join(', ')} and ${last}`;
}

/** Returns the model of each request that was paid: one that was refused may name another model. */
function paidModels(view: TimelineView): string[] {
  const { model, reported } = view.requests;
  const hasReports = reported.some(value => value !== null);
  return model
    .filter((_, requestIndex) => !hasReports || reported[requestIndex] !== null)
    .map(modelIndex => view.models[modelIndex] ?? '');
}

/** Returns the list that the prices of a view are from, in a sentence; '' where its amounts are facts, or units. */
export function priceSourceText(view: TimelineView): string {
  const { matches_recorded: isRecorded, source, unit } = view.price;
  return isRecorded || unit === 'units' ? '' : source;
}

/**
 * Returns the model whose price is shown, if a request, or any request with reported usage, was sent to another model;
 * else ''.
 */
export function foreignPriceModel(
  view: TimelineView,
  request?: number
): string {
  const { name, unit } = view.price;
  if (unit === 'units' || view.price.of_session) {
    return '';
  }
  const models =
    request === undefined
      ? paidModels(view)
      : [view.models[view.requests.model[request] ?? -1] ?? ''];
  return models.every(model => model === name) ? '' : oneLine(name);
}

/** Returns a share as a whole percentage. */
export function percent(share: number): string {
  return `${roundHalfEven(100 * share)}%`;
}

/** Returns the names of the policies that a view lists. */
export function policyNames(view: TimelineView): string[] {
  return view.policies.map(option => option.name);
}

/** Returns a policy with its numbers, as `policies.get` reads it. */
export function policyText(
  name: string,
  numbers: Readonly<Record<string, number>>
): string {
  return [
    name,
    ...Object.entries(numbers).map(([key, value]) => `${key}=${value}`)
  ].join(' ');
}

/**
 * Reads a single policy with its numbers; what is no number stays in the name.
 *
 * The longest of the known names with which the text begins is taken whole, with the numbers that stand in it.
 */
export function parsePolicy(
  text: string,
  knownNames: readonly string[] = []
): {
  name: string;
  numbers: Record<string, number>;
} {
  const knownName = knownNames
    .filter(name => text === name || text.startsWith(`${name} `))
    .reduce((best, name) => (name.length > best.length ? name : best), '');
  const numbers: Record<string, number> = {};
  const nameRest = text
    .slice(knownName.length)
    .split(' ')
    .filter(piece => {
      const match =
        /^([\p{L}_][\p{L}\d_.]*)=(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)$/u.exec(piece);
      if (match === null || text.includes('|')) {
        return true;
      }
      numbers[match[1] ?? ''] = Number(match[2]);
      return false;
    })
    .join(' ');
  return { name: `${knownName}${nameRest}`, numbers };
}

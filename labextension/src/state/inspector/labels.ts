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
const MAX_END_CHARS = 28;
/** Letters that stay of a label before a file's name: the tool and a little. */
const MIN_HEAD_LETTERS = 6;
/** A row of fewer letters shows the file alone. */
const FEW_LETTERS = 18;

/**
 * Returns a label in two pieces, of which the second, the file of a path at its end, is not to be cut.
 *
 * A command of several words, and a path that was cut already, stay in one piece.
 */
export function splitName(label: string): [head: string, tail: string] {
  const at = label.lastIndexOf('/');
  const tail = at < 0 ? '' : label.slice(at);
  const isPath = (label.match(/\s/g) ?? []).length <= 2 && !/[\s…]/.test(tail);
  return isPath && tail.length > 1 && tail.length <= MAX_END_CHARS
    ? [label.slice(0, at), tail]
    : [label, ''];
}

/** Returns a label of at most so many letters; a path is cut before its file. */
export function shortName(label: string, letters: number): string {
  const [head, tail] = splitName(label);
  if (label.length <= letters) {
    return label;
  }
  if (tail === '') {
    return `${label.slice(0, letters - 1)}…`;
  }
  if (letters < FEW_LETTERS) {
    const file = tail.slice(1);
    return file.length <= letters ? file : `${file.slice(0, letters - 1)}…`;
  }
  const before = Math.max(letters - tail.length - 1, MIN_HEAD_LETTERS);
  const end = letters - before - 1;
  return `${head.slice(0, before)}…${label.slice(-end)}`;
}

/** The mark before an estimate. */
export const ESTIMATED = '~';
/** The source of a price that a person gave. */
export const GIVEN = 'given';
/** The mark behind names of estimates whose replay does not reproduce the recording. */
export const DOUBTFUL = ' ?';

/** Returns whether the replay reproduces too little of the recording, so that what rests on it is pale. */
export function isDoubtful(view: TimelineView): boolean {
  return view.proof?.is_doubtful ?? false;
}

/** A billionth of a dollar is less than a token of any model costs. */
const MAX_USD_DIGITS = 9;

/** Returns the decimals that an amount in dollars needs: two, and below a cent enough for its first digit. */
export function usdDigits(value: number): number {
  return value === 0 || !Number.isFinite(value) || Math.abs(value) >= 0.01
    ? 2
    : Math.min(-Number(value.toExponential(0).split('e')[1]), MAX_USD_DIGITS);
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
  digits = 0
): string {
  const mark = isFact ? '' : ESTIMATED;
  return unit === 'units'
    ? `${mark}${count(value)} units`
    : `${mark}${usdText(value, digits)} USD`;
}

/** Returns an amount in dollars without its unit: "0.41", "0.0004". */
export function usdText(value: number, digits = 0): string {
  const [integer = '', decimals = ''] = withDecimals(
    value,
    Math.max(digits, usdDigits(value))
  ).split('.');
  return `${integer.replace(/\B(?=(\d{3})+$)/g, ',')}.${decimals}`;
}

/** Returns the models by whose prices the paid requests were computed: "a", "a and b", "a, b and c". */
export function pricedModels(view: TimelineView): string {
  const paid = new Set(paidModels(view));
  const names = view.price.other_models
    .filter(({ name }) => paid.has(name))
    .map(({ name }) => oneLine(name));
  names.unshift(oneLine(view.price.name));
  const last = names.pop() ?? '';
  return names.length === 0 ? last : `${names.join(', ')} and ${last}`;
}

/** Returns the model of each request that was paid: one that was refused may name another model. */
function paidModels(view: TimelineView): string[] {
  const { model, reported } = view.requests;
  const isKnown = reported.some(value => value !== null);
  return model
    .filter((_, at) => !isKnown || reported[at] !== null)
    .map(at => view.models[at] ?? '');
}

/** Returns the list that the prices of a view are from, in a sentence; '' where its amounts are facts, or units. */
export function priceSource(view: TimelineView): string {
  const { matches_recorded: isRecorded, source, unit } = view.price;
  return isRecorded || unit === 'units' ? '' : source;
}

/**
 * Returns the model whose price is shown, if a request, or any request with reported usage, was sent to another model;
 * else ''.
 */
export function foreignPrice(view: TimelineView, request?: number): string {
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
  const known = knownNames
    .filter(name => text === name || text.startsWith(`${name} `))
    .reduce((best, name) => (name.length > best.length ? name : best), '');
  const numbers: Record<string, number> = {};
  const rest = text
    .slice(known.length)
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
  return { name: `${known}${rest}`, numbers };
}

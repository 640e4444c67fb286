/** Words for items, tokens, money and times, safe to draw on a canvas: one line, in the order of its characters. */
import type { PriceView, TimelineView } from '../../protocol/generated';
import { count } from '../display/numberFormat';

/** Characters that break a line, or turn the order of what follows. */
const UNSAFE =
  /[\u0000-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/** Returns a text as one line, with a sign in the place of each character that is not to be seen. */
export function oneLine(text: string): string {
  return text.replace(UNSAFE, '·');
}

/** Returns a short name of an item, as its row shows it. */
export function itemLabel(view: TimelineView, item: number): string {
  const kind = view.kinds[view.items.kind[item] ?? 0] ?? '';
  const tool = oneLine(view.items.tool[item] ?? '');
  const label = oneLine(view.items.label[item] ?? '');
  if (kind === 'output') {
    return label === tool ? `${tool} →` : `${tool} → ${label}`;
  }
  if (kind === 'call') {
    return label === tool ? tool : `${tool} ${label}`;
  }
  return label === '' ? kind : label;
}

/** Returns an amount in the money of a price: dollars, or tokens that were not cached. */
export function money(value: number, unit: PriceView['unit']): string {
  if (unit === 'units') {
    return `${count(value)} units`;
  }
  return value !== 0 && Math.abs(value) < 0.01
    ? `${value.toPrecision(1)} USD`
    : `${value.toFixed(2)} USD`;
}

/** Returns a share as a whole percentage. */
export function percent(share: number): string {
  return `${Math.round(100 * share)}%`;
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

/** Reads a single policy with its numbers; what is no number stays in the name. */
export function parsePolicy(text: string): {
  name: string;
  numbers: Record<string, number>;
} {
  const numbers: Record<string, number> = {};
  const name = text
    .split(' ')
    .filter(piece => {
      const found = /^([a-z_]+)=(-?\d+(?:\.\d+)?)$/.exec(piece);
      if (found === null || text.includes('|')) {
        return true;
      }
      numbers[found[1] ?? ''] = Number(found[2]);
      return false;
    })
    .join(' ');
  return { name, numbers };
}

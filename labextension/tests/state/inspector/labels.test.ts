/** Names of items are cut where the rest still tells them apart. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import {
  foreignPriceModel,
  money,
  parsePolicy,
  policyText,
  pricedModelsText,
  shortName,
  splitName,
  usdText
} from '../../../src/state/inspector/labels';
import { pricesOfRequest } from '../../../src/state/inspector/figures/requestCost';
import { sample } from '../../inspector/samples';

/** What `tests/render/content/test_amounts.py` holds the kernel's words to. */
const AMOUNTS = JSON.parse(
  readFileSync('../tests/fixtures/amounts.json', 'utf-8')
) as [number, string][];

it.each(AMOUNTS)('writes %d USD as %s, as the kernel does', (value, text) => {
  expect(usdText(value)).toBe(text);
});

it('marks an amount that is no fact, and gives a column equal decimals', () => {
  expect(money(0.0704, 'USD', false, 4)).toBe('~0.0704 USD');
  expect(money(1130.4, 'units', false)).toBe('~1,130 units');
  expect(money(0.0004, 'USD', true)).toBe('0.0004 USD');
});

const FILE = 'read → packages/coding-agent/src/tui/tui-renderer.ts';
const COMMAND = 'bash cd /home/me/pi && npm run build -w @scope/pi-core';

it.each([
  [FILE, 30, 'read → package…/tui-renderer.ts'.length, '/tui-renderer.ts'],
  [FILE, 20, 20, 'tui-renderer.ts'.slice(-12)],
  [FILE, 12, 12, 'tui-rendere…'],
  [COMMAND, 20, 20, '…']
])('cuts %s to %i letters', (label, letters, _, end) => {
  const cut = shortName(label, letters);

  expect(cut.length).toBeLessThanOrEqual(letters);
  expect(cut.endsWith(end)).toBe(true);
});

it.each([
  ['sweagent.last_n n=3', 'sweagent.last_n', { n: 3 }],
  [
    'palimpsest prune.start_share=0.5',
    'palimpsest',
    { 'prune.start_share': 0.5 }
  ],
  ['mine Keep2=1e-7 länge=-2', 'mine', { Keep2: 1e-7, länge: -2 }],
  ['mine keep=5', 'mine keep=5', {}],
  ['mine keep=5 least=2', 'mine keep=5', { least: 2 }],
  ['as I like it x=2', 'as I like it', { x: 2 }],
  ['a n=1 | b n=2', 'a n=1 | b n=2', {}],
  ['openai.compact word=x', 'openai.compact word=x', {}]
])('reads the policy %s', (text, name, numbers) => {
  const known = ['mine', 'mine keep=5', 'as I like it', 'a', 'palimpsest'];

  expect(parsePolicy(text, known)).toEqual({ name, numbers });
  expect(parsePolicy(policyText(name, numbers), known)).toEqual({
    name,
    numbers
  });
});

it('keeps a name that fits', () => {
  expect(shortName(FILE, 200)).toBe(FILE);
});

it('parts a path before its file, and no command', () => {
  expect(splitName(FILE)).toEqual([
    'read → packages/coding-agent/src/tui',
    '/tui-renderer.ts'
  ]);
  expect(splitName(COMMAND)).toEqual([COMMAND, '']);
  expect(splitName('bash → cut/pi-codi…')).toEqual(['bash → cut/pi-codi…', '']);
});

it("names no price where the other models' requests were refused", () => {
  const { view } = sample('pi');
  const own = view.models[1];
  const shown = { ...view, price: { ...view.price, name: own ?? '' } };

  // The one request to another model reported no usage, and nothing was paid for it.
  expect(view.models.length).toBe(2);
  expect(foreignPriceModel(shown)).toBe('');
  expect(foreignPriceModel(view)).toBe(view.price.name);
});

it('names the price of each request’s own model, and of all that were paid', () => {
  const { view } = sample('pi');
  const [first = '', second = ''] = view.models;
  const { price } = view;
  const both = {
    ...view,
    price: {
      ...price,
      name: first,
      other_models: [{ ...price, name: second, other_models: [] }]
    }
  };
  const other = view.requests.model.indexOf(1);

  expect(pricesOfRequest(both, 0).name).toBe(
    view.models[view.requests.model[0] ?? -1]
  );
  expect(pricesOfRequest(both, other).name).toBe(second);
  expect(pricesOfRequest(view, other)).toBe(price);
  // The requests to one of the models were refused, and nothing was paid for them.
  const reported = view.requests.model.map(() => 1);
  expect(
    pricedModelsText({ ...both, requests: { ...view.requests, reported } })
  ).toBe(`${first} and ${second}`);
  expect(pricedModelsText(view)).toBe(price.name);
});

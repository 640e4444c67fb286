/** What a person chose of prices and lifetime becomes the words of one question, and is read from them again. */
import { describe, expect, it } from 'vitest';
import {
  parsePrices,
  pricesText
} from '../../../src/state/inspector/priceWords';

describe('the words of prices', () => {
  it.each([
    [null, '', '', ''],
    ['units', 'units', '', ''],
    ['lifetime=1h', '', '', '1h'],
    ['acme/m=1/10/0.1/1.25', '', 'acme/m=1/10/0.1/1.25', ''],
    ['gpt-5 a=1/2 b=3/4 lifetime=5m', 'gpt-5', 'a=1/2 b=3/4', '5m']
  ])('%s', (text, model, modelPrices, lifetime) => {
    expect(parsePrices(text)).toEqual({ model, modelPrices, lifetime });
    expect(pricesText({ model, modelPrices, lifetime })).toBe(text);
  });

  it('keeps the last of two about the same', () => {
    expect(parsePrices(' a lifetime=1h\n b  lifetime=5m ')).toEqual({
      model: 'b',
      modelPrices: '',
      lifetime: '5m'
    });
  });
});

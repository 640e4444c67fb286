import { describe, expect, it } from 'vitest';
import { sharedValue } from '../../../src/state/store/sharedValue';

describe('a newer value', () => {
  it('consists of the objects of before where they are equal', () => {
    const before = { id: 'a', state: { input: { list: [1, { x: 2 }] }, n: 1 } };
    const now = { id: 'a', state: { input: { list: [1, { x: 2 }] }, n: 2 } };

    const shared = sharedValue(before, now);

    expect(shared).toEqual(now);
    expect(shared).not.toBe(before);
    expect(shared.state.input).toBe(before.state.input);
    expect(sharedValue(before, structuredClone(before))).toBe(before);
  });

  it.each([
    [{ a: 1, b: 2 }, { a: 1 }],
    [{ a: 1 }, { a: 1, b: undefined }],
    [[1, 2], [1]],
    [['a'], { 0: 'a' }],
    [{ a: null }, { a: {} }]
  ])('is its own where it is another: %j, %j', (before, now) => {
    expect(sharedValue(before, now)).toStrictEqual(now);
  });

  it.each(['__proto__', 'constructor', 'toString'])(
    'takes nothing from what every object has by the name %s',
    name => {
      const now = JSON.parse(`{"${name}": {}, "a": 1}`) as object;

      const shared = sharedValue({ a: 2 }, now);

      const own = Object.getOwnPropertyDescriptor(shared, name);
      expect(own?.value).toBe(
        Object.getOwnPropertyDescriptor(now, name)?.value
      );
      expect(Object.getPrototypeOf(shared)).toBe(Object.prototype);
    }
  );
});

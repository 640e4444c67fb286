/** Who says what is shown of a turn. */
import { expect, it } from 'vitest';
import {
  densityChoice,
  densityOf,
  readDensity
} from '../../../src/state/display/density';

it('a choice for the turn goes before the page’s, and that before the kernel’s', () => {
  const of = (own?: 'quiet' | 'all steps') =>
    densityOf(densityChoice.getSnapshot(), 'msg_1', own);
  densityChoice.setPage(readDensity('as configured'));
  expect([of(), of('all steps')]).toEqual(['quiet', 'all steps']);

  densityChoice.setPage(readDensity('quiet'));
  expect(of('all steps')).toBe('quiet');

  densityChoice.setTurn('msg_1', 'all steps');
  expect(of('quiet')).toBe('all steps');

  densityChoice.setPage(readDensity('all steps'));
  densityChoice.setTurn('msg_1', 'quiet');
  expect(of('all steps')).toBe('quiet');
  densityChoice.setPage(null);
});

import { expect, it } from 'vitest';
import { limitsOf } from '../../../src/state/inspector/limits';
import { sample } from '../../inspector/samples';

it('has the recorded limit of each request, else the listed one of its model', () => {
  const { view } = sample('pi');
  const requests = {
    ...view.requests,
    window: [0, 100, 0, 0],
    model: [1, 1, 0, -1]
  };

  expect(limitsOf({ ...view, requests, listed_limits: [0, 200] })).toEqual([
    200, 100, 0, 0
  ]);
  expect(limitsOf({ ...view, requests, listed_limits: [] })).toEqual([
    0, 100, 0, 0
  ]);
});

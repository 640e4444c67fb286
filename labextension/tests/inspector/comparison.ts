/** Two made sessions side by side, as a kernel answers. */
import type { SessionComparison } from '../../src/protocol/generated';

export const COMPARISON: SessionComparison = {
  first: {
    session: 'ses_first',
    title: 'Mend it',
    origin: 'pi',
    model: 'mine/one',
    tokens: [1200, null, 1800, 3200],
    is_estimate: false,
    costs: [0.1, null, 0.1, 0.2],
    cost_is_estimate: false,
    seconds: [0, 5, 10, 30],
    parting: { request: 3, words: 'calls edit: src/dates.py' }
  },
  second: {
    session: 'ses_second',
    title: 'Mend it, too',
    origin: 'pi',
    model: 'mine/two',
    tokens: [1200, 1800],
    is_estimate: true,
    costs: [0.1, 0.3],
    cost_is_estimate: true,
    seconds: [0, 60]
  },
  shared: 2,
  sentence: 'They do the same in 2 steps.',
  unit: 'USD',
  figures: [
    {
      key: 'requests',
      name: 'requests',
      first: '4',
      second: '2',
      ratio: '.500'
    },
    {
      key: 'end',
      name: 'how it ended',
      first: 'answers: <b>Done</b>',
      second: 'calls bash: ls, which failed',
      ratio: '-'
    },
    {
      key: 'tools',
      name: 'calls of bash',
      first: '1',
      second: '2',
      ratio: '2.000'
    }
  ],
  files: [{ path: 'src/dates.py', first: 'changed', second: '' }],
  notes: ['Their first prompts differ.'],
  stamp: ''
};

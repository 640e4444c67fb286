/** A kernel's death is told from its end, whichever of JupyterLab's reports comes first. */
import { expect, it } from 'vitest';
import { KernelDeath } from '../../src/kernel/kernelDeath';

it('knows a death that was reported', () => {
  const death = new KernelDeath();
  death.note({ status: 'busy' }, 'ready');
  death.note({ status: 'dead' }, 'dead');
  death.note(null, 'dead');
  expect(death.died).toBe(true);
});

it('knows a death that JupyterLab hears of only as a restart, and then drops', () => {
  const death = new KernelDeath();
  death.note({ status: 'busy' }, 'ready');
  death.note({ status: 'autorestarting' }, 'connecting');
  death.note({ status: 'unknown' }, 'connecting');
  expect(death.died).toBe(false);
  death.note(null, 'connecting');
  death.note(null, 'connecting');
  expect(death.died).toBe(true);
});

it('takes a kernel that was shut down for no death, also after it was restarted', () => {
  const death = new KernelDeath();
  death.note({ status: 'restarting' }, 'connecting');
  death.note({ status: 'starting' }, 'connecting');
  death.note({ status: 'idle' }, 'ready');
  death.note(null, 'connecting');
  expect(death.died).toBe(false);
});

it('forgets a death when another kernel comes, or the notebook is left', () => {
  const death = new KernelDeath();
  death.note({ status: 'dead' }, 'dead');
  death.note({ status: 'starting' }, 'connecting');
  expect(death.died).toBe(false);
  death.note({ status: 'autorestarting' }, 'connecting');
  death.forget();
  death.note(null, undefined);
  expect(death.died).toBe(false);
});

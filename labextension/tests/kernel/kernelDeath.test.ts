/** A kernel's death is told from its end, whichever of JupyterLab's reports comes first. */
import { expect, it } from 'vitest';
import { KernelDeath } from '../../src/kernel/kernelDeath';

it('knows a death that was reported', () => {
  const death = new KernelDeath();
  death.update({ status: 'busy' }, 'ready');
  death.update({ status: 'dead' }, 'dead');
  death.update(null, 'dead');
  expect(death.hasDied).toBe(true);
});

it('knows a death that JupyterLab hears of only as a restart, and then drops', () => {
  const death = new KernelDeath();
  death.update({ status: 'busy' }, 'ready');
  death.update({ status: 'autorestarting' }, 'connecting');
  death.update({ status: 'unknown' }, 'connecting');
  expect(death.hasDied).toBe(false);
  death.update(null, 'connecting');
  death.update(null, 'connecting');
  expect(death.hasDied).toBe(true);
});

it('takes a kernel that was shut down for no death, also after it was restarted', () => {
  const death = new KernelDeath();
  death.update({ status: 'restarting' }, 'connecting');
  death.update({ status: 'starting' }, 'connecting');
  death.update({ status: 'idle' }, 'ready');
  death.update(null, 'connecting');
  expect(death.hasDied).toBe(false);
});

it('forgets a death when another kernel comes, or the notebook is left', () => {
  const death = new KernelDeath();
  death.update({ status: 'dead' }, 'dead');
  death.update({ status: 'starting' }, 'connecting');
  expect(death.hasDied).toBe(false);
  death.update({ status: 'autorestarting' }, 'connecting');
  death.forget();
  death.update(null, undefined);
  expect(death.hasDied).toBe(false);
});

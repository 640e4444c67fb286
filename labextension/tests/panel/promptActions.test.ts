/** A prompt that reached no kernel is given back to the composer. */
import { expect, it, vi } from 'vitest';
import { nullTranslator } from '@jupyterlab/translation';
import { NO_ANSWER } from '../../src/kernel/kernelLink';
import { PendingSwitches } from '../../src/panel/pendingSwitches';
import { promptActions } from '../../src/panel/promptActions';

it('does not take a prompt for sent where there is no kernel', async () => {
  const target = { link: null, session: undefined, report: vi.fn() };
  const prompts = promptActions(
    target,
    new PendingSwitches(),
    nullTranslator.load('palimpsest'),
    vi.fn()
  );

  await expect(prompts.send('hello', {})).rejects.toThrow(NO_ANSWER);
});

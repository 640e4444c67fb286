// @vitest-environment jsdom
/** What the kernel's table says has a button is a button, and what it answers is read. */
import { fireEvent, render, screen, waitFor } from '@testing-library/react';
import { nullTranslator } from '@jupyterlab/translation';
import { expect, it, vi } from 'vitest';
import type { ILink } from '../../../src/kernel/kernelLink';
import { PendingSwitches } from '../../../src/panel/actions/pendingSwitches';
import { promptActions } from '../../../src/panel/actions/promptActions';
import { PromptActionsProvider } from '../../../src/views/actions/prompts';
import { OperationButtons } from '../../../src/views/composer/operationButtons';
import { HostProvider } from '../../../src/views/host';
import { HOST } from '../../plainHost';

const BUTTON = {
  label: 'Count words',
  help: 'how much was said',
  command: 'count-words',
  arguments: { unit: 'words' }
};

/** Draws the buttons of a kernel that answers commands so; returns the commands that it got. */
function drawn(answers: Record<string, object>) {
  const outcome = vi.fn((type: string) => Promise.resolve(answers[type] ?? {}));
  const link = { outcome } as unknown as ILink;
  const actions = promptActions(
    { link, session: 'ses_1', report: vi.fn() },
    new PendingSwitches(),
    nullTranslator.load('palimpsest'),
    vi.fn()
  );
  render(
    <HostProvider value={HOST}>
      <PromptActionsProvider value={actions}>
        <OperationButtons />
      </PromptActionsProvider>
    </HostProvider>
  );
  return outcome;
}

it.each([
  [{ answer: { words: 5 }, words: '5 words were said.' }, '5 words were said.'],
  [{ error: 'There is no session.' }, 'There is no session.']
])('asks for the operation of a button, and shows %j', async (answer, said) => {
  const asked = drawn({
    buttons: { answer: { buttons: [BUTTON] } },
    'count-words': answer
  });
  const button = await screen.findByRole('button', { name: 'Count words' });
  expect(button.title).toBe('how much was said');

  fireEvent.click(button);

  await waitFor(() => {
    expect(screen.getByRole('status').textContent).toBe(said);
  });
  expect(asked.mock.lastCall).toEqual([
    'count-words',
    { unit: 'words', session: 'ses_1' }
  ]);
});

it('draws nothing where no operation has one, or the kernel is older', async () => {
  const asked = drawn({ buttons: { error: 'Unknown command' } });
  await waitFor(() => {
    expect(asked).toHaveBeenCalledOnce();
  });

  expect(screen.queryByRole('group')).toBeNull();
});

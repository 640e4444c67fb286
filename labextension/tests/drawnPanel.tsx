/** The panel of a notebook whose session is ready, as tests draw it, and its text field. */
import { fireEvent, screen } from '@testing-library/react';
import { vi } from 'vitest';
import { EMPTY_TRANSCRIPT } from '../src/state/store/transcript';
import { ChatPanel } from '../src/views/chat/chatPanel';
import type { IPanelState } from '../src/views/chat/panelState';
import { HostProvider } from '../src/views/host';
import { panelActions } from './panelActions';
import { HOST } from './plainHost';

export const READY: IPanelState = {
  status: 'ready',
  notebook: 'a.ipynb',
  key: 'a',
  transcript: EMPTY_TRANSCRIPT,
  readOnly: false,
  failure: '',
  sendKey: 'Enter',
  search: 0
};

/** Returns the panel; the state differs from a ready one by what is given. */
export function panelPage(
  state: Partial<IPanelState>,
  actions = panelActions()
) {
  return (
    <HostProvider value={HOST}>
      <ChatPanel
        state={{ ...READY, ...state }}
        actions={actions}
        onDismissFailure={vi.fn()}
      />
    </HostProvider>
  );
}

export const field = () =>
  screen.getByRole<HTMLTextAreaElement>('textbox', {
    name: 'Prompt for the agent'
  });

export const press = (key: string) => fireEvent.keyDown(field(), { key });

/** Returns the names of the options in the list above the field. */
export const optionNames = () =>
  screen
    .queryAllByRole('option')
    .map(option => option.getAttribute('aria-label'));

/** Returns the name of the option that Enter would take. */
export const activeOption = () =>
  document
    .getElementById(field().getAttribute('aria-activedescendant') ?? '')
    ?.getAttribute('aria-label');

// @vitest-environment jsdom
/** The switch says whether step mode is on, and switches it. */
import { fireEvent, render, screen } from '@testing-library/react';
import { expect, it } from 'vitest';
import { HeldRequestActionsProvider } from '../../../src/views/actions/heldRequests';
import { StepModeSwitch } from '../../../src/views/composer/stepModeSwitch';
import { HostProvider } from '../../../src/views/host';
import { heldRequests } from '../../panelActions';
import { HOST } from '../../plainHost';

it.each([false, true])('says whether it is on (%s), and changes it', on => {
  const actions = heldRequests();
  render(
    <HostProvider value={HOST}>
      <HeldRequestActionsProvider value={actions}>
        <StepModeSwitch isOn={on} />
      </HeldRequestActionsProvider>
    </HostProvider>
  );
  const button = screen.getByRole('switch', { name: 'Step mode' });

  expect(button.getAttribute('aria-checked')).toBe(String(on));
  fireEvent.click(button);
  expect(actions.setStepMode.mock.calls).toEqual([[!on]]);
});

it('is not offered where nothing can be switched', () => {
  render(
    <HostProvider value={HOST}>
      <StepModeSwitch isOn={false} />
    </HostProvider>
  );

  expect(screen.queryByRole('switch')).toBeNull();
});

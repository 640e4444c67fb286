// @vitest-environment jsdom
/** Permission mode, approvals, and settings that wait for trust, in the panel. */
import { fireEvent, render, screen, waitFor } from '@testing-library/react';
import { describe, expect, it, vi } from 'vitest';
import type {
  ApprovalRow,
  Choices,
  SessionInfo
} from '../../../src/protocol/generated';
import { spendingOf } from '../../../src/state/session/spending';
import { PermissionActionsProvider } from '../../../src/views/actions/permissions';
import {
  PermissionMode,
  modeOf,
  TrustPrompt
} from '../../../src/views/composer/permissionMode';
import { HostProvider } from '../../../src/views/host';
import { permissions } from '../../panelActions';
import { HOST } from '../../plainHost';

const CHOICES = {
  modes: [
    { name: 'ask', description: 'asks first' },
    { name: 'accept-edits', description: 'edits files' }
  ],
  mode: 'ask'
} as unknown as Choices;

const GIT: ApprovalRow = {
  number: 1,
  permission: 'bash',
  pattern: 'git *',
  scope: 'project',
  where: 'this project'
};

function session(more: Partial<SessionInfo>): SessionInfo {
  return more as SessionInfo;
}

function draw(what: React.ReactNode) {
  const actions = permissions();
  actions.approvals.mockResolvedValue([GIT]);
  render(
    <HostProvider value={HOST}>
      <PermissionActionsProvider value={actions}>
        {what}
      </PermissionActionsProvider>
    </HostProvider>
  );
  return actions;
}

describe('the mode', () => {
  it('is the one that was chosen, else the configured one', () => {
    expect(modeOf(undefined, null)).toBe('ask');
    expect(modeOf(session({}), { ...CHOICES, mode: 'plan' })).toBe('plan');
    expect(modeOf(session({ mode: 'bypass' }), CHOICES)).toBe('bypass');
  });

  it('is chosen from a list', async () => {
    const { setMode } = draw(
      <PermissionMode session={undefined} choices={CHOICES} stepping={false} />
    );
    fireEvent.click(
      screen.getByRole('button', { name: 'Permission mode: ask' })
    );
    await screen.findByText('git *');
    fireEvent.click(screen.getByRole('button', { name: /accept edits/ }));

    expect(setMode).toHaveBeenCalledWith('accept-edits');
  });

  it('lists what is always allowed, and takes it back', async () => {
    const { revoke } = draw(
      <PermissionMode session={undefined} choices={CHOICES} stepping={false} />
    );
    fireEvent.click(screen.getByRole('button', { name: /Permission mode/ }));
    fireEvent.click(
      await screen.findByRole('button', { name: 'Revoke git *' })
    );

    expect(revoke).toHaveBeenLastCalledWith([1]);
    await screen.findByText(/Nothing yet/);
  });
});

describe('what waits for trust', () => {
  it('is shown and trusted by a press', async () => {
    const onTrusted = vi.fn();
    const { trustProject } = draw(
      <TrustPrompt untrusted={['mode = "bypass"']} onTrusted={onTrusted} />
    );
    fireEvent.click(screen.getByRole('button', { name: 'Trust this project' }));

    expect(trustProject).toHaveBeenCalled();
    await waitFor(() => {
      expect(onTrusted).toHaveBeenCalled();
    });
  });

  it('is put off until it says something else', () => {
    draw(<TrustPrompt untrusted={['mode = "bypass"']} onTrusted={vi.fn()} />);
    fireEvent.click(screen.getByRole('button', { name: 'Not now' }));

    expect(screen.queryByText(/waits until you trust/)).toBeNull();
  });

  it('is nothing to show where nothing waits', () => {
    draw(<TrustPrompt untrusted={[]} onTrusted={vi.fn()} />);

    expect(screen.queryAllByRole('button')).toEqual([]);
  });
});

describe('what was spent', () => {
  it('counts what sessions below have spent, and never an unknown price as nothing', () => {
    const usage = {
      input: 10,
      output: 5,
      reasoning: 0,
      cache_read: 0,
      cache_write: 0,
      estimated: false
    };
    const found = spendingOf(
      session({
        cost: 1,
        tokens: usage,
        unpriced: 1,
        below: { cost: 0.5, tokens: usage, unpriced: 1 },
        budget: { usd: 2, usd_until: 4, unpriced: [], own: false }
      })
    );

    expect(found).toEqual({
      cost: 1.5,
      tokens: 30,
      unpricedCount: 2,
      maxDollars: 4,
      maxTokens: undefined
    });
  });

  it('is unknown before anything was priced', () => {
    expect(spendingOf(undefined).cost).toBeUndefined();
  });

  it('is nothing in a fork, which has spent nothing, and unknown once it has', () => {
    const tokens = (input: number) => ({
      input,
      output: 0,
      reasoning: 0,
      cache_read: 0,
      cache_write: 0,
      estimated: false
    });
    expect(spendingOf(session({ tokens: tokens(0) })).cost).toBe(0);
    expect(spendingOf(session({ tokens: tokens(5) })).cost).toBeUndefined();
  });
});

// @vitest-environment jsdom
/** A permission question is answered once, by button or key. */
import { fireEvent, render, screen } from '@testing-library/react';
import { describe, expect, it, vi } from 'vitest';
import type { Ask } from '../../../src/protocol/generated';
import { AnswerActionsProvider } from '../../../src/views/actions/answers';
import { HostProvider } from '../../../src/views/host';
import { PermissionPrompt } from '../../../src/views/parts/permissionPrompt';
import { HOST } from '../../plainHost';

const ASK: Ask = {
  id: 'per_1',
  permission: 'write',
  patterns: ['a.csv'],
  always: ['*.csv'],
  title: 'Write a.csv?',
  input: {}
};

function draw(ask: Ask = ASK) {
  const reply = vi.fn();
  render(
    <HostProvider value={HOST}>
      <AnswerActionsProvider value={{ reply, answer: vi.fn() }}>
        <PermissionPrompt ask={ask} />
      </AnswerActionsProvider>
    </HostProvider>
  );
  return reply;
}

describe('a question', () => {
  it('is answered by a button, and only once', () => {
    const reply = draw();
    fireEvent.click(screen.getByRole('button', { name: 'Allow once' }));
    fireEvent.click(
      screen.getByRole('button', { name: 'Always in this session' })
    );

    expect(reply.mock.calls).toEqual([['per_1', 'once', undefined]]);
  });

  it('is answered by its keys', () => {
    const reply = draw();
    const button = screen.getByRole('button', {
      name: 'Always in this session'
    });
    fireEvent.keyDown(button, { key: '1', ctrlKey: true });
    fireEvent.keyDown(button, { key: '2' });

    expect(reply.mock.calls).toEqual([['per_1', 'always', undefined]]);
  });

  it('asks what to do instead before it rejects', () => {
    const reply = draw();
    fireEvent.keyDown(screen.getByRole('button', { name: 'Allow once' }), {
      key: '3'
    });
    const field = screen.getByRole('textbox');
    fireEvent.keyDown(field, { key: '1' });
    fireEvent.change(field, { target: { value: ' use b.csv ' } });
    expect(reply).not.toHaveBeenCalled();
    fireEvent.click(screen.getByRole('button', { name: 'Reject' }));

    expect(reply.mock.calls).toEqual([['per_1', 'reject', 'use b.csv']]);
  });

  it('goes back from a rejection by Escape', () => {
    const reply = draw();
    fireEvent.click(screen.getByRole('button', { name: 'Reject…' }));
    fireEvent.keyDown(screen.getByRole('textbox'), { key: 'Escape' });

    expect(screen.getByRole('button', { name: 'Allow once' })).toBeTruthy();
    expect(reply).not.toHaveBeenCalled();
  });

  it('allows always in the project by a key of its own', () => {
    const reply = draw();
    fireEvent.keyDown(screen.getByRole('button', { name: 'Allow once' }), {
      key: '4'
    });

    expect(reply.mock.calls).toEqual([
      ['per_1', 'always', undefined, 'project']
    ]);
  });

  it('begins with what changed since it was always allowed', () => {
    const changed = 'It has changed since:\n--- a\n+++ b\n@@ @@\n-old\n+new';
    draw({ ...ASK, changed, diff: '--- c\n+++ c\n@@ @@\n+x' });
    const drawn = screen.getAllByRole('group', {
      name: 'What it would change'
    });

    expect(drawn[0]?.textContent).toContain('-old');
    expect(drawn[0]?.querySelector('[data-change="added"]')?.textContent).toBe(
      '+new'
    );
    expect(drawn[1]?.textContent).toContain('+x');
  });

  it('offers no always where nothing could be allowed', () => {
    const reply = draw({ ...ASK, permission: 'external', always: [] });
    const once = screen.getByRole('button', { name: 'Allow once' });
    fireEvent.keyDown(once, { key: '2' });
    fireEvent.keyDown(once, { key: '4' });

    expect(reply).not.toHaveBeenCalled();
    expect(screen.getAllByRole('button')).toHaveLength(2);
  });

  it('goes on or stops about a loop, and offers no always in the project', () => {
    const reply = draw({ ...ASK, permission: 'doom_loop', always: ['bash'] });
    expect(
      screen
        .getAllByRole('button')
        .map(element => element.firstChild?.textContent ?? '')
    ).toEqual(['Go on', 'Go on, always in this session', 'Stop']);
    const once = screen.getByRole('button', { name: 'Go on' });
    fireEvent.keyDown(once, { key: '4' });
    expect(reply).not.toHaveBeenCalled();
    fireEvent.keyDown(once, { key: '2' });

    expect(reply).toHaveBeenCalledOnce();
  });

  it('stops a loop at once, without asking for words', () => {
    const reply = draw({ ...ASK, permission: 'doom_loop', always: ['bash'] });
    fireEvent.click(screen.getByRole('button', { name: 'Stop' }));

    expect(reply.mock.calls).toEqual([['per_1', 'reject', undefined]]);
  });

  it('shows what could deceive a reader above its buttons', () => {
    draw({ ...ASK, warnings: ['Line 3 has a Cyrillic letter.'] });

    expect(
      screen.getByRole('list', { name: 'What could deceive you' }).textContent
    ).toBe('Line 3 has a Cyrillic letter.');
  });

  it('goes on or stops at a spending limit', () => {
    const reply = draw({ ...ASK, permission: 'budget', always: [] });
    expect(screen.getByRole('button', { name: 'Go on' })).toBeTruthy();
    fireEvent.click(screen.getByRole('button', { name: 'Stop' }));

    expect(reply.mock.calls).toEqual([['per_1', 'reject', undefined]]);
  });

  it('keeps or leaves what was allowed where the project was before', () => {
    const reply = draw({ ...ASK, permission: 'moved', always: [] });
    expect(screen.getByRole('button', { name: 'Keep it' })).toBeTruthy();
    fireEvent.click(screen.getByRole('button', { name: 'Leave it' }));

    expect(reply.mock.calls).toEqual([['per_1', 'reject', undefined]]);
  });

  it('has no buttons where nobody listens', () => {
    render(
      <HostProvider value={HOST}>
        <PermissionPrompt ask={ASK} />
      </HostProvider>
    );

    expect(screen.queryAllByRole('button')).toEqual([]);
    expect(screen.getByText(/Answer where the cell runs/)).toBeTruthy();
  });
});

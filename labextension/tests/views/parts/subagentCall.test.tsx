// @vitest-environment jsdom
/** A subagent's work is shown in the card of its task call. */
import { fireEvent, render, screen } from '@testing-library/react';
import { describe, expect, it, vi } from 'vitest';
import type { ToolPart } from '../../../src/protocol/generated';
import { SessionOpenerProvider } from '../../../src/views/actions/sessions';
import { HostProvider } from '../../../src/views/host';
import { ToolCall } from '../../../src/views/parts/toolCall';
import * as build from '../../builders';
import { HOST } from '../../plainHost';

const WORK = {
  task: 'ses_child',
  agent: 'explore',
  count: 3,
  calls: [
    { tool: 'grep', title: 'TODO', state: 'completed' },
    { tool: 'read', title: 'a.py', state: 'running' }
  ],
  output: '✓ grep TODO'
};

const PROMPT = {
  description: 'Find it',
  prompt: 'Where is it?',
  agent: 'explore'
};

function task(state: ToolPart['state']): ToolPart {
  return { ...build.ran('task', PROMPT, ''), state };
}

function draw(part: ToolPart, open = vi.fn(), ask = undefined as never) {
  render(
    <HostProvider value={HOST}>
      <SessionOpenerProvider value={{ open }}>
        <ToolCall part={part} ask={ask} isOver={false} isNewest isLive />
      </SessionOpenerProvider>
    </HostProvider>
  );
  return open;
}

const running = task({
  status: 'running',
  input: PROMPT,
  title: 'Find it',
  metadata: WORK,
  time: { start: 0 }
});

describe('the card of a task', () => {
  it('lists the calls of the agent while it works', () => {
    draw(running);

    const list = screen
      .getAllByRole('listitem')
      .map(element => element.textContent);

    expect(list).toEqual(['done grep TODO', 'running read a.py']);
    expect(screen.getByText('1 earlier call')).toBeDefined();
    expect(screen.queryByText('✓ grep TODO')).toBeNull();
  });

  it('opens the session of the task', () => {
    const open = draw(running);

    fireEvent.click(screen.getByRole('button', { name: 'Open its session' }));

    expect(open).toHaveBeenCalledWith('ses_child');
  });

  it('shows the answer without what is said to the model about it', () => {
    draw(
      task({
        status: 'completed',
        input: PROMPT,
        output:
          'Task ses_child by the agent explore is done.\n\n<result>\nIn b.py.\n</result>',
        title: 'Find it',
        metadata: { ...WORK, tokens: 1200, cost: 0.5 },
        time: { start: 0, end: 1000 },
        attachments: []
      })
    );
    fireEvent.click(screen.getByRole('button', { name: /task Find it/ }));

    expect(screen.getByRole('group', { name: 'Output' }).textContent).toBe(
      'In b.py.'
    );
    expect(
      screen.getByText('agent explore · 1,200 tokens · $0.500')
    ).toBeDefined();
  });

  it('shows exactly what the agent wants to run when it asks', () => {
    const ask = {
      id: 'per_1',
      permission: 'bash',
      patterns: ['rm x'],
      always: [],
      title: 'rm x',
      input: { command: 'rm x\nrm y' },
      tool: 'bash',
      call_id: running.call_id
    };
    draw(running, vi.fn(), ask as never);

    const inputs = screen.getAllByRole('group', { name: 'Input' });

    expect(inputs.map(element => element.textContent)).toEqual([
      'Where is it?',
      'rm x\nrm y'
    ]);
  });
});

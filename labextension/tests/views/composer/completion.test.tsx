// @vitest-environment jsdom
/** Completion of commands and agents in the composer, and forking at a prompt. */
import { act, fireEvent, render, screen } from '@testing-library/react';
import { describe, expect, it } from 'vitest';
import type { Choices } from '../../../src/protocol/generated';
import {
  EMPTY_TRANSCRIPT,
  type ITranscript
} from '../../../src/state/store/transcript';
import {
  optionGroups,
  wordAt,
  withCompletion
} from '../../../src/views/composer/completion';
import * as build from '../../builders';
import {
  activeOption,
  field,
  optionNames,
  panelPage,
  press
} from '../../drawnPanel';
import { panelActions } from '../../panelActions';
import { HOST } from '../../plainHost';

const NO_COMMANDS = { builtIn: [], arguments: [] };

const CHOICES: Choices = {
  models: [],
  agents: [],
  model: '',
  agent: '',
  modes: [],
  mode: '',
  untrusted: [],
  commands: [
    { name: 'preview', description: 'Shows it.' },
    { name: 'review', description: 'Reads it again.' }
  ],
  skills: [],
  subagents: [{ name: 'explore', description: 'Finds where it is.' }]
};

async function draw(transcript: ITranscript = EMPTY_TRANSCRIPT) {
  const actions = panelActions();
  actions.prompts.choices.mockResolvedValue(CHOICES);
  await act(async () => {
    render(panelPage({ transcript }, actions));
    await Promise.resolve();
  });
  return actions;
}

async function type(value: string) {
  await act(async () => {
    fireEvent.change(field(), { target: { value } });
    await Promise.resolve();
  });
}

describe('the word at the caret', () => {
  it('is a command at the start of the prompt only', () => {
    expect(wordAt('/re', 3)?.typedText).toBe('re');
    expect(wordAt('read /re', 8)).toBeNull();
    expect(wordAt('/review it', 10)).toBeNull();
  });

  it('is an agent after any space, and never an address', () => {
    expect(wordAt('ask\n@ex', 7)?.typedText).toBe('ex');
    expect(wordAt('me@ex', 5)).toBeNull();
  });

  it('is written out whole, with what stood behind it', () => {
    const word = wordAt('ask @exp now', 6);

    expect(word && withCompletion('ask @exp now', word, 'explore')).toEqual({
      text: 'ask @explore now',
      caret: 13
    });
  });

  it('is offered nothing when it is whole', () => {
    const word = wordAt('@explore', 8);

    expect(
      word && optionGroups(word, CHOICES, [], NO_COMMANDS, HOST.words)
    ).toEqual([]);
  });
});

describe('completing in the text field', () => {
  it('filters as one types, names that begin so first', async () => {
    await draw();
    await type('/');
    expect(optionNames()).toEqual(['/preview', '/review']);
    await type('/r');
    expect(optionNames()).toEqual(['/review', '/preview']);
    await type('/zz');
    expect(optionNames()).toEqual([]);
  });

  it('moves by arrows and takes by Enter without sending', async () => {
    const actions = await draw();
    await type('/');
    expect(activeOption()).toBe('/preview');
    press('ArrowDown');
    expect(activeOption()).toBe('/review');
    press('Enter');

    expect(field().value).toBe('/review ');
    expect(field().selectionStart).toBe(8);
    expect(optionNames()).toEqual([]);
    expect(actions.prompts.send).not.toHaveBeenCalled();
    press('Enter');
    expect(actions.prompts.send).toHaveBeenCalledWith('/review', {});
  });

  it('closes by Escape, and only the next one leaves', async () => {
    const actions = await draw();
    await type('@');
    press('Escape');
    expect(optionNames()).toEqual([]);
    expect(actions.notebook.focus).not.toHaveBeenCalled();
    press('Escape');
    expect(actions.notebook.focus).toHaveBeenCalled();
  });

  it('takes by Tab, and by a press of the mouse', async () => {
    await draw();
    await type('please @e');
    press('Tab');
    expect(field().value).toBe('please @explore ');
    await type('/p');
    fireEvent.click(screen.getByRole('option', { name: '/preview' }));
    expect(field().value).toBe('/preview ');
  });

  it('sends a name that is written out at once', async () => {
    const actions = await draw();
    await type('/preview');
    press('Enter');

    expect(actions.prompts.send).toHaveBeenCalledWith('/preview', {});
  });
});

describe('a built-in command', () => {
  const BUILT_IN = [
    { name: 'compact', description: 'Puts a summary.' },
    { name: 'context', description: 'What fills the window.' },
    { name: 'mode', description: 'How freely it works: /mode NAME' },
    { name: 'review', description: 'Ours, behind that of the project.' }
  ];

  async function drawn() {
    const actions = await draw();
    actions.prompts.operations.mockResolvedValue({
      buttons: [],
      commands: BUILT_IN
    });
    return actions;
  }

  it('is listed with those of the project, by letters in their order', async () => {
    await drawn();
    await type('/');
    expect(optionNames()).toEqual([
      '/preview',
      '/review',
      '/compact',
      '/context',
      '/mode'
    ]);
    await type('/cpt');
    expect(optionNames()).toEqual(['/compact']);
    await type('/mo');
    expect(screen.getByRole('option').textContent).toContain('/mode NAME');
  });

  it('completes what may follow, and Enter sends it without', async () => {
    const actions = await drawn();
    actions.prompts.commandArguments.mockResolvedValue(['ask', 'plan']);
    await type('/mode ');
    expect(optionNames()).toEqual(['ask', 'plan']);
    expect(actions.prompts.commandArguments).toHaveBeenCalledWith('/mode ');
    await type('/mode pl');
    press('Tab');
    expect(field().value).toBe('/mode plan ');

    await type('/mode ');
    expect(activeOption()).toBeUndefined();
    press('Enter');
    expect(actions.prompts.send).toHaveBeenCalledWith('/mode', {});
  });

  it('shows its answer until it is closed', async () => {
    const actions = await drawn();
    actions.prompts.send.mockResolvedValue({ markdown: 'It is plan.' });
    await type('/mode plan');
    await act(async () => {
      press('Enter');
      await Promise.resolve();
    });

    expect(screen.getByText('It is plan.')).toBeTruthy();
    fireEvent.click(screen.getByRole('button', { name: 'Close' }));
    expect(screen.queryByText('It is plan.')).toBeNull();
    expect(document.activeElement).toBe(field());
  });

  it('chooses the model of the next prompt, and keeps what was attached', async () => {
    const actions = await drawn();
    actions.prompts.send.mockResolvedValue({ markdown: '', model: 'a/b' });
    await type('/model a/b');
    await act(async () => {
      press('Enter');
      await Promise.resolve();
    });
    await type('hello');
    press('Enter');

    expect(actions.prompts.send).toHaveBeenLastCalledWith('hello', {
      model: 'a/b'
    });
  });
});

describe('a fork at a prompt', () => {
  it('begins with all before it', async () => {
    const prompt = build.user([build.text('Write it.')]);
    const { id } = prompt.info;
    const actions = await draw({
      ...EMPTY_TRANSCRIPT,
      session: { id: 's1' } as unknown as ITranscript['session'],
      entries: [{ id, message: prompt }]
    });
    fireEvent.click(screen.getByRole('button', { name: 'Fork here' }));

    expect(actions.sessions.fork).toHaveBeenCalledWith('s1', id);
  });
});

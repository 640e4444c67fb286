// @vitest-environment jsdom
/** The prompt of a turn as a draft, until it is sent or given up. */
import { act, renderHook } from '@testing-library/react';
import { beforeEach, expect, it } from 'vitest';
import type { Message, Part } from '../../../src/protocol/generated';
import { useDrafts } from '../../../src/views/drafts/drafts';
import {
  sentPromptOptions,
  promptText
} from '../../../src/views/drafts/editedTurn';
import { asQuote } from '../../../src/views/controls/quoteButton';
import * as build from '../../builders';

beforeEach(() => {
  localStorage.clear();
});
const KEY = 'a.ipynb ses_1';
const FILE = 'data:image/png;base64,aa';

function file(url: string, source?: unknown): Part {
  return {
    ...build.text('x'),
    type: 'file',
    mime: 'image/png',
    filename: 'a.png',
    url,
    source
  } as unknown as Part;
}

function prompt(...parts: Part[]): Message {
  const { info, ...rest } = build.user([build.text('Why?'), ...parts]);
  const model = { provider: 'test', name: 'one' };
  return {
    ...rest,
    info: { ...info, agent: 'plan', model, max_steps: 3 }
  } as Message;
}

it('holds what a person wrote and attached, not what was named or said by the engine', () => {
  const said = prompt(
    build.text('Told.', { synthetic: true }),
    file(FILE),
    file(FILE, { type: 'file', text: { value: '@a.png' } }),
    file(FILE, { type: 'resource', uri: 'cell:3' }),
    file('file:///a.png')
  );

  expect(promptText(said)).toBe('Why?');
  expect(sentPromptOptions(said, undefined)).toEqual({
    agent: 'plan',
    model: 'test/one',
    max_steps: 3,
    files: [{ mime: 'image/png', filename: 'a.png', url: FILE }]
  });
  const session = { agent: 'plan', model: { provider: 'test', name: 'one' } };
  expect(sentPromptOptions(said, session as never)).toMatchObject({
    max_steps: 3
  });
  expect(sentPromptOptions(said, session as never)).not.toHaveProperty('model');
});

function drafts(key = KEY) {
  return renderHook(({ name }) => useDrafts(name), {
    initialProps: { name: key }
  });
}

it('gives the draft of before back when it ends, also one of two turns', () => {
  const { result } = drafts();
  act(() => {
    result.current.write('mine');
  });
  act(() => {
    result.current.edit(prompt(), undefined);
  });
  act(() => {
    result.current.edit(prompt(), undefined);
  });
  expect(result.current.draft.text).toBe('Why?');
  act(() => {
    result.current.end();
  });

  expect(result.current.draft).toEqual({ text: 'mine', chosen: {} });
});

it('outlives a reload with the turn that it replaces, and comes back whole where it was refused', () => {
  const { result, unmount } = drafts();
  act(() => {
    result.current.write('mine');
  });
  act(() => {
    result.current.edit(prompt(), undefined);
  });
  act(() => {
    result.current.overwrite(['a.txt']);
  });
  unmount();

  const again = drafts().result;
  const { text, chosen, replaced } = again.current.draft;
  expect(replaced).toMatchObject({ overwrite: ['a.txt'], excerpt: 'Why?' });
  act(() => {
    again.current.end();
  });
  act(() => {
    again.current.giveBack(text, chosen, replaced);
  });
  expect(again.current.draft).toMatchObject({ text: 'Why?', replaced });
  expect(again.current.draft.replaced?.before.text).toBe('mine');
});

it('stays with its session when a cell goes on with another', () => {
  const { result, rerender } = drafts();
  act(() => {
    result.current.edit(prompt(), undefined);
  });
  rerender({ name: 'a.ipynb ses_2' });
  expect(result.current.draft.text).toBe('');

  rerender({ name: KEY });
  expect(result.current.draft.replaced).toBeDefined();
});

it('is quoted line by line, an empty one too', () => {
  expect(asQuote(' One.\n\n> Two. \n')).toBe('> One.\n>\n> > Two.');
});

// @vitest-environment jsdom
/** Earlier prompts and kept drafts in the composer. */
import {
  act,
  cleanup,
  fireEvent,
  render,
  screen
} from '@testing-library/react';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { storeDraft, MAX_DRAFTS } from '../../../src/views/drafts/keptDrafts';
import { field, panelPage } from '../../drawnPanel';
import { panelActions, type MockedActions } from '../../panelActions';

beforeEach(() => {
  localStorage.clear();
});

function draw(key = 'a ses_1', actions = panelActions()) {
  const page = (shown: string, switchedHere = false) =>
    panelPage({ key: shown, switchedHere }, actions);
  const { rerender } = render(page(key));
  return {
    actions,
    change: (shown: string, switchedHere = false) => {
      rerender(page(shown, switchedHere));
    }
  };
}

/** Returns actions whose kernel has two pages of earlier prompts. */
function remembering(): MockedActions {
  const actions = panelActions();
  actions.prompts.history.mockImplementation(cursor =>
    Promise.resolve(
      cursor === undefined
        ? { prompts: ['newest', 'two\nlines'], cursor: 'more' }
        : { prompts: ['newest', 'oldest'] }
    )
  );
  return actions;
}

const type = (value: string) =>
  fireEvent.change(field(), { target: { value } });

async function press(key: string) {
  await act(async () => {
    fireEvent.keyDown(field(), { key });
    await new Promise(done => setTimeout(done));
  });
}

describe('an earlier prompt', () => {
  it('is reached by the arrows, over pages, each once, and the draft comes back', async () => {
    draw('a ses_1', remembering());
    type('my draft');
    for (const shown of ['newest', 'two\nlines', 'oldest', 'oldest']) {
      await press('ArrowUp');
      expect(field().value).toBe(shown);
    }
    expect(screen.getByText('Earlier prompt: oldest')).toBeTruthy();
    await press('ArrowDown');
    expect(field().value).toBe('two\nlines');
    field().setSelectionRange(9, 9);
    await press('ArrowDown');
    await press('ArrowDown');

    expect(field().value).toBe('my draft');
  });

  it('leaves the arrows alone between the lines of a text', async () => {
    const { actions } = draw('a ses_1', remembering());
    type('one\ntwo');
    field().setSelectionRange(5, 5);
    await press('ArrowUp');
    await press('ArrowDown');

    expect(field().value).toBe('one\ntwo');
    expect(actions.prompts.history).not.toHaveBeenCalled();
  });

  it('is left by Escape to the draft, and only the next one leaves the field', async () => {
    const { actions } = draw('a ses_1', remembering());
    type('my draft');
    await press('ArrowUp');
    await press('Escape');
    expect(field().value).toBe('my draft');
    expect(actions.notebook.focus).not.toHaveBeenCalled();
    await press('Escape');
    expect(actions.notebook.focus).toHaveBeenCalled();
  });

  it('is a draft once it is edited, with the one before it as the newest', async () => {
    draw('a ses_1', remembering());
    type('my draft');
    await press('ArrowUp');
    type('newest, edited');
    await press('ArrowUp');
    expect(field().value).toBe('my draft');
    await press('Escape');
    expect(field().value).toBe('newest, edited');
  });

  it('is also what was sent here a moment ago, such as a command', async () => {
    draw('a ses_1', remembering());
    type('/help');
    await press('Enter');
    await press('ArrowUp');

    expect(field().value).toBe('/help');
  });

  it('is none where the kernel knows none', async () => {
    draw();
    type('my draft');
    await press('ArrowUp');

    expect(field().value).toBe('my draft');
  });
});

describe('a draft', () => {
  it('is there again after a reload, and gone once it was sent', async () => {
    draw();
    type('half a thought');
    cleanup();
    draw();
    expect(field().value).toBe('half a thought');
    await press('Enter');
    cleanup();
    draw();

    expect(field().value).toBe('');
  });

  it('goes along when a cell begins another session, and stays when the panel switches', () => {
    const { change } = draw();
    type('half a thought');
    change('a ses_2');
    expect(field().value).toBe('half a thought');
    change('a ses_3', true);
    expect(field().value).toBe('');
    change('a ses_2', true);
    expect(field().value).toBe('half a thought');
    change('b ses_9');
    expect(field().value).toBe('');
    change('a ses_1', true);
    expect(field().value).toBe('');
  });

  it('is kept of the newest sessions only', () => {
    const clock = vi.spyOn(Date, 'now');
    for (let number = 0; number <= MAX_DRAFTS; number += 1) {
      clock.mockReturnValue(number);
      storeDraft(`ses_${number}`, { text: 'x', chosen: {} });
    }
    clock.mockRestore();

    expect(localStorage.length).toBe(MAX_DRAFTS);
    expect(localStorage.getItem('palimpsest:draft:ses_0')).toBeNull();
  });
});

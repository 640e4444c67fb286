// @vitest-environment jsdom
/** A word of the inspector opens the glossary at its meaning, and every word that is used has one. */
import { fireEvent, screen, within } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  glossaryEntries,
  TERMS
} from '../../../src/views/inspector/glossary/glossary';
import { draw, openTab, sourceOf } from './drawnInspector';

const WORDS = { __: (text: string) => text } as Parameters<
  typeof glossaryEntries
>[0];

beforeEach(() => {
  vi.useFakeTimers();
  // jsdom has no canvas and scrolls nothing.
  vi.spyOn(HTMLCanvasElement.prototype, 'getContext').mockReturnValue(null);
  Element.prototype.scrollIntoView = vi.fn();
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** Returns the term in what the request cost; tables have it, too. */
const termOfSentence = () =>
  within(
    screen.getByRole('group', { name: 'What the request cost' })
  ).getByRole('button', { name: 'written anew' });

describe('the glossary', () => {
  it('opens at the word of the sentence, and closes', async () => {
    await draw(sourceOf('pi'), { request: 208 });

    const word = termOfSentence();
    expect(word.title).toMatch(/^Tokens that the cache had held/);
    fireEvent.click(word);
    const dialog = screen.getByRole('dialog', { name: 'Glossary' });
    const chosen = dialog.querySelectorAll('[data-chosen]');
    expect(
      [...chosen].map(row => row.querySelector('dt')?.textContent)
    ).toEqual(['written anew']);
    expect(dialog.closest('p')).toBeNull();
    fireEvent.click(within(dialog).getByRole('button', { name: 'Close' }));
    expect(screen.queryByRole('dialog')).toBeNull();
  });

  it('is closed by a click beside it, and not by one on its edge', async () => {
    await draw(sourceOf('pi'), { request: 208 });
    fireEvent.click(termOfSentence());
    const dialog = screen.getByRole('dialog', { name: 'Glossary' });
    dialog.getBoundingClientRect = () => new DOMRect(100, 100, 400, 300);

    fireEvent.click(dialog, { clientX: 105, clientY: 105 });
    expect(screen.queryByRole('dialog')).toBe(dialog);
    fireEvent.click(dialog, { clientX: 50, clientY: 105 });
    expect(screen.queryByRole('dialog')).toBeNull();
  });

  it('explains each term in a whole sentence of its own', () => {
    const entries = glossaryEntries(WORDS);
    expect(entries.map(entry => entry.term)).toEqual([...TERMS]);
    expect(new Set(entries.map(entry => entry.name)).size).toBe(TERMS.length);
    for (const { meaning } of entries) {
      expect(meaning).toMatch(/^[A-Z].{30,}\.$/);
    }
  });

  it('opens from the head of a table', async () => {
    await draw(sourceOf('pi'), { tab: 'cost' });

    const table = screen.getByRole('table', { name: 'Figures' });
    fireEvent.click(
      within(table).getByRole('button', { name: 'read from cache' })
    );
    expect(screen.getByRole('dialog', { name: 'Glossary' })).toBeTruthy();
    await openTab('Timeline');
    expect(screen.queryByRole('dialog')).toBeNull();
  });
});
